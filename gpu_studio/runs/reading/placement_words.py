"""Describe where a run's layers were executed, identically in the window and the command line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from gpu_studio.common.figures import grouped, plural
from gpu_studio.contract.events import Crossing
from gpu_studio.plan.problems import listed
from gpu_studio.runs.reading.placements import (
    JOIN,
    Judgement,
    LayerRow,
    MisplacedOperations,
    PassRow,
)

NONE: Final = "–"
NAMED: Final = 3
"""So many names are written out; of more only how many they are."""


def headline(found: Judgement) -> str:
    """Whether the layers ran where they were placed, in a sentence or two."""
    return _mismatch(found) if found.wrong else _agreement(found)


def choice(found: Judgement) -> str:
    """The layers that the plan leaves out and the program placed, in a sentence; empty if none."""
    left = [layer.layer for layer in found.layers if layer.by_plan is False]
    return f"The plan leaves out {_some(left)}: placed where the inputs are." if left else ""


def asked_in_words(layer: LayerRow) -> str:
    """The requested devices: `CPU:1`, `CPU:0 + CPU:1, joined on CPU:2`."""
    if not layer.asked:
        return "not told"
    joined = f", joined on {layer.joined_on}" if layer.joined_on else ""
    return f"{' + '.join(layer.asked)}{joined}"


def ran_in_words(row: PassRow) -> str:
    """The devices that ran a pass, with the number of operations: `CPU:1 12`; `–` if none."""
    return ", ".join(f"{device} {grouped(count)}" for device, count in row.ran) or NONE


def misplaced_in_words(each: MisplacedOperations) -> str:
    """What ran elsewhere than requested, in a sentence."""
    asked = listed(each.asked, "or") or "any device that was asked for"
    if not each.operations:
        return f"The {each.way} of {each.layer} did nothing on {asked}, where a part of it was put."
    part = f", part {int(each.part) + 1}," if each.part.isdecimal() else ""
    part = ", where its parts are joined," if each.part == JOIN else part
    done = plural(each.operations, "operation")
    ran = "was" if each.operations == 1 else "were"
    return (
        f"{done} of the {each.way} of {each.layer}{part} {ran} executed on "
        f"{each.device}, and not on {asked}."
    )


def edge_in_words(each: Crossing) -> str:
    """The layers that send and receive.

    What belongs to none is the data, the loss or the step counter.
    """
    if not each.source and not each.target:
        return "data, loss and counters"
    return f"{each.source or 'data or loss'} → {each.target or 'loss or counters'}"


def _agreement(found: Judgement) -> str:
    counted = plural(found.operations, "operation")
    busy = [layer for layer in found.layers if layer.operations]
    if not busy:
        return "TensorFlow executed no operation of any layer."
    if not all(layer.asked for layer in busy):
        return f"The run does not tell where its layers were put: {counted}."
    if len(busy) < len(found.layers):
        share = f"{grouped(len(busy))} of {grouped(len(found.layers))}"
        return f"All layers that compute, {share}, ran where they were put: {counted}."
    if len(busy) == 1:
        return f"The layer {busy[0].layer} ran where it was put: {counted}."
    return f"All {grouped(len(busy))} layers ran where they were put: {counted}."


def _mismatch(found: Judgement) -> str:
    strayed = [each for each in found.wrong if each.operations]
    said = [misplaced_in_words(each) for each in found.wrong if not each.operations]
    if strayed:
        layers = list(dict.fromkeys(each.layer for each in strayed))
        count = grouped(sum(each.operations for each in strayed))
        whole = plural(found.operations, "operation")
        said.insert(
            0, f"{count} of {whole} ran on another device than asked: those of {_some(layers)}."
        )
    more = f" And {grouped(len(said) - NAMED)} more." if len(said) > NAMED else ""
    return " ".join(said[:NAMED]) + more


def _some(names: Sequence[str]) -> str:
    if len(names) <= NAMED + 1:
        return listed(names)
    return f"{', '.join(names[:NAMED])} and {len(names) - NAMED} more"
