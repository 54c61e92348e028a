"""`code allow`, `code forbid`, `code list`: which Python code of one's own may run."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from gpu_studio.cli import exit_codes
from gpu_studio.cli.code.allowing import described
from gpu_studio.cli.output import RefusedError, note, say_json, say_table
from gpu_studio.plan.references import SUFFIX
from gpu_studio.runs.allowable_folders import objection
from gpu_studio.runs.consent import (
    Allowances,
    Standing,
    allow_file,
    allow_folder,
    allowances,
    allowances_file,
    read_code,
    real_path,
    standing,
    withdraw,
)
from gpu_studio.runs.failures.nearest_file import hint

_WORDS = {Standing.ALLOWED: "may run", Standing.CHANGED: "has changed: no longer", Standing.NEW: "is gone"}


def code(chosen: argparse.Namespace) -> int:
    """Do what `chosen.action` says."""
    return {"allow": _allow, "forbid": _forbid, "list": _list}[chosen.action](chosen)


def _allow(chosen: argparse.Namespace) -> int:
    # All of them are read before the first is allowed: a mistake in the last leaves nothing half done.
    read = [(path, _read(path)) for path in chosen.paths]
    for path, held in read:
        if held is None:
            allow_folder(path)
            note(f"{real_path(path)}: all Python files in and below it may run, and do whatever you may.")
        else:
            allow_file(path, held)
            note(f"{real_path(path)}: may run as it is now ({described(path, held)}), and do whatever you may.")
    return _told(chosen)


def _read(path: Path) -> bytes | None:
    """What a Python file holds; None for a folder. Raises RefusedError."""
    if path.is_dir():
        if found := objection(path):
            raise RefusedError(f"{path} cannot be allowed as a whole: {found.reason}. {found.advice}")
        return None
    if path.suffix.lower() != SUFFIX:
        raise RefusedError(f"{path} is no Python file: name one that ends in {SUFFIX}, or a folder.")
    try:
        return read_code(path)
    except FileNotFoundError as error:
        raise RefusedError(f"There is no file {path}{hint(path.absolute()) or '.'}") from error
    except OSError as error:
        raise RefusedError(f"{path} cannot be read: {error.strerror or error}") from error


def _forbid(chosen: argparse.Namespace) -> int:
    for path in chosen.paths:
        was_allowed = withdraw(path)
        above = [folder for folder in allowances().folders if real_path(path).is_relative_to(folder)]
        if above:
            raise RefusedError(f"{path} may still run, because its folder may: gpu-studio code forbid {above[0]}")
        if not was_allowed:
            raise RefusedError(f"{path} was not allowed. See what is with: gpu-studio code list")
        note(f"{real_path(path)}: may run no longer.")
    return _told(chosen)


def _list(chosen: argparse.Namespace) -> int:
    known = _known()
    if not chosen.json:
        rows = [(each["path"], each["kind"], each["words"]) for each in _documents(known)]
        if rows:
            say_table([("PATH", "KIND", "STATE"), *rows])
        else:
            note("No Python code of your own may run. Allow some with: gpu-studio code allow models.py")
    return _told(chosen)


def _told(chosen: argparse.Namespace) -> int:
    if chosen.json:
        listed = [{key: each[key] for key in each if key != "words"} for each in _documents(_known())]
        say_json({"file": str(allowances_file()), "allowed": listed})
    return exit_codes.OK


def _known() -> Allowances:
    known = allowances()
    if known.problem:
        raise RefusedError(known.problem)
    return known


def _documents(known: Allowances) -> list[dict[str, Any]]:
    files = [_of_file(Path(path), digest) for path, digest in sorted(known.files.items())]
    return [*files, *(_of_folder(Path(path)) for path in known.folders)]


def _of_file(path: Path, digest: str) -> dict[str, Any]:
    try:
        said = standing(path, read_code(path))
    except (OSError, ValueError):  # a name that was tampered with may be none that a file can have
        said = Standing.NEW
    document = {"path": str(path), "kind": "file", "sha256": digest, "may_run": said is Standing.ALLOWED}
    return {**document, "words": _WORDS[said]}


def _of_folder(path: Path) -> dict[str, Any]:
    there = path.is_dir()
    return {"path": str(path), "kind": "folder", "may_run": there, "words": "all in it may run" if there else "is gone"}
