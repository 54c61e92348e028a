"""`code allow`, `code forbid`, `code list`: which of the user's own Python code may run."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpu_studio.cli.command import (
    OK,
    Commands,
    RefusedError,
    add_command,
    add_group,
    add_json,
    note,
    say_json,
    say_table,
    typed,
)

if TYPE_CHECKING:
    from gpu_studio.contract.consent import Allowances

_SUMMARY = "say which Python code of one's own may run"
_EXAMPLES = """\
A plan may name functions in Python files: [model] python = "models.py:build_model",
[data] python = "data.py:load" and [[training.callbacks]] name = "callbacks.py:make". Such a file
may do whatever you may, so nothing of it runs before you have allowed it. A file is allowed as it
is, until it changes; a folder with all that is in and below it, whatever changes.

examples:
  gpu-studio code allow models.py
  gpu-studio code allow ~/experiments       as long as you write all code there yourself
  gpu-studio code forbid models.py
  gpu-studio code list"""


def register(commands: Commands) -> None:
    """Add the command and its actions."""
    actions = add_group(commands, "code", _SUMMARY, _EXAMPLES)
    for name, summary, handler in (
        (
            "allow",
            "allow Python files as they are now, or folders with all that will ever be in them",
            _allow,
        ),
        ("forbid", "allow files, folders or lines of shell no longer", _forbid),
    ):
        action = add_command(
            actions, name, summary, f"example:\n  gpu-studio code {name} models.py", handler
        )
        forbids = handler is _forbid
        action.add_argument(
            "paths",
            metavar="PATH",
            nargs="*" if forbids else "+",
            type=Path,
            help="a Python file, or a folder",
        )
        if forbids:
            action.add_argument(
                "--shell", action="store_true", help="all lines of shell that plans give Slurm"
            )
        add_json(action)
    add_json(
        add_command(
            actions,
            "list",
            "list what is allowed",
            "example:\n  gpu-studio code list --json",
            _list,
        )
    )


def _allow(chosen: argparse.Namespace) -> int:
    from gpu_studio.cli.given_plan import described
    from gpu_studio.common.paths import real_path
    from gpu_studio.contract.consent import allow_file, allow_folder

    # All of them are read before the first is allowed: a mistake in the last leaves nothing half
    # done.
    read = [(path, _read(path)) for path in chosen.paths]
    for path, held in read:
        if held is None:
            allow_folder(path)
            note(
                f"{real_path(path)}: all Python files in and below it may "
                "run, and do whatever you may."
            )
        else:
            allow_file(path, held)
            note(
                f"{real_path(path)}: may run as it is now ({described(path, held)}), "
                "and do whatever you may."
            )
    return _reported(chosen)


def _read(path: Path) -> bytes | None:
    """What a Python file holds; None for a folder. Raises RefusedError."""
    from gpu_studio.contract.user_files import hint
    from gpu_studio.plan.local_modules import read_code
    from gpu_studio.plan.references import SUFFIX
    from gpu_studio.runs.sources import objection

    if path.is_dir():
        if found := objection(path):
            raise RefusedError(
                f"{path} cannot be allowed as a whole: {found.reason}. {found.advice}"
            )
        return None
    if path.suffix.lower() != SUFFIX:
        raise RefusedError(
            f"{path} is no Python file: name one that ends in {SUFFIX}, or a folder."
        )
    try:
        return read_code(path)
    except FileNotFoundError as error:
        raise RefusedError(f"There is no file {path}{hint(path.absolute()) or '.'}") from error
    except OSError as error:
        raise RefusedError(f"{path} cannot be read: {error.strerror or error}") from error


def _forbid(chosen: argparse.Namespace) -> int:
    from gpu_studio.common.paths import real_path
    from gpu_studio.contract.consent import allowances, withdraw, withdraw_shell

    if not chosen.paths and not chosen.shell:
        raise RefusedError("Name what is to be forbidden: a Python file, a folder, or --shell.")
    if chosen.shell:
        note(f"{_shell_words(withdraw_shell())}: may run no longer.")
    for path in chosen.paths:
        was_allowed = withdraw(path)
        above = [
            folder for folder in allowances().folders if real_path(path).is_relative_to(folder)
        ]
        if above:
            raise RefusedError(
                f"{path} may still run, because its folder may: {typed('code', 'forbid', above[0])}"
            )
        if not was_allowed:
            raise RefusedError(f"{path} was not allowed. See what is with: gpu-studio code list")
        note(f"{real_path(path)}: may run no longer.")
    return _reported(chosen)


def _list(chosen: argparse.Namespace) -> int:
    known = _known()
    if not chosen.json:
        rows = [(each["path"], each["kind"], each["words"]) for each in _documents(known)]
        if rows:
            say_table([("PATH", "KIND", "STATE"), *rows])
        if known.shell:
            allowed = _shell_words(len(known.shell))
            note(f"{allowed}, may run. To forbid them: gpu-studio code forbid --shell")
        if not rows and not known.shell:
            note(
                "No Python code of your own may run. Allow some with: "
                "gpu-studio code allow models.py"
            )
    return _reported(chosen)


def _reported(chosen: argparse.Namespace) -> int:
    from gpu_studio.contract.consent import allowances_file

    if chosen.json:
        listed = [
            {key: each[key] for key in each if key != "words"} for each in _documents(_known())
        ]
        shell = list(_known().shell)
        say_json({"file": str(allowances_file()), "allowed": listed, "shell": shell})
    return OK


def _shell_words(plans: int) -> str:
    from gpu_studio.common.figures import plural

    return f"Lines of shell for Slurm, of {plural(plans, 'plan')}"


def _known() -> Allowances:
    from gpu_studio.contract.consent import allowances

    known = allowances()
    if known.problem:
        raise RefusedError(known.problem)
    return known


def _documents(known: Allowances) -> list[dict[str, Any]]:
    files = [_of_file(Path(path), digest) for path, digest in sorted(known.files.items())]
    return [*files, *(_of_folder(Path(path)) for path in known.folders)]


def _of_file(path: Path, digest: str) -> dict[str, Any]:
    from gpu_studio.contract.consent import Standing, standing
    from gpu_studio.plan.local_modules import read_code

    try:
        said = standing(path, read_code(path))
    except (OSError, ValueError):  # a name that was tampered with may be none that a file can have
        said = Standing.NEW
    words = {
        Standing.ALLOWED: "may run",
        Standing.CHANGED: "has changed: no longer",
        Standing.NEW: "is gone",
    }[said]
    document = {
        "path": str(path),
        "kind": "file",
        "sha256": digest,
        "may_run": said is Standing.ALLOWED,
    }
    return {**document, "words": words}


def _of_folder(path: Path) -> dict[str, Any]:
    there = path.is_dir()
    return {
        "path": str(path),
        "kind": "folder",
        "may_run": there,
        "words": "all in it may run" if there else "is gone",
    }
