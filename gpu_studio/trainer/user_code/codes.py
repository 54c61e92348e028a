"""Which code of the user's own a plan runs, and how a change of it is recognised."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from gpu_studio.common.user_paths import expanded
from gpu_studio.contract.events import Code
from gpu_studio.contract.own_modules import modules_beside
from gpu_studio.plan import Plan
from gpu_studio.plan.references import Reference, reference
from gpu_studio.trainer.user_code.gate import Admitted, Part, admit
from gpu_studio.trainer.user_code.importing import executed


def codes_of(plan: Plan, base: Path) -> list[Code]:
    """Return the files that `plan` names and those that they import.

    Relative files start at `base`.

    Only imports from the files' own folders count. Raises UserCodeError if one of them may not run,
    before any other has.
    """
    return [code for part, named in _references(plan) for code in _codes(part, named, base)]


def codes_imported_by_name(plan: Plan, base: Path) -> list[Code]:
    """Return the files in the plan's folders that ran although reading the code did not show it.

    Their names were built while the code ran.
    """
    as_user_error = {code.file for code in codes_of(plan, base)}
    found = []
    for part, named in _references(plan):
        folder = _file_of(named, base).path.parent
        codes = [_code(part, admit(file)) for file in executed if file.is_relative_to(folder)]
        found += [code for code in codes if code.file not in as_user_error]
        as_user_error.update(code.file for code in codes)
    return found


def digest_of_part(plan: Plan, part: Part) -> str | None:
    """Return the SHA-256 in hex of the code behind a part of the plan; None if there is none.

    The plan's files are absolute. For a file that imports nothing from its folder, it is the file's
    own digest.
    """
    digests = [code.sha256 for code in codes_of(plan, Path()) if code.part == part]
    if len(digests) < 2:
        return next(iter(digests), None)
    return hashlib.sha256("\n".join(digests).encode()).hexdigest()


def _references(plan: Plan) -> Iterator[tuple[Part, Reference]]:
    parts: tuple[tuple[Part, str | None], ...] = (
        ("model", plan.model.python),
        ("data", plan.data.python),
    )
    for part, text in parts:
        if text and (named := reference(text)):
            yield part, named


def _codes(part: Part, named: Reference, base: Path) -> Iterator[Code]:
    file = _file_of(named, base)
    yield _code(part, file, named.function)
    yield from (_code(part, admit(module)) for module in _modules_of(file.path))


@lru_cache
def _modules_of(file: Path) -> tuple[Path, ...]:
    """Return the modules that `file` imports, as it was when this process first read it.

    These are what runs: the user may edit the file while the run goes on, and a checkpoint asks
    again.
    """
    return tuple(modules_beside(file))


def _file_of(named: Reference, base: Path) -> Admitted:
    return admit(base / expanded(named.file))


def _code(part: Part, file: Admitted, function: str = "") -> Code:
    return Code(part=part, file=str(file.path), function=function, sha256=file.sha256)
