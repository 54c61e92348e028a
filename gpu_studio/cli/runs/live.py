"""Control a live run (`runs attach`, `pause`, `resume`, …), and wait until it has obeyed."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from gpu_studio.cli.command import (
    OK,
    Commands,
    Handler,
    RefusedError,
    add_command,
    add_json,
    add_run,
    add_seconds,
    named_run,
    note,
    say_json,
)
from gpu_studio.cli.train import add_resuming, resume_changed

if TYPE_CHECKING:
    from gpu_studio.contract import Action, RunDirectory
    from gpu_studio.runs.reading.history import History

_POLL_SECONDS: Final = 0.05
_ANSWER_SECONDS: Final = 15.0


def register(actions: Commands) -> None:
    """Add the five actions."""
    add_json(_add(actions, "attach", "watch a run to its end; Ctrl+C leaves it running", attach))
    add_json(_add(actions, "pause", "hold a run; its memory stays in use", pause))
    going_on = "resume a paused run; with changes, one that has ended, as a new run"
    add_resuming(_add(actions, "resume", going_on, resume))
    parser = _add(actions, "stop", "stop a run, with a checkpoint", stop)
    parser.add_argument("--now", action="store_true", help="without a checkpoint")
    add_seconds(
        parser,
        "--patience",
        metavar="SECONDS",
        default=30.0,
        help=(
            "wait so long before the trainer gets SIGTERM, and 10 seconds "
            "more before SIGKILL (default: 30)"
        ),
    )
    add_json(parser)
    add_json(_add(actions, "checkpoint", "have a run write a checkpoint now", checkpoint))


def _add(actions: Commands, name: str, summary: str, handler: Handler) -> argparse.ArgumentParser:
    parser = add_command(
        actions, name, summary, f"example:\n  gpu-studio runs {name} latest", handler
    )
    add_run(parser)
    return parser


def attach(chosen: argparse.Namespace) -> int:
    """Follow a run to its end; Ctrl+C leaves it running."""
    from gpu_studio.cli.following import LeaveRun, follow
    from gpu_studio.cli.sinks import sink_for
    from gpu_studio.common.processes import counted_interrupts

    run = named_run(chosen)
    with counted_interrupts() as interrupts:
        return follow(run, sink_for(json=chosen.json), interrupts, LeaveRun)


def pause(chosen: argparse.Namespace) -> int:
    """Hold a run."""
    return _ask(
        named_run(chosen),
        chosen,
        "pause",
        lambda history, _: history.state == "paused",
        "is paused",
    )


def resume(chosen: argparse.Namespace) -> int:
    """Let a paused run go on; with changes, one that has ended, as a new run."""
    run = named_run(chosen)
    if chosen.plan or chosen.settings or chosen.checkpoint:
        return resume_changed(run, chosen)
    return _ask(run, chosen, "resume", lambda history, _: history.state == "running", "goes on")


def checkpoint(chosen: argparse.Namespace) -> int:
    """Have a run write a checkpoint."""
    return _ask(named_run(chosen), chosen, "checkpoint", _wrote, "has written a checkpoint")


def stop(chosen: argparse.Namespace) -> int:
    """Stop a run, and wait until it is gone."""
    from gpu_studio.runs.stop import Patience, StopLadder

    run = named_run(chosen)
    _refuse_unless_live(run)
    ladder = StopLadder(run, now=chosen.now, patience=Patience(asked=chosen.patience))
    reported = ""
    while ladder.advance() != "gone":
        if ladder.problem:
            raise RefusedError(ladder.problem)
        if ladder.said != reported and not chosen.json:
            note(ladder.said)
        reported = ladder.said
        time.sleep(_POLL_SECONDS)
    return _tell(run, chosen, _ended(run))


def _ended(run: RunDirectory) -> str:
    from gpu_studio.runs.left_job import explained
    from gpu_studio.runs.reading.summary import why_unreadable
    from gpu_studio.runs.state import state_of

    try:
        state = state_of(run)
        why = f" {explained(run).message}" if state == "lost" else ""
    except OSError as error:  # which its end does not depend on
        return f"{run.id} has ended. How cannot be read: {why_unreadable(run, error)}."
    return f"{run.id} has ended: {state}.{why}"


def _ask(
    run: RunDirectory,
    chosen: argparse.Namespace,
    action: Action,
    done: Callable[[History, float], bool],
    words: str,
) -> int:
    from gpu_studio.contract import AnyEvent, Tail, send
    from gpu_studio.contract.events import decode
    from gpu_studio.runs.reading.history import History
    from gpu_studio.runs.state import is_live

    _refuse_unless_live(run)
    tail: Tail[AnyEvent] = Tail(run.events_file, decode)
    history = History()
    history.apply_all(tail.read_all())
    asked = send(run, action).time
    end = time.monotonic() + _ANSWER_SECONDS
    while not done(history, asked):
        if time.monotonic() > end or not is_live(run):
            return _tell(run, chosen, f"{run.id} was asked to, but has not answered yet.")
        time.sleep(_POLL_SECONDS)
        history.apply_all(tail.read_all())
    return _tell(run, chosen, f"{run.id} {words}.")


def _wrote(history: History, asked: float) -> bool:
    return bool(history.checkpoints) and history.checkpoints[-1].time >= history.time_of(asked)


def _tell(run: RunDirectory, chosen: argparse.Namespace, text: str) -> int:
    from gpu_studio.runs.lineage import read_history

    if chosen.json:
        known: dict[str, Any] = {"state": "unreadable", "step": None, "epoch": None}
        with suppress(OSError):  # what was asked for is done all the same
            history = read_history(run)
            known = {"state": history.state, "step": history.step, "epoch": history.epoch}
        say_json({"run": run.id, **known})
    else:
        note(text)
    return OK


def _refuse_unless_live(run: RunDirectory) -> None:
    from gpu_studio.runs.left_job import left_job
    from gpu_studio.runs.paths import run_command
    from gpu_studio.runs.state import is_live, state_of

    if is_live(run):
        return
    state = state_of(run)
    said = f"{run.id} is not training any more ({state})."
    if state == "lost" and (left := left_job(run)) is not None:
        said += f" {left.clause}. {left.advice}."
    again = run_command("resume", run.path)
    if state == "finished":
        longer = f"{again} --set training.epochs={run.load_plan().training.epochs + 1}"
        raise RefusedError(f"{said} Train it for longer with: {longer}")
    raise RefusedError(f"{said} Go on from its last checkpoint with: {again}")
