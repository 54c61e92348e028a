"""Paths: of the files that ship with GPU Studio, and as a person writes them.

Shipped files are beside the package, or inside it in a wheel.
"""

from __future__ import annotations

import os
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]


def resource(name: str) -> Path:
    """The path of `name` under `resources/`, for example `data/digits.npz`.

    Raises FileNotFoundError, naming both places that were searched, if the installation lacks the
    file.
    """
    places = (_PACKAGE / "resources" / name, _PACKAGE.parent / "resources" / name)
    for place in places:
        if place.exists():
            return place
    looked = " nor ".join(str(place) for place in places)
    raise FileNotFoundError(f"GPU Studio is not installed completely: there is neither {looked}.")


def expanded(path: str | Path) -> Path:
    """Replace a leading `~` or `~ada` by the home folder.

    `~nobody` stays as it is, and so does what can be no user's name.
    """
    try:
        # Path.expanduser raises RuntimeError for `~nobody`.
        return Path(os.path.expanduser(path))  # noqa: PTH111
    except ValueError:  # a null character
        return Path(path)


def is_file(path: Path) -> bool:
    """Whether a file is there. What nothing can be called, such as a name of 300 letters, is none.

    `Path.is_file` raises OSError for such a name.
    """
    return os.path.isfile(path)  # noqa: PTH113


def is_folder(path: Path) -> bool:
    """Whether a folder is there; of a name that nothing can have, as `is_file`."""
    return os.path.isdir(path)  # noqa: PTH112


def is_missing(path: Path) -> bool:
    """Whether there is surely nothing. What cannot be looked at may be there: reading says why."""
    try:
        path.stat()
    except FileNotFoundError:
        return True
    except (OSError, ValueError):
        return False
    return False


def real_path(path: Path) -> Path:
    """`path` made absolute with links resolved; links that form a loop stay as they are."""
    return Path(os.path.realpath(path))
