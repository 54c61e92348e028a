"""A distribution strategy as a value: what the rest of the program may ask of one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from gpu_studio.plan.values import ALL_REDUCES, Caution, Distribution, Placed, Plan, Problem

Pace = Literal["one replica", "synchronous", "asynchronous"]
DevicesUsed = Literal["none", "one", "many", "choice"]
Picture = Literal["alone", "summed", "central", "workers", "servers", "cores", "stages"]

ALONE = "One replica: there is nobody to wait for."
TOGETHER = "Synchronous: every step ends with one update that all replicas make together."


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """A distribution strategy: what it does, in words and in facts, and its own rules.

    The words are shown as they are. `line` describes it in one sentence, `button` is its title
    where space is short, and `why_not` says why this version does not run it; empty if it does.

    - `devices` says what it does with `distribution.devices`: it uses "none" or "one" of them, puts
      a replica on each ("many"), or picks devices for layers from them ("choice").
    - `replicates`: several devices each train a replica, in each process of a run.
    - `sums_gradients`: it sums the replicas' gradients by `distribution.all_reduce`.
    - `all_reduces`: the values of `distribution.all_reduce` that it can carry out.
    - `has_parameter_device`: it reads `distribution.parameter_device`.
    - `places_layers`: it reads `distribution.placed` and puts each layer of one model on a device.
    - `clusters`: its run is several processes, which `[cluster]` describes; `serves` says that some
      of them are parameter servers.
    - `picture`: how the Plan page draws it.
    - `less_communication`: advice for a run in which communication takes much of each step.
    - `refused_optimizers`: the optimizers, by their names in a plan, that Keras by itself cannot
      carry out under it: runs and scripts update once for all replicas.
    """

    name: str
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
    devices: DevicesUsed
    picture: Picture
    why_not: str = ""
    replicates: bool = False
    sums_gradients: bool = False
    all_reduces: tuple[str, ...] = ALL_REDUCES
    has_parameter_device: bool = False
    places_layers: bool = False
    clusters: bool = False
    serves: bool = False
    less_communication: str = ""
    refused_optimizers: tuple[str, ...] = ()

    @property
    def compiles_steps(self) -> bool:
        """Whether XLA can compile its steps: whatever it compiles runs on one device.

        TensorFlow refuses another device's variables there.
        """
        return False

    def replica_devices(self, chosen: Distribution, names: Sequence[str]) -> tuple[str, ...]:
        """Those of `names` (the plan's devices, or all that suit) that hold the model or a part."""
        del chosen
        return tuple(names) if self.devices == "many" else tuple(names[:1])

    def parameter_home(self, chosen: Distribution, replicas: Sequence[str]) -> str | None:
        """The device that keeps the variables of these replicas; None if each keeps its own."""
        del chosen, replicas
        return None

    def instead_of(self, chosen: Distribution) -> Distribution:
        """The same distribution with this strategy, without what only the previous one used."""
        kept = {"none": (), "one": chosen.devices[:1]}.get(self.devices, chosen.devices)
        home = chosen.parameter_device if self.has_parameter_device else None
        placed = (chosen.placed or Placed()) if self.places_layers else None
        return replace(
            chosen, strategy=self.name, devices=kept, parameter_device=home, placed=placed
        )

    def problems(self, chosen: Distribution) -> Iterator[Problem]:
        """What is wrong with the devices that the plan names, judged by the strategy alone."""
        del chosen
        yield from ()

    def cautions(self, plan: Plan, devices: Sequence[str]) -> Iterator[Caution]:
        """Warnings about the plan on these devices that concern this strategy alone."""
        del plan, devices
        yield from ()

    def template(self, first: Plan, devices: Sequence[str]) -> Plan:
        """A plan to begin from, made of the plan `first` and the logical devices it will use."""
        del devices
        name = f"{first.name}, {self.name}"
        return replace(first, name=name, distribution=Distribution(self.name))


class OnOneDevice(Strategy):
    """A strategy that trains on one device alone."""

    @property
    def compiles_steps(self) -> bool:
        """All of a step is on that device."""
        return True

    def template(self, first: Plan, devices: Sequence[str]) -> Plan:
        """The plan `first` without slices: one device can use all of its memory."""
        del devices
        name, whole = f"digits, {self.name}", replace(first.devices, carve=())
        return replace(first, name=name, devices=whole, distribution=Distribution(self.name))


def unknown(name: str) -> Strategy:
    """A stand-in for a strategy that is not known: a plan file may name anything."""
    return Strategy(
        name=name,
        title=name,
        button=name,
        line="",
        pace="one replica",
        pace_words="",
        variables="",
        gradients="",
        batches="",
        when="",
        costs="",
        devices="many",
        picture="alone",
        why_not=f"There is no strategy called {name}.",
    )
