"""What the machine has, asked of a process of its own."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from gpu_studio.hardware.answering import NoAnswerError, answer_of
from gpu_studio.hardware.host import cpu_cores, cpu_name, memory_mib
from gpu_studio.own_processes import module_command
from gpu_studio.plan.machine import Machine

COMMAND = tuple(module_command("gpu_studio.hardware"))
WITH_USERS = (*COMMAND, "--users")
"""Also asks who uses the cards, which takes the driver longer."""


class InventoryError(ValueError):
    """An answer that is no inventory."""


def inventory(timeout: float = 10.0, command: Sequence[str] = COMMAND) -> Machine:
    """What this machine has. Takes at most `timeout` seconds and a little, and raises nothing.

    If the driver crashes, hangs or answers nonsense, the machine has no cards and `why_no_cards` says what happened.
    """
    try:
        return parse_inventory(answer_of(command, timeout).decode("utf-8", "replace"))
    except NoAnswerError as error:
        return _without_cards(str(error))
    except InventoryError as error:
        return _without_cards(f"asking the NVIDIA driver failed ({error})")


def parse_inventory(text: str) -> Machine:
    """The machine that `python -m gpu_studio.hardware` printed. Raises InventoryError if it is none."""
    lines = text.strip().splitlines()
    if not lines:
        raise InventoryError("the answer is empty")
    try:
        # The last line: a driver may have chattered before it.
        return msgspec.json.decode(lines[-1].encode("utf-8", "replace"), type=Machine)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise InventoryError(f"the answer is no inventory: {error}") from error


def _without_cards(why: str) -> Machine:
    return Machine(cpu_cores=cpu_cores(), memory_mib=memory_mib(), cpu_name=cpu_name(), why_no_cards=why)
