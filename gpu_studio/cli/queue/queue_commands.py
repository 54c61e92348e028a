"""`queue …`: plans that wait for their devices."""

from __future__ import annotations

import argparse
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gpu_studio import plan as plans
from gpu_studio.cli import exit_codes
from gpu_studio.cli.code.allowing import have_allowed
from gpu_studio.cli.machine import this_machine
from gpu_studio.cli.output import RefusedError, note, say, say_json, say_table
from gpu_studio.cli.placing.known import every_problem
from gpu_studio.cli.train.run_prediction import predicted_bytes
from gpu_studio.plan import Machine, Plan, PlanError
from gpu_studio.runs.paths import runs_dir
from gpu_studio.runs.queueing.queue import Queue
from gpu_studio.runs.queueing.queue_choice import in_words, never_fits
from gpu_studio.runs.queueing.queue_entry import FORSAKEN, Entry, Wait
from gpu_studio.runs.queueing.queue_needs import needs_of
from gpu_studio.runs.queueing.queue_process import LOG, ensure_runner
from gpu_studio.runs.queueing.queue_words import state_of
from gpu_studio.runs.relocation import with_absolute_files

_START_SECONDS = 10.0
"""A runner that was started is waited for so long: it imports a little first."""
_POLL_SECONDS = 0.05
ANYWAY = (
    "Use a smaller batch or smaller slices, or another card. If the prediction seems wrong: add the plan with --hold, "
    "and start it with: gpu-studio queue start"
)
_HEADINGS = ("ID", "PLAN", "NEEDS", "STATE")


def queue(chosen: argparse.Namespace) -> int:
    """Do what `chosen.action` says."""
    there = Queue(runs_dir(chosen.runs_dir))
    return _ACTIONS[chosen.action](there, chosen)


def _add(there: Queue, chosen: argparse.Namespace) -> int:
    machine = this_machine()
    # All of them are looked at before the first is taken: a mistake in the last leaves nothing half done.
    read = [(_checked(path, chosen, machine), path.absolute().parent) for path in chosen.plans]
    known = [predicted_bytes(plan, base, machine) for plan, base in read]
    for (plan, _), predicted in zip(read, known, strict=True):
        if not chosen.hold and (reason := never_fits(needs_of(plan, machine, predicted), machine)):
            raise RefusedError(f"{plan.name} {reason}: it would wait for ever. {ANYWAY}")
    added = [there.add(plan, base, predicted=told) for (plan, base), told in zip(read, known, strict=True)]
    if chosen.hold:
        for entry in added:
            there.hold(entry.id)
    ensure_runner(there.runs)
    if chosen.json:
        say_json([entry.id for entry in added])
    else:
        for entry in added:
            say(entry.id)
        note("They start in the background. See what they wait for with: gpu-studio queue list")
    return exit_codes.OK


def _checked(path: Path, chosen: argparse.Namespace, machine: Machine) -> Plan:
    plan, folder = plans.with_settings(plans.load(path), chosen.settings), path.absolute().parent
    have_allowed(plan, folder, allow=chosen.allow_code, may_ask=not chosen.json)
    if problems := every_problem(with_absolute_files(plan, folder), folder, machine):
        raise PlanError(problems, str(path))
    return plan


def _list(there: Queue, chosen: argparse.Namespace) -> int:
    entries, machine, forsaken = there.entries(), this_machine(), there.is_forsaken
    told = there.waits() if there.has_runner else {entry.id: Wait(FORSAKEN) for entry in entries if forsaken}
    documents = [_document(there, entry, told, machine) for entry in entries]
    if chosen.json:
        say_json(documents)
    elif not entries:
        note("The queue is empty: add a plan, with: gpu-studio queue add PLAN")
    else:
        say_table([_HEADINGS, *((each["id"], each["plan"], each["needs"], each["state"]) for each in documents)])
        if forsaken:
            note("Nobody works this queue, as after a restart of the machine. Go on with: gpu-studio queue start")
    return exit_codes.OK


def _document(there: Queue, entry: Entry, told: dict[str, Wait], machine: Machine) -> dict[str, Any]:
    wait = told.get(entry.id)
    return {
        "id": entry.id,
        "plan": entry.name,
        "added": entry.added,
        "needs": _needs(there, entry, machine),
        "held": entry.held or None,
        "waits_for": wait.text if wait and wait.since else None,
        "waits_since": wait.since if wait and wait.since else None,
        "lets_pass": entry.lets_pass,
        "state": state_of(entry, wait),
    }


def _needs(there: Queue, entry: Entry, machine: Machine) -> str:
    try:
        return in_words(needs_of(there.plan_of(entry), machine, entry.predicted))
    except PlanError:
        return "not known: its plan cannot be read"


def _change(change: Callable[[Queue, str], object], words: str) -> Callable[[Queue, argparse.Namespace], int]:
    def act(there: Queue, chosen: argparse.Namespace) -> int:
        entry = there.find(chosen.entry)
        change(there, entry.id)
        ensure_runner(there.runs)
        if chosen.json:
            say_json([each.id for each in there.entries()])
        else:
            note(f"{entry.id} {words}.")
        return exit_codes.OK

    return act


def _start(there: Queue, chosen: argparse.Namespace) -> int:
    return _start_one(there, chosen) if chosen.entry else _go_on(there, chosen)


def _go_on(there: Queue, chosen: argparse.Namespace) -> int:
    """Have the queue worked off in the background, and wait until that has begun."""
    had_runner, runner = there.has_runner, ensure_runner(there.runs)
    if runner is not None:
        _await(runner, there)
    if chosen.json:
        say_json([each.id for each in there.entries()])
    elif runner is not None:
        note("The queue is worked off in the background. See what its plans wait for with: gpu-studio queue list")
    else:
        note("The queue is being worked off already." if had_runner else "Nothing in the queue may start.")
    return exit_codes.OK


def _await(runner: subprocess.Popen[bytes], there: Queue) -> None:
    """Wait until the runner is at work, or has been. Raises RefusedError if it failed, or does not come."""
    end = time.monotonic() + _START_SECONDS
    while runner.poll() is None and not there.has_runner and time.monotonic() < end:
        time.sleep(_POLL_SECONDS)
    if runner.poll() or (runner.returncode is None and not there.has_runner):
        raise RefusedError(f"The queue is not worked off. What the process for it said stands in {there.folder / LOG}")


def _run(there: Queue, _chosen: argparse.Namespace) -> int:
    from gpu_studio.cli.queue.queue_runner import Runner

    if not Runner(there.runs, say).run():
        note("The queue is being worked off already.")
    return exit_codes.OK


_start_one = _change(Queue.start_now, "starts next")

_ACTIONS: dict[str, Callable[[Queue, argparse.Namespace], int]] = {
    "add": _add,
    "list": _list,
    "up": _change(lambda there, name: there.shift(name, -1), "comes earlier"),
    "down": _change(lambda there, name: there.shift(name, 1), "comes later"),
    "remove": _change(Queue.remove, "is out of the queue"),
    "hold": _change(Queue.hold, "is held"),
    "release": _change(Queue.release, "may start"),
    "let-pass": _change(Queue.let_pass, "lets others pass"),
    "keep": _change(Queue.keep, "has what it waits for kept for it"),
    "start": _start,
    "run": _run,
}
