"""Whether a command may write where it was told to."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from gpu_studio.cli.output import RefusedError
from gpu_studio.output_files import is_stream


def refuse_to_replace(paths: Iterable[Path], *, force: bool) -> None:
    """Raises RefusedError for the first of the paths at which a file stands already, unless `force`."""
    for path in paths:
        if path.exists() and not is_stream(path) and not force:
            raise RefusedError(f"{path} is already there: choose another name, or add --force to replace it.")
