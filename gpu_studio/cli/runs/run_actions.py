"""What a run can be asked to do, and waiting until it has."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Final

from gpu_studio.cli import exit_codes
from gpu_studio.cli.output import RefusedError, note, say_json
from gpu_studio.runs import catalogue
from gpu_studio.runs.commands import Action, send
from gpu_studio.runs.directory import RunDirectory
from gpu_studio.runs.failures.diagnosis import explain
from gpu_studio.runs.lineage import read_history
from gpu_studio.runs.reading.history import History
from gpu_studio.runs.reading.tail import Tail
from gpu_studio.runs.state import is_live, state_of
from gpu_studio.runs.stop import Patience, StopLadder

_POLL_SECONDS: Final = 0.05
_ANSWER_SECONDS: Final = 15.0


def pause(run: RunDirectory, chosen: argparse.Namespace) -> int:
    """Hold a run."""
    return _ask(run, chosen, "pause", lambda history, _: history.state == "paused", "is paused")


def resume(run: RunDirectory, chosen: argparse.Namespace) -> int:
    """Let a paused run go on; with changes, one that has ended, as a new run."""
    if chosen.plan or chosen.settings or chosen.checkpoint:
        from gpu_studio.cli.train.train_commands import resume_changed

        return resume_changed(run, chosen)
    return _ask(run, chosen, "resume", lambda history, _: history.state == "running", "goes on")


def checkpoint(run: RunDirectory, chosen: argparse.Namespace) -> int:
    """Have a run write a checkpoint."""
    return _ask(run, chosen, "checkpoint", lambda history, asked: _wrote(history, asked), "has written a checkpoint")


def stop(run: RunDirectory, chosen: argparse.Namespace) -> int:
    """Stop a run, and wait until it is gone."""
    _refuse_unless_live(run)
    ladder = StopLadder(run, now=chosen.now, patience=Patience(asked=chosen.patience))
    told = ""
    while ladder.advance() != "gone":
        if ladder.problem:
            raise RefusedError(ladder.problem)
        if ladder.said != told and not chosen.json:
            note(ladder.said)
        told = ladder.said
        time.sleep(_POLL_SECONDS)
    return _tell(run, chosen, _ended(run))


def _ended(run: RunDirectory) -> str:
    state = state_of(run)
    why = f" {explain(run).message}" if state == "lost" else ""
    return f"{run.id} has ended: {state}.{why}"


def delete(run: RunDirectory, chosen: argparse.Namespace) -> int:
    """Delete a run that has ended, and for good those deleted an hour ago."""
    catalogue.purge(run.path.parent)
    path = catalogue.delete(run)
    if chosen.json:
        say_json({"run": run.id, "trash": str(path)})
    else:
        note(f"{run.id} is deleted. Take it back with: gpu-studio runs restore {run.id}")
    return exit_codes.OK


def _ask(
    run: RunDirectory, chosen: argparse.Namespace, action: Action, done: Callable[[History, float], bool], words: str
) -> int:
    _refuse_unless_live(run)
    tail, history = Tail(run.events_file), History()
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
    if chosen.json:
        history = read_history(run)
        say_json({"run": run.id, "state": history.state, "step": history.step, "epoch": history.epoch})
    else:
        note(text)
    return exit_codes.OK


def _refuse_unless_live(run: RunDirectory) -> None:
    if not is_live(run):
        raise RefusedError(
            f"{run.id} is not training any more ({state_of(run)}). "
            f"Go on from its last checkpoint with: gpu-studio resume {run.id}"
        )
