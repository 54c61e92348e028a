"""Find the files that a plan names."""

from __future__ import annotations

from pathlib import Path

from gpu_studio.export.errors import ExportError


def located(field: str, name: str, base: Path) -> Path:
    """Return the path that the plan's `field` means by `name`, relative to `base`.

    Raises ExportError.
    """
    try:
        return (base / Path(name).expanduser()).absolute()
    except RuntimeError as error:  # "~somebody" without a home here
        raise ExportError(
            f"{field} is {name}, and there is no such home folder: write the whole path."
        ) from error
