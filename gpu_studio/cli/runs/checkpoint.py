"""`runs evaluate`, `runs predict` and `runs save-model`: what a checkpoint's model is good for."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from gpu_studio.cli.command import (
    OK,
    Commands,
    RefusedError,
    add_allowing,
    add_command,
    add_force,
    add_json,
    add_run,
    named_run,
    note,
    say,
    say_json,
)

if TYPE_CHECKING:
    from gpu_studio.contract import RunDirectory
    from gpu_studio.runs.questions.checkpoint_question import AskOptions


def register(actions: Commands) -> None:
    """Add both actions."""
    summary = "evaluate a checkpoint on the test split, else on the validation split"
    example = "example:\n  gpu-studio runs evaluate latest --checkpoint best"
    parser = add_command(actions, "evaluate", summary, example, evaluate_checkpoint)
    add_run(parser)
    _add_checkpoint(parser)
    example = "example:\n  gpu-studio runs predict latest --json"
    summary = "show what a checkpoint predicts for some samples, held out where there are such"
    parser = add_command(actions, "predict", summary, example, predict_samples)
    add_run(parser)
    _add_checkpoint(parser, "best", "the best, else the newest")
    example = "example:\n  gpu-studio runs save-model latest digits.keras --checkpoint best"
    summary = "write a checkpoint's model to a .keras file"
    parser = add_command(actions, "save-model", summary, example, save_checkpoint_model)
    add_run(parser)
    parser.add_argument("file", metavar="FILE.keras", type=Path, help="the file to write")
    add_force(parser, "FILE.keras if it is there")
    _add_checkpoint(parser)


def _add_checkpoint(
    parser: argparse.ArgumentParser, default: str = "latest", words: str = "latest"
) -> None:
    help_ = f"the checkpoint's name, or: best, latest (default: {words})"
    chosen = None if default == "best" else default
    parser.add_argument("--checkpoint", metavar="NAME", default=chosen, help=help_)
    add_allowing(parser)
    add_json(parser)


def evaluate_checkpoint(arguments: argparse.Namespace) -> int:
    """Evaluate a checkpoint, say what came of it, and keep that beside the run."""
    from msgspec import to_builtins

    from gpu_studio.common.figures import grouped, metrics_in_words
    from gpu_studio.runs.questions.checkpoint_question import chosen, evaluate
    from gpu_studio.runs.results.evaluations import keep

    run = named_run(arguments)
    _have_allowed(run, arguments)
    with _refusals():
        checkpoint = chosen(run, arguments.checkpoint)
        found = evaluate(run, checkpoint, _asking(arguments, f"evaluating {checkpoint.name}"))
    try:
        keep(run, found)
    except OSError as error:
        note(f"The result could not be kept beside the run: {error.strerror or error}.")
    if found.warning:
        note(f"warning: {found.warning}")
    if arguments.json:
        say_json({"run": run.id, **to_builtins(found), "warning": found.warning})
    else:
        say(
            f"{found.checkpoint}  {found.split} split, {grouped(found.samples)} samples  "
            f"{metrics_in_words(found.metrics)}"
        )
    return OK


def predict_samples(arguments: argparse.Namespace) -> int:
    """Print what a checkpoint predicts for some held-out samples."""
    from msgspec import to_builtins

    from gpu_studio.common.figures import grouped
    from gpu_studio.runs.questions.checkpoint_question import best, chosen, predict

    run = named_run(arguments)
    _have_allowed(run, arguments)
    with _refusals():
        checkpoint = chosen(run, arguments.checkpoint) if arguments.checkpoint else best(run)
        found = predict(run, checkpoint, _asking(arguments, f"predicting with {checkpoint.name}"))
    if found.warning:
        note(f"warning: {found.warning}")
    if arguments.json:
        say_json({"run": run.id, **to_builtins(found)})
        return OK
    of = "" if found.of is None else f" of {grouped(found.of)} samples"
    say(f"{found.checkpoint}  {found.split} split{of}")
    for sample in found.samples:
        say(f"sample {grouped(sample.place)}")
        for value in sample.inputs:
            say(f"  {value.name or 'x'}  {value.text}")
        for output in sample.outputs:
            sign = {True: "✔ ", False: "✘ ", None: ""}[output.right]
            target = f"  (target {output.target.text})" if output.target else ""
            say(f"  {sign}{output.predicted.name or 'y'}  {output.predicted.text}{target}")
    return OK


def save_checkpoint_model(arguments: argparse.Namespace) -> int:
    """Write a checkpoint's model to a file."""
    from gpu_studio.common.figures import size
    from gpu_studio.runs.questions.checkpoint_question import chosen, save_model

    run = named_run(arguments)
    _have_allowed(run, arguments)
    with _refusals():
        checkpoint = chosen(run, arguments.checkpoint)
        asking = _asking(arguments, f"saving {checkpoint.name}")
        written = save_model(run, checkpoint, arguments.file, asking, replace=arguments.force)
    if arguments.json:
        document = {
            "run": run.id,
            "checkpoint": checkpoint.name,
            "file": str(arguments.file.absolute()),
        }
        say_json({**document, "bytes": written})
    else:
        note(f"{arguments.file} holds the model of {checkpoint.name}, {size(written)}.")
    return OK


def _have_allowed(run: RunDirectory, arguments: argparse.Namespace) -> None:
    from gpu_studio.cli.given_plan import have_allowed

    have_allowed(run.load_plan(), allow=arguments.allow_code, may_ask=not arguments.json)


def _asking(arguments: argparse.Namespace, what: str) -> AskOptions:
    from gpu_studio.runs.questions.checkpoint_question import AskOptions

    return AskOptions(
        progress=_teller(what) if sys.stderr.isatty() and not arguments.json else None
    )


def _teller(what: str) -> Callable[[str], None]:
    return lambda text: note(f"{what}: {text}…")


@contextmanager
def _refusals() -> Iterator[None]:
    from gpu_studio.runs.questions.ask import AskError
    from gpu_studio.runs.questions.checkpoint_question import CheckpointError

    try:
        yield
    except (CheckpointError, AskError) as error:
        raise RefusedError(str(error)) from error
