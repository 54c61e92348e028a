"""What each strategy does, in words: where variables, gradients and batches go, when to use it, what it costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gpu_studio.plan.values import RUNNABLE_STRATEGIES

Pace = Literal["one replica", "synchronous", "asynchronous"]
Devices = Literal["none", "one", "many"]


@dataclass(frozen=True, slots=True)
class StrategyFacts:
    """A strategy. `line` says it in one sentence; `button` is its title where room is short.

    `devices` says how many of `distribution.devices` it has a use for.
    """

    title: str
    button: str
    line: str
    pace: Pace
    pace_words: str
    variables: str
    gradients: str
    batches: str
    when: str
    costs: str
    devices: Devices = "none"


_ALONE = "One replica: there is nobody to wait for."
_TOGETHER = "Synchronous: every step ends with one update that all replicas make together."

STRATEGY_FACTS: dict[str, StrategyFacts] = {
    "none": StrategyFacts(
        "None",
        "None",
        "TensorFlow trains on the first logical device, plainly. The one to compare the others with.",
        "one replica",
        _ALONE,
        "on the first logical device",
        "computed and applied there",
        "the whole batch goes there",
        "A model and a batch that fit one device. For a small model nothing is faster than sharing nothing.",
        "The other devices stay idle; TensorFlow takes the memory of every visible card all the same.",
    ),
    "one_device": StrategyFacts(
        "One device",
        "One device",
        "Everything on one logical device, inside a strategy: as Mirrored, with nothing to share.",
        "one replica",
        _ALONE,
        "on the device chosen",
        "computed and applied there",
        "the whole batch goes there",
        "To choose the device that does the work, or to try a strategy's code on a single one.",
        "It is as fast as None on the same device; the other devices stay idle.",
        "one",
    ),
    "mirrored": StrategyFacts(
        "Mirrored",
        "Mirrored",
        "A replica on each logical device trains on its part of the batch; all share gradients.",
        "synchronous",
        _TOGETHER,
        "a copy on each device, kept equal",
        "summed over all replicas in each step (all-reduce), then applied to each copy",
        "cut into even parts, one for each replica",
        "Several cards of one kind, and a model that fits each of them: the usual way to use more than one card.",
        "Each device holds all weights, gradients and slots. Each step waits for the slowest replica, and for the sum.",
        "many",
    ),
    "central_storage": StrategyFacts(
        "Central storage",
        "Central",
        "Variables live in one place, and every logical device computes with them.",
        "synchronous",
        _TOGETHER,
        "once, on the parameter device; every replica reads them in each step",
        "sent to the parameter device, summed and applied there",
        "cut into even parts, one for each replica",
        "Cards that cannot read each other's memory, and models with few weights for their work (convolutions).",
        "All weights cross to each device in each step, and all gradients back. Under Keras' own fit the loss it "
        "reports is wrong; runs here use a loop of their own, which reports it right.",
        "many",
    ),
    "multi_worker": StrategyFacts(
        "Multi-worker mirrored",
        "Workers",
        "As Mirrored, over several machines: a replica on each device of each worker; all share gradients.",
        "synchronous",
        _TOGETHER,
        "a copy on each device of each worker, kept equal",
        "summed over all workers in each step, through the network",
        "each worker has its part, cut again for its devices",
        "One machine's cards are not enough, and the network between the machines is fast.",
        "Each step waits for the slowest machine and for the network, and a lost worker stops all. Every process needs "
        "a TF_CONFIG that names all of them.",
        "many",
    ),
    "parameter_server": StrategyFacts(
        "Parameter server",
        "Servers",
        "Parameter servers hold the variables; workers compute, and none waits for another.",
        "asynchronous",
        "Asynchronous: a worker sends its gradients when it has them, from weights that may be some steps old.",
        "shared out over the parameter servers",
        "sent to the servers, and applied as they come",
        "each worker takes the next one, as fast as it can",
        "Many workers of unequal speed, or workers that may go away; very large embedding tables.",
        "Old gradients may take more epochs to learn as much, and no two runs are equal. Workers, servers and a "
        "coordinator are processes of their own.",
        "many",
    ),
    "tpu": StrategyFacts(
        "TPU",
        "TPU",
        "As Mirrored, over the cores of a TPU.",
        "synchronous",
        _TOGETHER,
        "a copy on each core, kept equal",
        "summed over the TPU's own links in each step",
        "cut into even parts, one for each core",
        "A TPU in Google's cloud.",
        "XLA compiles the whole step, so every shape must be fixed, and the last batch as large as the others.",
        "many",
    ),
    "placed": StrategyFacts(
        "Placed",
        "Placed",
        "Each layer runs where you put it: forward, backward and update.",
        "synchronous",
        "Synchronous: one model and one update a step, with the same losses as on one device.",
        "each layer's on its device, with the optimizer's slots",
        "computed on each layer's device; between devices go activations, and their gradients back",
        "the whole batch goes through all devices, cut into micro-batches that overlap",
        "A model too large for one device, or one whose parts can work at the same time.",
        "Devices wait for each other at the beginning and the end of a step (the bubble): the less, the more "
        "micro-batches.",
    ),
}
"""Every strategy of the plan, in the order in which they are shown."""

_LATER = {
    "multi_worker": "A run here is one process on one machine; several workers come with a later version.",
    "parameter_server": "A run here is one process on one machine; workers and servers come with a later version.",
    "tpu": "There is no TPU here: runs use this machine's CPU and its NVIDIA cards.",
}


def why_not(strategy: str) -> str:
    """Why a strategy cannot run here, in a sentence; empty if it can."""
    if strategy in RUNNABLE_STRATEGIES:
        return ""
    return _LATER.get(strategy, f"There is no strategy called {strategy}.")


def title_of(strategy: str) -> str:
    """The title of a strategy, or its name as it stands if there is none such."""
    return STRATEGY_FACTS[strategy].title if strategy in STRATEGY_FACTS else strategy
