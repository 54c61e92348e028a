"""Expand paths as a person writes them."""

from __future__ import annotations

import os
from pathlib import Path


def expanded(path: str | Path) -> Path:
    """Replace a leading `~` or `~ada` by the home folder; `~nobody` stays as it is."""
    # Path.expanduser raises RuntimeError for `~nobody`.
    return Path(os.path.expanduser(path))  # noqa: PTH111
