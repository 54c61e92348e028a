"""The last gate before the user's code: it is read once, and runs only as its user has allowed it.

Whatever the window, the command line or the queue have asked before, the decision is made here, for
exactly the bytes that are compiled.
"""

from __future__ import annotations

import shlex
import warnings
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Literal

from gpu_studio.contract.code_reading import syntax_problem
from gpu_studio.contract.consent import Standing, allowances, digest, read_code, real_path, standing
from gpu_studio.contract.nearest_file import hint
from gpu_studio.trainer.errors import UserCodeError

Part = Literal["model", "data"]
_admitted: dict[Path, Admitted] = {}
"""By the paths asked for and by their real ones.

What this process has read once, it does not read again.

A link may lead elsewhere by then, as may the file be another.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Admitted:
    """A file that may run: its real path, its contents, their SHA-256, and the compiled code."""

    path: Path
    text: bytes
    sha256: str
    code: CodeType


def admit(path: Path) -> Admitted:
    """Read and compile the file at `path` if its user has allowed it.

    Nothing of it is run. Raises UserCodeError.
    """
    asked = path.absolute()
    if asked not in _admitted:
        real = real_path(asked)
        _admitted[asked] = _admitted[real] = _admitted.get(real) or _read(path, real)
    return _admitted[asked]


def _read(path: Path, real: Path) -> Admitted:
    try:
        text = read_code(real)
    except FileNotFoundError as error:
        advice = ["Put it back there, or name another in the plan; it is relative to the plan."]
        raise UserCodeError(f"There is no Python file {path}{hint(path) or '.'}", advice) from error
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise UserCodeError(
            f"{path} cannot be read: {why}.", ["Look whether it may be read."]
        ) from error
    said = standing(real, text)
    if said is not Standing.ALLOWED:
        raise _not_allowed(path, said)
    return Admitted(real, text, digest(text), _compiled(path, real, text))


def _not_allowed(path: Path, said: Standing) -> UserCodeError:
    advice = [f"Read it, then allow it with: gpu-studio code allow {shlex.quote(str(path))}"]
    if problem := allowances().problem:
        return UserCodeError(f"{path.name} may not run: {problem}", advice)
    if said is Standing.CHANGED:
        return UserCodeError(
            f"{path.name} has changed since it was allowed, so nothing of it was run.", advice
        )
    return UserCodeError(f"{path.name} has not been allowed, so nothing of it was run.", advice)


def _compiled(path: Path, real: Path, text: bytes) -> CodeType:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the file's own style
            return compile(text, str(real), "exec", dont_inherit=True)
    except SyntaxError as error:
        advice = [f"Mend {path.name}, line {error.lineno or 1}, and allow it again."]
        raise UserCodeError(f"{path.name}: {syntax_problem(error)}.", advice) from error
    except (ValueError, RecursionError, MemoryError) as error:
        why = f"{error}" or type(error).__name__
        raise UserCodeError(
            f"{path.name} is no Python that can be compiled: {why}.", [f"Mend {path.name}."]
        ) from error
