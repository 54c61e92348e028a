"""Imports of the user's code from its own folder.

They run only as the user has allowed them, like the file itself.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ExtensionFileLoader, ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

from gpu_studio.trainer.errors import UserCodeError
from gpu_studio.trainer.user_code.gate import admit
from gpu_studio.trainer.user_code.own_folders import own_folders

executed: dict[Path, None] = {}
"""Each file of the user's own of which something was executed in this process, once, by the path it
was found at.
"""


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
        f"The module {name} is imported from {origin}, which is no Python source "
        "that a person can read and allow, "
        "so nothing of it was run.",
        [f"Put its source, {name.rpartition('.')[2]}.py, into the folder instead."],
    )


_finder = OwnModules()
