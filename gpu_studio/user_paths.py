"""Paths as a person writes them."""

from __future__ import annotations

import os
from pathlib import Path


def expanded(path: str | Path) -> Path:
    """The path with the home folder in place of `~` or `~ada` at its beginning; `~nobody` stays as it stands."""
    return Path(os.path.expanduser(path))  # noqa: PTH111  (Path.expanduser raises RuntimeError for `~nobody`)
