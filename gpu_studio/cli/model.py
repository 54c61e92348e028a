"""`model`: the layers of a plan's model, and the memory that a training step takes."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gpu_studio.cli.command import (
    FAILED,
    OK,
    Commands,
    RefusedError,
    add_allowing,
    add_command,
    add_json,
    add_machine,
    add_plan,
    add_set,
    console,
    note,
    say,
    say_json,
)

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from gpu_studio import plan as plans
    from gpu_studio.placement.correction import MeasuredPeak
    from gpu_studio.placement.device_memory import PredictedMemory
    from gpu_studio.placement.plan_facts import GraphLayer, ModelGraph, PlanFacts

_SUMMARY = "show a plan's layers, and whether a training step fits into each device's memory"
_EXAMPLES = """\
The model is built and one training step is traced; nothing is trained, but with --measured.
The answer is remembered until the model, the shape of the data or the optimizer changes. It is held
against each slice's limit or each card, and against what is free now beside those who hold memory
of the card. Of a whole card about 512 MiB are CUDA's own, and of the rest TensorFlow keeps 225 to
1,800 MiB back for CUDA's libraries (cuDNN, NCCL): neither is part of the limit.

On a real card convolutions and recurrent layers compute through cuDNN, whose workspaces come from
the same memory and are not predicted: up to 430 MiB more on an H100 and 840 MiB more on an H200,
and a run does not start without some. Where less than 512 MiB are left for them, the step "may
lack room for cuDNN" ("fits" is null in --json, and "may_lack" true). Steps with --measured run on
the card itself.

examples:
  gpu-studio model digits.plan.toml
  gpu-studio model digits.plan.toml --set training.batch_size=4096
  gpu-studio model digits.plan.toml --measured --formulas
  gpu-studio model digits.plan.toml --machine cluster-node.json --json

exit codes:
  0    it fits, the devices have no limit, or it may lack room for cuDNN
  1    it does not fit, or not beside those who hold memory of the card now
  2    refused, with nothing done"""
_WIDTH_OF_A_FILE = 130
_WIDEST = 10_000


def register(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "model", _SUMMARY, _EXAMPLES, model)
    add_plan(parser)
    parser.add_argument(
        "--measured",
        action="store_true",
        help="train a few real steps first, and correct the prediction by them",
    )
    add_allowing(parser)
    parser.add_argument(
        "--formulas", action="store_true", help="say how each figure of memory comes about"
    )
    add_set(parser)
    add_machine(parser, "hold the memory against the machine described in FILE")
    add_json(parser)


def model(chosen: argparse.Namespace) -> int:
    """Show the plan's model as TensorFlow builds it, and whether a step fits into each device."""
    from gpu_studio import plan as plans
    from gpu_studio.cli.given_plan import sound_plan
    from gpu_studio.placement.correction import corrected
    from gpu_studio.placement.known_problems import misplaced
    from gpu_studio.placement.memory import predict

    _, plan, machine = sound_plan(chosen, users=True)
    graph, facts = _known(plan)
    plan = facts.completed(plan)
    if astray := tuple(misplaced(plan, facts)):
        raise plans.PlanError(astray, str(chosen.plan))
    if chosen.measured:
        facts = corrected(facts, _held(plan, machine, described=bool(chosen.machine)))
    memories = [memory for memory in predict(plan, machine, facts) if memory.total]
    if chosen.json:
        say_json(document(graph, memories) | what_it_sees(plan, facts))
    else:
        _say(graph, memories, formulas=chosen.formulas)
        _say_what_it_sees(plan, facts)
        _say_cautions(plan, machine, facts)
    return FAILED if any(memory.fits is False for memory in memories) else OK


def _known(plan: plans.AbsolutePlan) -> tuple[ModelGraph, PlanFacts]:
    from gpu_studio.cli.given_plan import asked_facts

    facts = asked_facts(plan)
    if wrong := facts.data_error or facts.model_error or facts.training_error:
        from gpu_studio.placement.cautions import values_as_ids

        odd = [f"{each.text} {each.why}" for each in values_as_ids(plan, facts)]
        advice = facts.model.advice if facts.model else ()
        raise RefusedError(" ".join((wrong, *odd, *facts.advice, *advice)))
    if facts.graph is None:
        raise RefusedError("TensorFlow did not tell of the model.")
    return facts.graph, facts


