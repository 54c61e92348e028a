"""`queue …`: manage plans that wait for their devices."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from gpu_studio.cli.command import (
    OK,
    Commands,
    RefusedError,
    add_allowing,
    add_command,
    add_fit,
    add_group,
    add_json,
    add_set,
    note,
    runs_folder,
    say,
    say_json,
    say_table,
)

if TYPE_CHECKING:
    import subprocess

    from gpu_studio.plan import AbsolutePlan, Machine
    from gpu_studio.runs.queue import Queue
    from gpu_studio.runs.queue_entry import QueueEntry, Wait

_SUMMARY = "have plans wait for their devices, and train one after another"
_EXAMPLES = """\
A plan starts when each card it names has the memory it needs free, one of the queue at a time on a
card; one that trains on CPUs starts when no other run is alive. What a plan waits for is kept for
it: those behind it start only on other cards, unless it lets others pass. It needs all of its
slices, for TensorFlow takes them whole; of a card without slices what `gpu-studio model` predicted,
if it was asked, or else nearly all. A process in the background starts them: it needs neither the
window nor this terminal.

examples:
  gpu-studio queue add a.plan.toml b.plan.toml --set training.epochs=20
  gpu-studio queue list
  gpu-studio queue up b-3f21
  gpu-studio queue let-pass b-3f21      others may start on its cards while it waits
  gpu-studio queue start b-3f21         whatever is free
  gpu-studio queue start                go on with the whole queue after a restart of the machine"""
_ADD: Final = "example:\n  gpu-studio queue add a.plan.toml"
_START: Final = """\
Without an entry, the process that works the queue off is started if it is gone, as after a restart
of the machine. With one, that entry is started now, whatever is free.

