"""The user's word on the Python code of a plan, before anything of it runs."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path

from gpu_studio.cli.output import RefusedError, escaped, note
from gpu_studio.plan import Plan
from gpu_studio.runs.consent import Standing, allow_file, read_code
from gpu_studio.runs.sources import consent_needed


def have_allowed(plan: Plan, base: Path, *, allow: bool, may_ask: bool = True) -> None:
    """Allow the Python files of `plan` as they are, if `allow` says so, or else the user at the terminal.

    Relative files start at `base`. What is not allowed stays a problem of the plan, by which it is refused. Raises
    RefusedError if it cannot be written down.
    """
    for path, said in consent_needed(plan, base):
        try:
            code = read_code(path)
            if allow or (may_ask and _is_terminal() and _says_yes(path, said, code)):
                allow_file(path, code)
                note(f"{path} is allowed, as it is now: {described(path, code)}.")
        except OSError as error:
            raise RefusedError(f"{path} cannot be allowed: {error.strerror or error}") from error


def described(path: Path, code: bytes) -> str:
    """Its size, and when it was changed last: `1,204 bytes, changed 2026-11-22 10:15`."""
    changed = datetime.fromtimestamp(path.stat().st_mtime, UTC).astimezone()
    return f"{len(code):,} bytes, changed {changed:%Y-%m-%d %H:%M}"


def _is_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def _says_yes(path: Path, said: Standing, code: bytes) -> bool:
    been = "It has changed since you allowed it." if said is Standing.CHANGED else "Nothing of it has been run yet."
    note(f"The plan runs code from {path}. {been} It may do whatever you may.")
    sys.stderr.write(escaped(f"Allow {path.name} ({described(path, code)}) to run? [y/N] "))
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")
