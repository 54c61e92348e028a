"""The admission of the user's code: it is read once, and runs only as its user has allowed it.

Whatever the window, the command line or the queue have asked before, the decision is made here,
for exactly the bytes that are compiled. It holds for the files that a plan names, and for what
they import from their own folders. A change of them is recognised.
"""

from __future__ import annotations

import hashlib
import linecache
import os
import shlex
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.abc import MetaPathFinder
from importlib.machinery import ExtensionFileLoader, ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

from gpu_studio.common.paths import expanded, real_path
from gpu_studio.contract import Code
from gpu_studio.contract.consent import Standing, allowances, digest, standing
from gpu_studio.contract.user_files import hint, syntax_problem
from gpu_studio.plan import Part, Plan, Reference, part_of, reference, references_of
from gpu_studio.plan.local_modules import code_folder, modules_beside, package_of, read_code
from gpu_studio.trainer.errors import UserCodeError
from gpu_studio.trainer.user_code.leaving import compiled

_admitted: dict[Path, Admitted] = {}
"""By the paths asked for and by the real ones: this process reads a file only once.

By a second time a link might lead elsewhere, or the file be another.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Admitted:
    """A file that may run: its real path, its contents, their SHA-256, and the compiled code.

    What it imports is searched from `folder` on.
    """

    path: Path
    text: bytes
    sha256: str
    code: CodeType
    folder: Path

    def started(self) -> CodeType:
        """Return the code as it is executed by itself, and not as a module that is imported."""
        package = package_of(self.path, self.folder)
        return compiled(self.text, str(self.path), package) if package else self.code

    def show_lines(self) -> None:
        """Let a traceback show the lines that ran, whatever the file holds by then."""
        lines = self.text.decode("utf-8", "replace").splitlines(keepends=True)
        linecache.cache[str(self.path)] = (len(self.text), None, lines, str(self.path))


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
    code = _compiled(path, real, text)
    return Admitted(real, text, digest(text), code, code_folder(real, text))


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
            return compiled(text, str(real))
    except SyntaxError as error:
        advice = [f"Mend {path.name}, line {error.lineno or 1}, and allow it again."]
        raise UserCodeError(f"{path.name}: {syntax_problem(error)}.", advice) from error
    except (ValueError, RecursionError, MemoryError) as error:
        why = f"{error}" or type(error).__name__
        raise UserCodeError(
            f"{path.name}: it is no Python: {why}.", [f"Mend {path.name}."]
        ) from error


_THIS_PACKAGE = real_path(Path(__file__)).parents[2]


class OwnFolders:
    """The folders of the user's own code, without what is installed below them.

    Installed code is what Python would import anyway: a virtual environment in the folder, or
    Python itself where the folder is the user's home.
    """

    def __init__(self) -> None:
        self._folders: dict[Path, tuple[Path, ...]] = {}
        """Each with the folders below it that hold what is installed."""

    def add(self, folder: Path) -> None:
        """Count everything in and below `folder`, a real path, as the user's own."""
        if folder not in self._folders:
            # `abspath` resolves `..`, which a Path keeps.
            entries = [Path(os.path.abspath(entry)) for entry in sys.path if entry]  # noqa: PTH100
            # A virtual environment may be a link: its modules have the path from `sys.path`.
            searched = {*entries, *map(real_path, entries)}
            # What the user's code has added to `sys.path` does not count as installed.
            below = [each for each in searched if folder in each.parents and not self.hold(each)]
            self._folders[folder] = (*below, _THIS_PACKAGE)

    def hold(self, path: Path) -> bool:
        """Return whether `path`, an absolute path, is the user's own.

        It counts as written and as its links resolve.
        """
        written = Path(os.path.normpath(path))
        return self._hold(written) or self._hold(_real(written))

    def _hold(self, path: Path) -> bool:
        return any(
            path.is_relative_to(folder) and not any(path.is_relative_to(each) for each in installed)
            for folder, installed in self._folders.items()
        )


def _real(path: Path) -> Path:
    """Resolve the links of a path.

    Those of its folder are resolved once, because imports come by the thousand.
    """
    within = _real_folder(path.parent) / path.name
    return real_path(within) if within.is_symlink() else within


_real_folder = lru_cache(maxsize=None)(real_path)
own_folders = OwnFolders()
"""Those of this process."""


executed: dict[Path, None] = {}
"""The user's files of which this process has executed something, by the path each was found at."""


class OwnModules(MetaPathFinder):
    """Finds the modules that are the user's own, and lets them run only if they are allowed.

    They are found in Python's usual order. Installed modules are left alone.
    """

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find a module of the user's own; None for any other, which is left to Python.

        Raises UserCodeError for one that is neither source nor a compiled extension.
        """
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or spec.origin is None or not own_folders.hold(Path(spec.origin)):
            return None
        if isinstance(spec.loader, SourceFileLoader):
            spec.loader = _AdmittedLoader(name, spec.origin)
        elif not isinstance(spec.loader, ExtensionFileLoader):
            raise _not_source(name, Path(spec.origin))
        return spec


class _AdmittedLoader(SourceFileLoader):
    """Runs the very bytes that were allowed.

    A file that changes meanwhile and byte code that does not match are not run.
    """

    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002  (as importlib has it)
        """Return the compiled file. Raises UserCodeError if it may not run."""
        code = admit(Path(self.path)).code
        executed[Path(self.path)] = None
        return code


def find_own_modules() -> None:
    """Let `OwnModules` find the user's modules in every import of this process from now on."""
    if _finder not in sys.meta_path:
        place = next(
            (at for at, finder in enumerate(sys.meta_path) if finder is PathFinder),
            len(sys.meta_path),
        )
        sys.meta_path.insert(place, _finder)


def _not_source(name: str, origin: Path) -> UserCodeError:
    return UserCodeError(
        f"The module {name} is imported from {origin}, which is no Python source that a person can "
        "read and allow, so nothing of it was run.",
        [f"Put its source, {name.rpartition('.')[2]}.py, into the folder instead."],
    )


_finder = OwnModules()


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
        folder = _file_of(named, base).folder
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
    for field, text in references_of(plan):
        if named := reference(text):
            yield part_of(field), named


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