examples:
  gpu-studio queue start
  gpu-studio queue start digits-3f21"""
_ENTRY_HELP: Final = "the entry: its id, or a part of it that no other entry has"
_START_SECONDS = 60.0
"""A runner that was started is waited for so long: it imports a little first, and others may have
the cores. One that ends is not."""
_POLL_SECONDS = 0.05
ANYWAY = (
    "Use a smaller batch or smaller slices, or another card. If the prediction seems wrong: add "
    "the plan with --hold, and start it with: gpu-studio queue start"
)
_HEADINGS = ("ID", "PLAN", "NEEDS", "STATE")
_CHANGES: Final[dict[str, tuple[str, str, Callable[[Queue, str], object]]]] = {
    "up": (
        "have an entry come one place earlier",
        "comes earlier",
        lambda there, entry: there.shift(entry, -1),
    ),
    "down": (
        "have an entry come one place later",
        "comes later",
        lambda there, entry: there.shift(entry, 1),
    ),
    "remove": (
        "take an entry out",
        "is out of the queue",
        lambda there, entry: there.remove(entry),
    ),
    "hold": (
        "have an entry stay until it is released",
        "is held",
        lambda there, entry: there.hold(entry),
    ),
    "release": (
        "let a held entry start when its devices have the memory",
        "may start",
        lambda there, entry: there.release(entry),
    ),
    "let-pass": (
        "let those behind an entry start on the cards that it waits for",
        "lets others pass",
        lambda there, entry: there.let_pass(entry),
    ),
    "keep": (
        "have the cards that an entry waits for kept for it again",
        "has what it waits for kept for it",
        lambda there, entry: there.keep(entry),
    ),
}
"""What can be done to one entry: the summary, what is said once it is done, and how."""


def register(commands: Commands) -> None:
    """Add the command and its actions."""
    actions = add_group(commands, "queue", _SUMMARY, _EXAMPLES)
    add = add_command(actions, "add", "put plans at the end of the queue", _ADD, _add, trains=True)
    add.add_argument("plans", metavar="PLAN", nargs="+", type=Path, help="the plan files")
    add.add_argument("--hold", action="store_true", help="have them stay until they are released")
    add_allowing(add)
    add_fit(add)
    add_set(add)
    add_json(add)
    listing = "example:\n  gpu-studio queue list --json"
    add_json(add_command(actions, "list", "list what waits, and for what", listing, _list))
    for name, (summary, _, _) in _CHANGES.items():
        one = add_command(
            actions, name, summary, f"example:\n  gpu-studio queue {name} digits-3f21", _change_one
        )
        one.add_argument("entry", metavar="ID", help=_ENTRY_HELP)
        add_json(one)
    summary = "resume the queue, or start an entry now, whatever is free"
    start = add_command(actions, "start", summary, _START, _start, trains=True)
    start.add_argument("entry", metavar="ID", nargs="?", help=_ENTRY_HELP)
    add_json(start)
    summary = "work the queue off here, until nothing may start"
    add_command(actions, "run", summary, "example:\n  gpu-studio queue run", _run, trains=True)


def _add(chosen: argparse.Namespace) -> int:
    from gpu_studio.cli.given_plan import predicted, this_machine
    from gpu_studio.runs.queue import Queue, ensure_runner
    from gpu_studio.runs.queue_choice import needs_of, never_fits

    there = Queue(runs_folder(chosen))
    machine = this_machine()
    # All of them are looked at before the first is taken: a mistake in the last leaves nothing half
    # done.
    read = [_checked(path, chosen, machine) for path in chosen.plans]
    known = [predicted(plan, machine) for plan in read]
    for plan, found in zip(read, known, strict=True):
        if not chosen.hold and (
            reason := never_fits(needs_of(plan, machine, found.bytes), machine)
        ):
            raise RefusedError(f"{plan.name} {reason}: it would wait for ever. {ANYWAY}")
    added = [
        there.add(
            plan,
            path.absolute().parent,
            predicted=reported.bytes,
            incomplete=reported.incomplete,
            bounds=reported.bounds,
        )
        for plan, path, reported in zip(read, chosen.plans, known, strict=True)
    ]
    if chosen.hold:
        for entry in added:
            there.hold(entry.id)
    ensure_runner(there.runs)
    if chosen.json:
        say_json([entry.id for entry in added])
    else:
        for entry in added:
            say(entry.id)
        note(_what_follows(there.runs, [entry.id for entry in added], held=chosen.hold))
    return OK


def _what_follows(runs: Path, ids: Sequence[str], *, held: bool) -> str:
    from gpu_studio.runs.paths import command_in

    they, wait, start = (
        ("It", "it waits", "starts") if len(ids) == 1 else ("They", "they wait", "start")
    )
    if held:
        release = command_in(runs, f"queue release {ids[0] if len(ids) == 1 else 'ID'}")
        return f"{they} {start} once released, with: {release}"
    look = command_in(runs, "queue list")
    return f"{they} {start} in the background. See what {wait} for with: {look}"


def _checked(path: Path, chosen: argparse.Namespace, machine: Machine) -> AbsolutePlan:
    from gpu_studio import plan as plans
    from gpu_studio.cli.given_plan import every_problem, have_allowed
    from gpu_studio.plan import PlanError

    written = plans.with_settings(plans.load(path, chosen.fit), chosen.settings)
    plan = plans.with_absolute_files(written, path.parent)
    have_allowed(plan, allow=chosen.allow_code, may_ask=not chosen.json)
    if problems := every_problem(written, plan, machine):
        raise PlanError(problems, str(path))
    return plan


def _list(chosen: argparse.Namespace) -> int:
    from gpu_studio.cli.given_plan import this_machine
    from gpu_studio.runs.paths import command_in
    from gpu_studio.runs.queue import Queue, empty
    from gpu_studio.runs.queue_entry import FORSAKEN, Wait

    there = Queue(runs_folder(chosen))
    machine = this_machine()  # which takes a while, in which an entry may be taken
    entries, forsaken = there.entries(), there.is_forsaken
    reported = (
        there.waits()
        if there.has_runner
        else {entry.id: Wait(FORSAKEN) for entry in entries if forsaken}
    )
    documents = [_document(there, entry, reported, machine) for entry in entries]
    if chosen.json:
        say_json(documents)
    elif not entries:
        note(empty(there.runs))
    else:
        say_table(
            [
                _HEADINGS,
                *((each["id"], each["plan"], each["needs"], each["state"]) for each in documents),
            ]
        )
        if forsaken:
            note(
                "No process works this queue, perhaps since a restart. Continue "
                f"with: {command_in(there.runs, 'queue start')}"
            )
    return OK


def _document(
    there: Queue, entry: QueueEntry, reported: dict[str, Wait], machine: Machine
) -> dict[str, Any]:
    from gpu_studio.runs.queue_entry import state_of

    wait = reported.get(entry.id)
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


def _needs(there: Queue, entry: QueueEntry, machine: Machine) -> str:
    from gpu_studio.plan import PlanError
    from gpu_studio.runs.queue_choice import in_words, needs_of

    try:
        return in_words(needs_of(there.plan_of(entry), machine, entry.predicted))
    except PlanError:
        return "not known: its plan cannot be read"


def _change_one(chosen: argparse.Namespace) -> int:
    _, words, change = _CHANGES[chosen.action]
    return _change(chosen, words, change)


def _change(chosen: argparse.Namespace, words: str, change: Callable[[Queue, str], object]) -> int:
    from gpu_studio.runs.queue import Queue, ensure_runner

    there = Queue(runs_folder(chosen))
    entry = there.find(chosen.entry)
    change(there, entry.id)
    ensure_runner(there.runs)
    if chosen.json:
        say_json([each.id for each in there.entries()])
    else:
        note(f"{entry.id} {words}.")
    return OK


def _start(chosen: argparse.Namespace) -> int:
    if not chosen.entry:
        return _go_on(chosen)
    return _change(chosen, "starts next", lambda there, entry: there.start_now(entry))


def _go_on(chosen: argparse.Namespace) -> int:
    from gpu_studio.runs.paths import command_in
    from gpu_studio.runs.queue import Queue, ensure_runner

    there = Queue(runs_folder(chosen))
    """Have the queue worked off in the background, and wait until that has begun."""
    had_runner, runner = there.has_runner, ensure_runner(there.runs)
    if runner is not None:
        _await(runner, there)
    if chosen.json:
        say_json([each.id for each in there.entries()])
    elif runner is not None:
        note(
            "The queue is worked off in the background. See what its plans wait for with: "
            f"{command_in(there.runs, 'queue list')}"
        )
    else:
        note(
            "The queue is being worked off already."
            if had_runner
            else "Nothing in the queue may start."
        )
    return OK


def _await(runner: subprocess.Popen[bytes], there: Queue) -> None:
    """Wait until the runner is at work, or has been.

    Raises RefusedError if it failed, or does not come.
    """
    from gpu_studio.runs.queue import LOG

    end = time.monotonic() + _START_SECONDS
    while runner.poll() is None and not there.has_runner and time.monotonic() < end:
        time.sleep(_POLL_SECONDS)
    if runner.poll() or (runner.returncode is None and not there.has_runner):
        raise RefusedError(
            "The queue is not worked off. What the process for it said stands in "
            f"{there.folder / LOG}"
        )


def _run(chosen: argparse.Namespace) -> int:
    from gpu_studio.cli.queue_runner import Runner

    if not Runner(runs_folder(chosen), say).run():
        note("The queue is being worked off already.")
    return OK
