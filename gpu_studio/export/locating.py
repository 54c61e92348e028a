"""Where the files are that a plan names, as a script says it."""

from __future__ import annotations

from pathlib import Path

from gpu_studio.export.learning import ExportError


def located(field: str, name: str, base: Path) -> Path:
    """Return the path that the plan's `field` means by `name`, relative to `base`.

    Not asked of `with_absolute_files`: a script tells of the plan as it is written, and a home
    folder that is not there is refused in words. Raises ExportError.
    """
    try:
        return (base / Path(name).expanduser()).absolute()
    except RuntimeError as error:  # "~somebody" without a home here
        raise ExportError(
            f"{field} is {name}, and there is no such home folder: write the whole path."
        ) from error
