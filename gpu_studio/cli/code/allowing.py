"""The user's word on the Python code of a plan, before anything of it runs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from gpu_studio.cli.output import RefusedError, escaped, note
from gpu_studio.plan import Plan
from gpu_studio.plan.problems import listed
from gpu_studio.runs.consent import Standing, allow_file, read_code
from gpu_studio.runs.sources import consent_needed


class _Needed(NamedTuple):
    """A file that its user must allow, and what it holds while he is asked."""

    path: Path
    standing: Standing
    code: bytes


def have_allowed(plan: Plan, base: Path, *, allow: bool, may_ask: bool = True) -> None:
    """Allow the Python files of `plan` as they are, if `allow` says so, or else the user at the terminal.

    Relative files start at `base`. What is not allowed stays a problem of the plan, by which it is refused. Raises
    RefusedError if it cannot be written down.
    """
    needed = [_Needed(path, said, _read(path)) for path, said in consent_needed(plan, base)]
    if needed and (allow or (may_ask and _is_terminal() and _says_yes(needed))):
        for each in needed:
            _allow(each)


def described(path: Path, code: bytes) -> str:
    """Its size, and when it was changed last: `1,204 bytes, changed 2026-11-22 10:15`."""
    changed = datetime.fromtimestamp(path.stat().st_mtime, UTC).astimezone()
    return f"{len(code):,} bytes, changed {changed:%Y-%m-%d %H:%M}"


def _is_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def _read(path: Path) -> bytes:
    try:
        return read_code(path)
    except OSError as error:
        raise _cannot_be_allowed(path, error) from error


def _allow(needed: _Needed) -> None:
    try:
        allow_file(needed.path, needed.code)
    except OSError as error:
        raise _cannot_be_allowed(needed.path, error) from error
    note(f"{needed.path} is allowed, as it is now: {described(needed.path, needed.code)}.")


def _cannot_be_allowed(path: Path, error: OSError) -> RefusedError:
    return RefusedError(f"{path} cannot be allowed: {error.strerror or error}")


def _says_yes(needed: Sequence[_Needed]) -> bool:
    """Ask once for all: who says yes to the file that the plan names must say so to what that file imports."""
    for each in needed:
        changed = each.standing is Standing.CHANGED
        been = "It has changed since you allowed it." if changed else "Nothing of it has been run yet."
        note(f"The plan runs code from {each.path}. {been} It may do whatever you may.")
    names = listed(f"{each.path.name} ({described(each.path, each.code)})" for each in needed)
    sys.stderr.write(escaped(f"Allow {names} to run? [y/N] "))
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")