def _held(
    plan: plans.AbsolutePlan, machine: plans.Machine, *, described: bool
) -> dict[str, MeasuredPeak]:
    """What real steps of the plan held. Raises RefusedError if they cannot be had."""
    from gpu_studio import plan as plans
    from gpu_studio.cli.given_plan import waiting
    from gpu_studio.placement.correction import held_in
    from gpu_studio.runs.questions.ask import AskError
    from gpu_studio.runs.questions.plan_question import ask_times

    if described:
        raise RefusedError(
            "Steps are measured on this machine only: leave out --machine, or --measured."
        )
    try:
        answer = ask_times(plan, plans.logical_devices(plan, machine), progress=waiting)
        return held_in(answer)
    except (AskError, ValueError) as error:
        raise RefusedError(
            f"No step could be measured: {error} Without --measured it is predicted."
        ) from error


def document(graph: ModelGraph, memories: Sequence[PredictedMemory]) -> dict[str, Any]:
    """Everything, as JSON has it. Bytes and FLOPs of a layer are for one sample."""
    from dataclasses import asdict

    return {
        "model": graph.name,
        "parameters": graph.parameters,
        "trainable": graph.trainable,
        "layers": [asdict(layer) for layer in graph.layers],
        "devices": [
            asdict(memory)
            | {"fits": memory.fits, "waits": memory.waits, "may_lack": memory.may_lack}
            for memory in memories
        ],
    }


def what_it_sees(plan: plans.Plan, facts: PlanFacts) -> dict[str, Any]:
    """For JSON: a sample as the model gets it, how many there are, and what deserves a warning."""
    from dataclasses import asdict

    from gpu_studio.placement.cautions import values_as_ids
    from gpu_studio.placement.plan_facts import ModelNote, sample_in_words

    data = facts.data
    notes = list(facts.model.notes) if facts.model else []
    notes += [ModelNote(each.name, each.text, each.why) for each in values_as_ids(plan, facts)]
    return {
        "sample": sample_in_words(data) if data else "",
        "samples": {"train": data.train, "validation": data.validation, "test": data.test}
        if data and not data.streamed
        else {},
        "stream": data.streamed if data else "",
        "fit": dict(data.fit) if data else {},
        "data_notes": list(data.notes) if data else [],
        "notes": [asdict(note) for note in notes],
    }


def _say_what_it_sees(plan: plans.Plan, facts: PlanFacts) -> None:
    from gpu_studio.common.figures import grouped
    from gpu_studio.plan.scripts import in_words

    seen = what_it_sees(plan, facts)
    say()
    say(f"A sample, as the model gets it: {seen['sample']}")
    if (samples := seen["samples"]) and sum(samples.values()):
        say(
            "Samples: {train} train, {validation} validate, {test} test".format(
                **{split: grouped(count) for split, count in samples.items()}
            )
        )
    if given := in_words(seen["fit"]):
        say(f"The script gives fit {given}.")
    for sentence in seen["data_notes"]:
        say(f"Note: {sentence}")
    for each in seen["notes"]:
        say(f"Note: {each['text']} {each['why']}")


def _say(graph: ModelGraph, memories: Sequence[PredictedMemory], *, formulas: bool) -> None:
    from gpu_studio.common.figures import grouped

    width = console(None if sys.stdout.isatty() else _WIDTH_OF_A_FILE).width
    layers = layer_table(graph.layers)
    # No figure is cut: a terminal that is narrower breaks the lines.
    console(max(width, width_of(layers))).print(layers)
    say(
        f"{graph.name}: {grouped(graph.parameters)} parameters, of which "
        f"{grouped(graph.trainable)} are trained"
    )
    say()
    for table in memory_tables(memories, width):
        console(max(width, width_of(table))).print(table)
    for memory in memories if formulas else ():
        say(f"{memory.device}: {memory.total_formula}")
        for name, part in memory.parts:
            say(f"  {name}: {part.formula}")


