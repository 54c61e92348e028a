"""The plan given to a command, with the machine to check it against, consent, and known facts."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from gpu_studio import hardware
from gpu_studio import plan as plans
from gpu_studio.cli.command import RefusedError, escaped, note
from gpu_studio.common.safe_files import read_regular
from gpu_studio.contract import RunDirectory
from gpu_studio.contract.consent import Standing, allow_file, allowances_file
from gpu_studio.hardware.asking import COMMAND, WITH_USERS
from gpu_studio.placement.cautions import values_as_ids
from gpu_studio.placement.known_problems import known_problems
from gpu_studio.placement.memory import predict
from gpu_studio.placement.plan_facts import PlanFacts, decoded
from gpu_studio.plan import AbsolutePlan, Machine, listed
from gpu_studio.plan.local_modules import read_code
from gpu_studio.runs.launch import problems_of
from gpu_studio.runs.questions.ask import AskError
from gpu_studio.runs.questions.plan_question import ask_about, kept_about, kept_about_data
from gpu_studio.runs.results import prediction
from gpu_studio.runs.sources import consent_needed, fits_left, trained_on_import

LARGEST_BYTES = 4 * 1024 * 1024
"""A hundred cards take some ten KiB."""


class GivenPlan(NamedTuple):
    """A plan with its settings applied, and the machine that it was checked against.

    The plan is there as `written`, and with its files named absolutely.
    """

    written: plans.Plan
    plan: AbsolutePlan
    machine: Machine


def sound_plan(chosen: argparse.Namespace, *, users: bool = False) -> GivenPlan:
    """Read the plan file that is named, have its code allowed, and see that it can be run.

    With `users` the machine is also asked who holds the memory of its cards. Raises PlanError,
    RefusedError, OSError.
    """
    machine = described_machine(chosen.machine) if chosen.machine else this_machine(users=users)
    written = plans.with_settings(plans.load(chosen.plan, chosen.fit), chosen.settings)
    plan = plans.with_absolute_files(written, chosen.plan.parent)
    have_allowed(plan, allow=chosen.allow_code, may_ask=not chosen.json)
    if problems := problems_of(written, plan, machine):
        raise plans.PlanError(problems, str(chosen.plan))
    for each in trained_on_import(plan):
        note(f"{each.text} {each.why}")
    return GivenPlan(written, plan, machine)


def asked_facts(plan: AbsolutePlan) -> PlanFacts:
    """What TensorFlow says of a plan, asked for if it is not remembered. Raises RefusedError."""
    try:
        return decoded(ask_about(plan, progress=waiting, trains=True))
    except AskError as error:
        raise RefusedError(f"TensorFlow did not tell of the model: {error}") from error


def waiting(text: str) -> None:
    """Say what is waited for."""
    note(f"{text}…")


def this_machine(*, users: bool = False) -> Machine:
    """Ask this machine what it has; with `users`, also who holds the memory of its cards."""
    return hardware.inventory(command=WITH_USERS if users else COMMAND)


def described_machine(path: Path) -> Machine:
    """Read a machine from a file as `python -m gpu_studio.hardware` writes it.

    Raises RefusedError for what is no such file, OSError if it cannot be read.
    """
    try:
        found = hardware.parse_inventory(
            read_regular(path, LARGEST_BYTES, follow=True).decode("utf-8")
        )
    except (ValueError, RecursionError) as error:
        raise RefusedError(f"{path} describes no machine: {error}") from error
    if found == Machine():
        raise RefusedError(f"{path} describes no machine: it tells of no cards and of no CPU")
    return found


class _Needed(NamedTuple):
    """A file that its user must allow, and what it holds while he is asked."""

    path: Path
    standing: Standing
    code: bytes


def have_allowed(plan: AbsolutePlan, *, allow: bool, may_ask: bool = True) -> None:
    """Allow the Python files of `plan` as they are, if `allow` or the user at the terminal says so.

    With `may_ask` the user is asked where `allow` is not set. What is not allowed remains a problem
    of the plan, and the plan is then refused. Raises RefusedError if the answer cannot be saved.
    """
    needed = [_Needed(path, said, _read(path)) for path, said in consent_needed(plan)]
    if needed and (allow or (may_ask and _is_terminal() and _says_yes(needed))):
        for each in needed:
            _allow(each)


def described(path: Path, code: bytes) -> str:
    """Its size and modification time: `1,204 bytes, changed 2026-11-22 10:15`."""
    from gpu_studio.common.figures import dated, grouped

    changed = dated(path.stat().st_mtime, "%Y-%m-%d %H:%M")
    return f"{grouped(len(code))} bytes, changed {changed}"


def _is_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def _read(path: Path) -> bytes:
    try:
        return read_code(path)
    except OSError as error:
        raise RefusedError(f"{path} cannot be read: {error.strerror or error}") from error


def _allow(needed: _Needed) -> None:
    try:
        allow_file(needed.path, needed.code)
    except OSError as error:
        raise RefusedError(
            f"{needed.path} is not allowed, as {allowances_file()} cannot be written: "
            f"{error.strerror or error}"
        ) from error
    note(f"{needed.path} is allowed, as it is now: {described(needed.path, needed.code)}.")


def _says_yes(needed: Sequence[_Needed]) -> bool:
    """Ask once for all: a yes to the plan's file is a yes to what that file imports."""
    for each in needed:
        changed = each.standing is Standing.CHANGED
        been = (
            "It has changed since you allowed it." if changed else "Nothing of it has been run yet."
        )
        note(f"The plan runs code from {each.path}. {been} It may do whatever you may.")
    names = listed(f"{each.path.name} ({described(each.path, each.code)})" for each in needed)
    sys.stderr.write(escaped(f"Allow {names} to run? [y/N] "))
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def every_problem(
    written: plans.Plan, plan: AbsolutePlan, machine: plans.Machine
) -> tuple[plans.Problem, ...]:
    """All that keeps `plan` from being run, also what its data and model are known to have.

    What they are about is called as in the plan as `written`.
    """
    # Answers of another version are none.
    with suppress(ValueError):
        # A model that was refused has no answer, which may be because of its data.
        if (kept := kept_about(plan) or kept_about_data(plan)) is not None:
            facts = decoded(kept)
            whole = facts.completed(written)
            found = tuple(problems_of(whole, plan, machine))
            return (*found, *known_problems(whole, facts, found, machine))
    return tuple(problems_of(written, plan, machine))


def keep_prediction(run: RunDirectory, machine: plans.Machine) -> None:
    """Store the predicted memory and time of a step beside the run, from cached answers only.

    The trainer is running meanwhile, so nothing waits for this.
    """
    # The plan of a run that is gone already is no reason to say anything.
    with suppress(plans.PlanError):
        prediction.write(run, predicted(run.load_plan(), machine))


def predicted(plan: AbsolutePlan, machine: plans.Machine) -> prediction.Prediction:
    """The predicted memory of a step of `plan` on each logical device, from cached answers.

    Else none.
    """
    # Answers of another version are none.
    with suppress(ValueError):
        if (answer := kept_about(plan)) is not None:
            facts = decoded(answer)
            return prediction.of_memories(predict(facts.completed(plan), machine, facts))
    return prediction.Prediction()


def odd_things(written: plans.Plan, plan: AbsolutePlan) -> list[str]:
    """What is odd about code and data: what trains on import, or again; numbers that are no ids.

    What the data hold is known from cached answers only.
    """
    found = [*trained_on_import(plan), *fits_left(plan)]
    with suppress(ValueError):
        if (answer := kept_about(plan)) is not None:
            found += values_as_ids(written, decoded(answer))
    return [f"{each.text} {each.why}" for each in found]
