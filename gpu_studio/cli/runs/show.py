"""`runs show` and `runs placement`: everything known of one run, and where its layers ran.

`placement` compares where each layer ran with where it was placed.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from gpu_studio.cli.command import (
    ELSEWHERE,
    OK,
    Commands,
    RefusedError,
    add_command,
    add_json,
    add_run,
    named_run,
    say,
    say_json,
    say_table,
)

if TYPE_CHECKING:
    from gpu_studio.contract import Crossing, RunDirectory
    from gpu_studio.runs.reading.placements import Judgement, LayerRow, MisplacedOperations, PassRow


def register(actions: Commands) -> None:
    """Add the action."""
    example = "example:\n  gpu-studio runs show latest"
    parser = add_command(
        actions, "show", "show all that is known of a run, and why it ended", example, show
    )
    add_run(parser)
    add_json(parser)


def show(chosen: argparse.Namespace) -> int:
    """Show what is known of a run."""
    from gpu_studio.runs.results.run_facts import run_document, run_lines

    run = named_run(chosen, elsewhere=True)
    if chosen.json:
        say_json(run_document(run))
    else:
        for line in run_lines(run):
            say(line)
    return OK


_PLACEMENT_SUMMARY = "show the device that each layer ran on, and the one that was asked for"
_PLACEMENT = f"""example:
  gpu-studio runs placement latest
  gpu-studio runs placement latest --json

The figures are numbers of operations, read from the graphs that TensorFlow executed in the first
step.

exit codes:
  0    every layer ran where it was put
  2    refused: the run has placed no layers, or has not got so far
  {ELSEWHERE}    something ran on another device than it was asked to"""
_HEADINGS = ("LAYER", "ASKED", "FORWARD", "BACKWARD", "UPDATE")
_CROSSING_HEADINGS = ("CROSSES", "FROM → TO", "PASS", "TENSORS", "A STEP")
_WRONG = "! "
_CHOSEN = {True: "plan", False: "program", None: None}
MOST_SENTENCES = 20


def register_placement(actions: Commands) -> None:
    """Add the action."""
    parser = add_command(actions, "placement", _PLACEMENT_SUMMARY, _PLACEMENT, placement)
    add_run(parser)
    add_json(parser)


def placement(chosen: argparse.Namespace) -> int:
    """Show the placement of a run, and say by the exit code whether all of it is as asked."""
    from gpu_studio.contract import Placement
    from gpu_studio.runs.reading.event_file import first_of
    from gpu_studio.runs.reading.placements import judged

    run = named_run(chosen, elsewhere=True)
    reported = first_of(run, Placement)
    if reported is None:
        raise RefusedError(_why_no_placement(run))
    found = judged(reported)
    if chosen.json:
        say_json(_placement_document(run, found))
    else:
        _say_placement(found)
    return ELSEWHERE if found.wrong else OK


def _why_no_placement(run: RunDirectory) -> str:
    from gpu_studio.contract import Devices
    from gpu_studio.plan import strategy_named
    from gpu_studio.runs.reading.event_file import first_of

    devices = first_of(run, Devices)
    if devices is not None and not strategy_named(devices.strategy).places_layers:
        advice = "Only a run with the strategy placed puts layers on devices."
        return f"{run.id} has no placement: its strategy is {devices.strategy}. {advice}"
    return (
        f"{run.id} has not reported where its layers run: that is known "
        "when its first steps are trained."
    )


def _say_placement(found: Judgement) -> None:
    from gpu_studio.runs.reading.placements import choice, headline

    say_table([_HEADINGS, *(_layer_cells(layer) for layer in found.layers)])
    say()
    _say_crossings(found)
    say()
    say(headline(found))
    for text in filter(None, (*_sentences(found), choice(found))):
        say(text)


def _say_crossings(found: Judgement) -> None:
    from gpu_studio.common.figures import size

    if not found.crossings:
        say("Nothing goes from one device to another.")
        return
    say_table([_CROSSING_HEADINGS, *(_crossing_cells(each) for each in found.crossings)])
    least = "At least " if found.crossing_is_least else ""
    say(f"{least}{size(found.crossing_bytes)} a step in all")


def _layer_cells(layer: LayerRow) -> tuple[str, ...]:
    from gpu_studio.runs.reading.placements import asked_in_words

    return layer.layer, asked_in_words(layer), *(_pass_cell(row) for row in layer.passes)


def _pass_cell(row: PassRow) -> str:
    from gpu_studio.runs.reading.placements import ran_in_words

    return f"{_WRONG if row.wrong else ''}{ran_in_words(row)}"


def _crossing_cells(each: Crossing) -> tuple[str, ...]:
    from gpu_studio.common.figures import grouped, size
    from gpu_studio.runs.reading.placements import edge_in_words

    devices = f"{each.from_device} → {each.to_device}"
    amount = "not known" if each.bytes is None else size(each.bytes)
    return edge_in_words(each), devices, each.way, grouped(each.tensors), amount


def _sentences(found: Judgement) -> list[str]:
    from gpu_studio.runs.reading.placements import misplaced_in_words

    said = [f"  {misplaced_in_words(each)}" for each in found.wrong[:MOST_SENTENCES]]
    more = len(found.wrong) - len(said)
    return [*said, f"  and {more} more"] if more else said


def _placement_document(run: RunDirectory, found: Judgement) -> dict[str, Any]:
    from gpu_studio.runs.reading.placements import headline

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
        "passes": {
            row.way: {"verdict": row.verdict, "operations": dict(row.ran)} for row in layer.passes
        },
    }


def _misplaced_document(each: MisplacedOperations) -> dict[str, Any]:
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
