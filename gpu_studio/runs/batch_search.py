"""Search the largest batch of a plan, on each of its devices: by prediction, proven by real steps.

The steps are trained in a process of their own each, which may run out of memory: no run is lost.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import psutil

from gpu_studio import plan as plans
from gpu_studio.common.figures import grouped, size
from gpu_studio.lab.largest_batch import FoundSize, LargestBatch, search, sizes_of
from gpu_studio.placement.device_memory import PredictedMemory
from gpu_studio.placement.memory import predict
from gpu_studio.placement.plan_facts import PlanFacts, decoded
from gpu_studio.plan import (
    ONE_DEVICE,
    AbsolutePlan,
    Machine,
    PlannedDevice,
    default_devices,
    logical_devices,
    placement_of,
    replicas,
    strategy_of,
)
from gpu_studio.runs.questions.ask import AskCancelledError, AskCrashedError, AskError, ask
from gpu_studio.runs.questions.plan_question import ask_about

PROOF: Final = "proof"
TIMEOUT: Final = 600.0
"""Seconds for the steps of one size: a model may be large, and its data, too."""
KEPT_BACK: Final = 8
"""One part in so many of each card's memory is kept back from the steps that prove a size.

No two processes deal memory out alike, nor do two steps: the next batch comes at another moment,
and what is free lies in other pieces. Runs of 200 steps needed up to a seventh more than of 30.
"""
_BACK: Final = "an eighth"
_WITHOUT_END: Final = 1 << 24


class BatchSearchError(Exception):
    """The largest batch cannot be searched: why, in a sentence."""


@dataclass(frozen=True, slots=True)
class ProofAsking:
    """How TensorFlow is asked: who hears the progress, and what gives up. `command` as of `ask`."""

    say: Callable[[str], None]
    cancel: threading.Event | None = None
    command: Sequence[str] | None = None


def largest_batches(
    plan: AbsolutePlan, folder: Path, machine: Machine, asking: ProofAsking
) -> tuple[LargestBatch, ...]:
    """The largest batch of the plan as it is, then that of each other kind of device alone.

    `folder` is that of the plan. Raises BatchSearchError, and what `ask` raises: AskError,
    AskCancelledError, KeyboardInterrupt.
    """
    if machine.simulated:
        raise BatchSearchError("Simulated cards compute nothing: no step can be proven on them.")
    if strategy_of(plan).clusters:
        raise BatchSearchError("A batch is searched on this machine only, and the plan has others.")
    facts = _facts(plan, asking)
    plan = facts.completed(plan)
    return tuple(
        _Searched(variant, like, folder, machine, facts, asking).found()
        for variant, like in _variants(plan, machine)
    )


def _facts(plan: AbsolutePlan, asking: ProofAsking) -> PlanFacts:
    answer = ask_about(plan, progress=asking.say, cancel=asking.cancel, command=asking.command)
    facts = decoded(answer)
    if wrong := facts.data_error or facts.model_error or facts.training_error:
        raise BatchSearchError(wrong)
    if facts.data is not None and facts.data.streamed:
        raise BatchSearchError(
            f"The data come as {facts.data.streamed}: how large a batch is, they decide."
        )
    return facts


def _variants(
    plan: AbsolutePlan, machine: Machine
) -> Iterator[tuple[AbsolutePlan, tuple[str, ...]]]:
    """The plan as it is, and it on each kind of device alone; with other devices of the kind."""
    logical = {each.name: each for each in logical_devices(plan, machine)}
    used = replicas(plan, machine)
    kinds: dict[object, list[str]] = {}
    for name in plan.distribution.devices or default_devices(logical.values()):
        if name in logical:
            kinds.setdefault(_kind(logical[name], machine), []).append(name)
    if len(used) > 1 or strategy_of(plan).places_layers:
        yield plan, ()
    else:  # that is the plan, too, whose device comes first
        first = next((each for each in kinds.values() if used[0] in each), [used[0]])
        yield _alone(plan, used[0]), tuple(each for each in first if each != used[0])
        kinds = {key: each for key, each in kinds.items() if used[0] not in each}
    for names in kinds.values():
        yield _alone(plan, names[0]), tuple(names[1:])


def _kind(device: PlannedDevice, machine: Machine) -> object:
    """What is alike in devices on which the same fits."""
    card = machine.card(device.physical)
    return (card.name, device.limit_mib or card.usable_mib) if card else "CPU"


def _alone(plan: AbsolutePlan, device: str) -> AbsolutePlan:
    only = replace(ONE_DEVICE.instead_of(plan.distribution), devices=(device,))
    return replace(plan, distribution=only)


def _fits(memory: PredictedMemory) -> bool:
    """Whether it fits into what is not kept back, as far as that is known."""
    usable = memory.usable_bytes
    return usable is None or memory.total <= usable - usable // KEPT_BACK


class _Searched:
    """The search for one variant of a plan."""

    def __init__(
        self,
        plan: AbsolutePlan,
        like: tuple[str, ...],
        folder: Path,
        machine: Machine,
        facts: PlanFacts,
        asking: ProofAsking,
    ) -> None:
        self._plan, self._like, self._folder = plan, like, folder
        self._machine, self._facts, self._asking = machine, facts, asking
        self._devices = replicas(plan, machine)
        self._held: dict[int, int] = {}
        self._by_xla: set[int] = set()
        self._kept_back: set[int] = set()
        self._on_cpu = any(each.startswith("CPU") for each in self._devices)

    def found(self) -> LargestBatch:
        """Search, and say what was found."""
        sizes = sizes_of(self._unit, self._most)
        if not sizes:
            raise BatchSearchError(
                f"{grouped(self._most)} samples to train with are too few for this plan."
            )
        seen = search(sizes, self._fits, self._runs, beyond=not self._on_cpu)
        limits = [each.usable_bytes for each in self._predicted(seen.batch or sizes[0])]
        return LargestBatch(
            devices=tuple(self._devices),
            batch=seen.batch,
            above=seen.above,
            why_not=self._why_not(seen),
            like=self._like,
            held=self._held.get(seen.batch, 0),
            by_xla=seen.batch in self._by_xla,
            limit=min((each for each in limits if each is not None), default=0),
            failed=tuple(each for each in seen.failed if self._fits(each)),
        )

    @property
    def _unit(self) -> int:
        """Each replica has a sample, and each micro-batch, too."""
        placed = placement_of(self._plan)
        if placed is not None:
            return placed.micro_batches
        return len(self._devices) if self._plan.training.batch_scope == "global" else 1

    @property
    def _most(self) -> int:
        """No batch has more samples than there are."""
        samples = self._facts.data.train if self._facts.data else 0
        each = len(self._devices) if self._plan.training.batch_scope == "replica" else 1
        return samples // each if samples else _WITHOUT_END

    def _with(self, batch: int) -> AbsolutePlan:
        return replace(self._plan, training=replace(self._plan.training, batch_size=batch))

    def _predicted(self, batch: int) -> list[PredictedMemory]:
        foreseen = predict(self._with(batch), self._machine, self._facts)
        return [each for each in foreseen if each.total]

    def _fits(self, batch: int) -> bool:
        """Whether it is predicted to fit; the plan's own batch is taken to, if nothing is known."""
        memories = self._predicted(batch)
        if not memories:
            return batch <= self._plan.training.batch_size
        free = psutil.virtual_memory().available
        on_cpus = sum(each.total for each in memories if each.usable_bytes is None)
        return on_cpus <= free and all(map(_fits, memories))

    def _runs(self, batch: int) -> bool:
        """Train steps for real."""
        about: dict[str, Any] = {
            "plan": plans.dumps(self._with(batch)),
            "base": str(self._folder),
            "host": self._on_cpu,
            "kept": KEPT_BACK,
        }
        who = ", ".join(self._devices)
        self._asking.say(f"{who}: steps with a batch of {grouped(batch)}")
        try:
            proof = ask(
                PROOF,
                about=about,
                command=self._asking.command,
                timeout=TIMEOUT,
                cancel=self._asking.cancel,
            ).value
        except AskCrashedError as error:
            self._asking.say(f"{who}: a batch of {grouped(batch)} does not run: {error}")
            return False
        except AskCancelledError:
            raise
        except AskError as error:
            raise BatchSearchError(f"With a batch of {grouped(batch)}: {error}") from error
        if proof["runs"]:
            held = proof["held"]
            self._held[batch] = max(held.values(), default=0)
            self._by_xla |= {batch} if proof.get("xla") else set()
            return True
        if proof["kept"] and (proof["device"] or proof["kept"][0]) in proof["kept"]:
            self._kept_back.add(batch)
        self._asking.say(f"{who}: a batch of {grouped(batch)} does not run: {proof['why']}")
        return False

    def _why_not(self, seen: FoundSize) -> str:
        if not seen.above:
            return "there are no more samples to train with"
        if seen.above in seen.failed:
            tried = "it found no memory when it was tried"
            return f"{tried}, with {_BACK} kept back" if seen.above in self._kept_back else tried
        needs = max(self._predicted(seen.above), key=lambda each: each.total, default=None)
        if needs is None:
            return "what a step of this model needs is not known, and a CPU is not filled up"
        usable = needs.usable_bytes or psutil.virtual_memory().available
        return f"it is predicted to need {size(needs.total)} of the {size(usable)} there are"
