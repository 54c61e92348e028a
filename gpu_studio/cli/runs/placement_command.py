"""`runs placement`: where each layer ran, beside where it was put."""

from __future__ import annotations

import argparse
from typing import Any

from gpu_studio.cli import exit_codes
from gpu_studio.cli.output import RefusedError, say, say_json, say_table
from gpu_studio.runs.directory import RunDirectory
from gpu_studio.runs.events import Crossing, Devices, Placement
from gpu_studio.runs.reading.early_events import first_of
from gpu_studio.runs.reading.placement_words import (
    asked_in_words,
    choice,
    edge_in_words,
    headline,
    misplaced_in_words,
    ran_in_words,
)
from gpu_studio.runs.reading.placements import Judgement, LayerRow, Misplaced, PassRow, judged
from gpu_studio.runs.wording import size
from gpu_studio.thousands import grouped

_HEADINGS = ("LAYER", "ASKED", "FORWARD", "BACKWARD", "UPDATE")
_CROSSING_HEADINGS = ("CROSSES", "FROM → TO", "PASS", "TENSORS", "A STEP")
_WRONG = "! "
_CHOSEN = {True: "plan", False: "program", None: None}
MOST_SENTENCES = 20


def placement(run: RunDirectory, chosen: argparse.Namespace) -> int:
    """Show the placement of `run`, and say by the exit code whether all of it is as asked."""
    told = first_of(run, Placement)
    if told is None:
        raise RefusedError(_why_none(run))
    found = judged(told)
    if chosen.json:
        say_json(_document(run, found))
    else:
        _say(found)
    return exit_codes.ELSEWHERE if found.wrong else exit_codes.OK


def _why_none(run: RunDirectory) -> str:
    devices = first_of(run, Devices)
    if devices is not None and devices.strategy != "placed":
        advice = "Only a run with the strategy placed puts layers on devices."
        return f"{run.id} has no placement: its strategy is {devices.strategy}. {advice}"
    return f"{run.id} has not told where its layers run: that is known when its first steps are trained."


def _say(found: Judgement) -> None:
    say_table([_HEADINGS, *(_row(layer) for layer in found.layers)])
    say()
    _say_crossings(found)
    say()
    say(headline(found))
    for text in filter(None, (*_sentences(found), choice(found))):
        say(text)


def _say_crossings(found: Judgement) -> None:
    if not found.crossings:
        say("Nothing goes from one device to another.")
        return
    say_table([_CROSSING_HEADINGS, *(_crossing(each) for each in found.crossings)])
    least = "At least " if found.crossing_is_least else ""
    say(f"{least}{size(found.crossing_bytes)} a step in all")


def _row(layer: LayerRow) -> tuple[str, ...]:
    return layer.layer, asked_in_words(layer), *(_pass(row) for row in layer.passes)


def _pass(row: PassRow) -> str:
    return f"{_WRONG if row.wrong else ''}{ran_in_words(row)}"


def _crossing(each: Crossing) -> tuple[str, ...]:
    devices = f"{each.from_device} → {each.to_device}"
    amount = "not known" if each.bytes is None else size(each.bytes)
    return edge_in_words(each), devices, each.way, grouped(each.tensors), amount


def _sentences(found: Judgement) -> list[str]:
    said = [f"  {misplaced_in_words(each)}" for each in found.wrong[:MOST_SENTENCES]]
    more = len(found.wrong) - len(said)
    return [*said, f"  and {more} more"] if more else said


def _document(run: RunDirectory, found: Judgement) -> dict[str, Any]:
    return {
        "run": run.id,
        "as_asked": not found.wrong,
        "headline": headline(found),
        "operations": found.operations,
        "layers": [_layer_document(layer) for layer in found.layers],
        "elsewhere": [_misplaced_document(each) for each in found.wrong],
        "crossings": [_crossing_document(each) for each in found.crossings],
        "bytes_a_step": found.crossing_bytes,
        "bytes_are_least": found.crossing_is_least,
    }


def _layer_document(layer: LayerRow) -> dict[str, Any]:
    return {
        "layer": layer.layer,
        "asked": list(layer.asked),
        "joined_on": layer.joined_on or None,
        "chosen_by": _CHOSEN[layer.by_plan],
        "passes": {row.way: {"verdict": row.verdict, "operations": dict(row.ran)} for row in layer.passes},
    }


def _misplaced_document(each: Misplaced) -> dict[str, Any]:
    return {
        "layer": each.layer,
        "pass": each.way,
        "part": each.part or None,
        "asked": list(each.asked),
        "device": each.device or None,
        "operations": each.operations,
    }


def _crossing_document(each: Crossing) -> dict[str, Any]:
    return {
        "source": each.source or None,
        "target": each.target or None,
        "pass": each.way,
        "from": each.from_device,
        "to": each.to_device,
        "tensors": each.tensors,
        "bytes": each.bytes,
    }
