"""Where the files are that GPU Studio brings with it: in a checkout beside the package, in a wheel inside it."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def resource(name: str) -> Path:
    """The path of `name` under `resources/`, for example `data/digits.npz`.

    Raises FileNotFoundError, naming both places that were looked at, if the installation lacks the file.
    """
    places = (_PACKAGE / "resources" / name, _PACKAGE.parent / "resources" / name)
    for place in places:
        if place.exists():
            return place
    looked = " nor ".join(str(place) for place in places)
    raise FileNotFoundError(f"GPU Studio is not installed completely: there is neither {looked}.")
