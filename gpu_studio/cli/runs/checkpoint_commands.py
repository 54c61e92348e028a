"""`runs evaluate` and `runs save-model`: what a checkpoint is worth, and its model as a file."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from msgspec import to_builtins

from gpu_studio import plan as plans
from gpu_studio.cli import exit_codes
from gpu_studio.cli.code.allowing import have_allowed
from gpu_studio.cli.output import RefusedError, note, say, say_json
from gpu_studio.cli.train.lines import metrics_in_words
from gpu_studio.runs.directory import RunDirectory
from gpu_studio.runs.questions.ask import AskError
from gpu_studio.runs.questions.checkpoint_question import Asking, CheckpointError, chosen, evaluate, save_model
from gpu_studio.runs.results.evaluations import keep
from gpu_studio.runs.wording import size


def evaluate_checkpoint(run: RunDirectory, arguments: argparse.Namespace) -> int:
    """Evaluate a checkpoint, say what came of it, and keep that beside the run."""
    _have_allowed(run, arguments)
    with _refusals():
        checkpoint = chosen(run, arguments.checkpoint)
        found = evaluate(run, checkpoint, _asking(arguments, f"evaluating {checkpoint.name}"))
    try:
        keep(run, found)
    except OSError as error:
        note(f"What came of it could not be kept beside the run: {error.strerror or error}.")
    if arguments.json:
        say_json({"run": run.id, **to_builtins(found)})
    else:
        say(f"{found.checkpoint}  {found.split} split, {found.samples:,} samples  {metrics_in_words(found.metrics)}")
    return exit_codes.OK


def save_checkpoint_model(run: RunDirectory, arguments: argparse.Namespace) -> int:
    """Write a checkpoint's model to a file."""
    _have_allowed(run, arguments)
    with _refusals():
        checkpoint = chosen(run, arguments.checkpoint)
        asking = _asking(arguments, f"saving {checkpoint.name}")
        written = save_model(run, checkpoint, arguments.file, asking, replace=arguments.force)
    if arguments.json:
        document = {"run": run.id, "checkpoint": checkpoint.name, "file": str(arguments.file.absolute())}
        say_json({**document, "bytes": written})
    else:
        note(f"{arguments.file} holds the model of {checkpoint.name}, {size(written)}.")
    return exit_codes.OK


def _have_allowed(run: RunDirectory, arguments: argparse.Namespace) -> None:
    have_allowed(plans.load(run.plan_file), run.path, allow=arguments.allow_code, may_ask=not arguments.json)


def _asking(arguments: argparse.Namespace, what: str) -> Asking:
    return Asking(progress=_teller(what) if sys.stderr.isatty() and not arguments.json else None)


def _teller(what: str) -> Callable[[str], None]:
    return lambda text: note(f"{what}: {text}…")


@contextmanager
def _refusals() -> Iterator[None]:
    try:
        yield
    except (CheckpointError, AskError) as error:
        raise RefusedError(str(error)) from error
