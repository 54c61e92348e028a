"""What a user's code imports from its own folder: it runs only as its user has allowed it, as the file itself does."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

from gpu_studio.trainer.user_code.gate import admit


class OwnModules(MetaPathFinder):
    """Finds the modules that stand in folders of a user's own code, and lets them run only if they are allowed.

    They are found in the order in which Python finds modules anywhere. What is installed elsewhere is not looked at.
    """

    def __init__(self) -> None:
        self.files: dict[Path, None] = {}
        """Each file that was imported, once, by its real path."""
        self._folders: set[Path] = set()
        self._names: set[str] = set()

    def watch(self, folder: Path) -> None:
        """Count the modules in `folder` among the user's own."""
        self._folders.add(folder)
        if self not in sys.meta_path:
            sys.meta_path.insert(_place_of_path_finder(), self)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find a module of the user's own; None for any other, which Python then finds itself."""
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or not self._is_own(name, spec):
            return None
        self._names.add(name)
        if isinstance(spec.loader, SourceFileLoader) and spec.origin is not None:
            spec.loader = _AdmittedLoader(name, spec.origin, self)
        return spec

    def _is_own(self, name: str, spec: ModuleSpec) -> bool:
        package, _, _ = name.rpartition(".")
        if package:
            return package in self._names
        places = [spec.origin] if spec.origin else list(spec.submodule_search_locations or ())
        return any(_folder_of(Path(place), name) in self._folders for place in places)


class _AdmittedLoader(SourceFileLoader):
    """Runs the very bytes that were allowed: neither a file that changes meanwhile, nor byte code that lies about."""

    def __init__(self, name: str, path: str, found_by: OwnModules) -> None:
        super().__init__(name, path)
        self._found_by = found_by

    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002  (as importlib has it)
        """Give what the file was compiled to. Raises UserCodeError if it may not run."""
        admitted = admit(Path(self.path))
        self._found_by.files[admitted.path] = None
        return admitted.code


def _folder_of(place: Path, name: str) -> Path:
    """The folder in which a top-level module was found: `place` is its file, its `__init__.py`, or its folder."""
    at = place.parent if place.name == "__init__.py" else place
    return at.parent if at.stem == name else at


def _place_of_path_finder() -> int:
    return next((at for at, finder in enumerate(sys.meta_path) if finder is PathFinder), len(sys.meta_path))


own_modules = OwnModules()
"""Those of this process."""
