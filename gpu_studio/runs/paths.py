"""Where runs are kept."""

from __future__ import annotations

import os
from pathlib import Path

from platformdirs import user_data_path

ENVIRONMENT = "GPU_STUDIO_RUNS_DIR"


def runs_dir(override: Path | str | None = None) -> Path:
    """Return the directory that holds all runs, as an absolute path; it need not exist yet.

    It is `override` if given, else `$GPU_STUDIO_RUNS_DIR` if set and not empty, else `runs` under the user's data
    directory.
    """
    chosen = override or os.environ.get(ENVIRONMENT) or user_data_path("gpu-studio") / "runs"
    return Path(chosen).expanduser().absolute()
