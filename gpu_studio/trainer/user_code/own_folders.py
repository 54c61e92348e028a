"""Which files are the user's own: those in and below the folders of the code that a plan names."""

from __future__ import annotations

import os
import sys
from functools import lru_cache
from pathlib import Path

from gpu_studio.contract.consent import real_path

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
            # Without `..`.
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