def _say_cautions(plan: plans.Plan, machine: plans.Machine, facts: PlanFacts) -> None:
    """Say why what does not fit does not or may not, and what would; and what would be faster."""
    from gpu_studio.placement.cautions import FASTER_BY_XLA, LITTLE_LEFT, TOO_MUCH, cautions_with

    for caution in cautions_with(plan, machine, facts):
        if caution.name in (TOO_MUCH, LITTLE_LEFT, FASTER_BY_XLA):
            queued = ("Wait for it in the queue",) if caution.waits else ()
            remedies = "; ".join((*(way.label for way in caution.remedies), *queued))
            note(
                f"{caution.text} {caution.why}"
                + (f" What would help: {remedies}." if remedies else "")
            )


def layer_table(layers: Sequence[GraphLayer]) -> Table:
    """The layers in the order in which they run; activations and FLOPs are for one sample."""
    from gpu_studio.common.figures import grouped, size

    columns = ("output", "parameters", "weights", "kept", "forward", "backward")
    table = _table(("layer", "class"), columns)
    for layer in layers:
        shape = " × ".join("?" if axis is None else str(axis) for axis in layer.output_shape)
        work = (_flops(layer.flops_forward), _flops(layer.flops_backward))
        table.add_row(
            layer.name,
            layer.kind,
            shape,
            grouped(layer.parameters),
            size(layer.weight_bytes),
            size(layer.kept_bytes) if layer.kept_bytes else "–",
            *work,
        )
    return table


def memory_tables(memories: Sequence[PredictedMemory], width: int) -> list[Table]:
    """What `memory_table` shows, in as many tables as `width` asks for: a column a device then."""
    whole = memory_table(memories)
    if width_of(whole) <= width:
        return [whole]
    most = next(
        (n for n in range(len(memories), 1, -1) if width_of(_turned(memories[:n])) <= width), 1
    )
    return [_turned(memories[first : first + most]) for first in range(0, len(memories), most)]


def width_of(table: Table) -> int:
    """The columns of a terminal that it takes to show all of it."""
    return console(_WIDEST).measure(table).maximum


_PARTS = ("weights", "gradients", "slots", "activations", "other", "total", "limit", "free now")


def memory_table(memories: Sequence[PredictedMemory]) -> Table:
    """What a step takes on each device that takes part, against its limit and what is free now."""
    table = _table(("device",), _PARTS)
    table.add_column("")
    for memory in memories:
        table.add_row(memory.device, *_cells(memory))
    return table


def _turned(memories: Sequence[PredictedMemory]) -> Table:
    table = _table(("device",), [memory.device for memory in memories])
    for name, *cells in zip((*_PARTS, ""), *map(_cells, memories), strict=True):
        table.add_row(name, *cells)
    return table


def _cells(memory: PredictedMemory) -> list[str | Text]:
    from gpu_studio.common.figures import size

    limit = "none" if memory.limit_bytes is None else size(memory.limit_bytes)
    return [
        *(size(part.bytes) for _, part in memory.parts),
        f"{memory.at_most}{size(memory.total)}",
        limit,
        size(memory.free_bytes),
        _verdict(memory),
    ]


def _verdict(memory: PredictedMemory) -> Text:
    from rich.text import Text

    if memory.fits is False:
        return Text(f"does not fit{' now' if memory.waits else ''}", "bold red")
    if memory.lacking:
        return Text(memory.lacking, "yellow")
    return Text("fits" if memory.fits else "")


def _flops(count: float) -> str:
    from gpu_studio.common.figures import flops

    return flops(count) if count else "–"


def _table(left: Sequence[str], right: Sequence[str]) -> Table:
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False)
    for title in left:
        table.add_column(title)
    for title in right:
        table.add_column(title, justify="right")
    return table
