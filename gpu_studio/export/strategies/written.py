"""What a script needs to know of a strategy, and how it names the strategy's devices."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from gpu_studio.export.facts import ScriptFacts
from gpu_studio.export.script_text import listing, literal
from gpu_studio.plan import Plan


def _nothing(_facts: ScriptFacts) -> str:
    return ""


def _no_refusals(_plan: Plan) -> Iterator[str]:
    yield from ()


@dataclass(frozen=True, slots=True)
class Written:
    """How a strategy is written: `functions` returns the text that makes it or does its work.

    `variables` says where variables made in the strategy's scope are; it is empty if the script has
    no strategy of `tf.distribute`. `refusals` says, in a sentence each, what no script can carry
    out of a valid plan.
    """

    functions: Callable[[ScriptFacts], str] = _nothing
    variables: str = ""
    refusals: Callable[[Plan], Iterator[str]] = _no_refusals

    @property
    def has_scope(self) -> bool:
        """Whether variables are made in the scope of a `tf.distribute` strategy."""
        return bool(self.variables)


_ALL_DEVICES = """\
# Every GPU, or where there is none, every logical CPU.
logical = tf.config.list_logical_devices
found = logical("GPU") or logical("CPU")
devices = [device.name.removeprefix("/device:") for device in found]"""


def devices_of(facts: ScriptFacts) -> str:
    """Return the lines that name the devices of a strategy."""
    chosen = facts.plan.distribution.devices
    return (
        listing("devices = ", [literal(name) for name in chosen], indent=4)
        if chosen
        else _ALL_DEVICES
    )
