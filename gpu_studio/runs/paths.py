"""The directory where runs are kept, and commands that find a run in it."""

from __future__ import annotations

import os
import shlex
import stat
from pathlib import Path

from platformdirs import user_data_path

from gpu_studio.common.choices import chosen_runs_folder
from gpu_studio.common.paths import expanded

ENVIRONMENT = "GPU_STUDIO_RUNS_DIR"


def runs_dir(override: Path | str | None = None) -> Path:
    """Return the directory that holds all runs, as an absolute path; it need not exist yet.

    It is `override` if given, else `$GPU_STUDIO_RUNS_DIR` if set and not empty, else the folder
    chosen in the settings, else `usual_runs_dir`.
    """
    chosen = override or os.environ.get(ENVIRONMENT) or chosen_runs_folder()
    return expanded(chosen).absolute() if chosen else usual_runs_dir()


def usual_runs_dir() -> Path:
    """`runs` under the user's data directory."""
    return (user_data_path("gpu-studio") / "runs").absolute()


def run_command(words: str, run: Path, called: str = "") -> str:
    """Return the command that does this to the run in this folder, as one types it in a shell.

    It names the run by its id, or as it is `called`, and its directory of runs where commands
    do not look there by themselves: `gpu-studio resume 20261101T0900-digits --runs-dir /mnt/runs`.
    """
    return command_in(run.parent, f"{words} {shlex.quote(called or run.name)}")


def command_in(runs: Path, words: str) -> str:
    """Return the command as one types it in a shell, which names this directory of runs.

    It does so where commands do not look there by themselves: `queue list --runs-dir /mnt/runs`.
    """
    elsewhere = "" if runs == runs_dir() else f" --runs-dir {shlex.quote(str(runs))}"
    return f"gpu-studio {words}{elsewhere}"


def open_to_others(runs: Path) -> str:
    """A warning, with advice, if others may write to the runs directory.

    Empty if only its owner may. Anyone who can write there can substitute one run for another, or
    add things that are not runs.
    """
    try:
        status = runs.stat()
    except OSError:
        return ""
    if not stat.S_ISDIR(status.st_mode):
        return ""  # runs cannot be kept there: the code that tries reports it
    if status.st_mode & stat.S_IWOTH:
        mend = f"chmod o-w {shlex.quote(str(runs))}"
        return (
            f"Every user of this computer can change the runs in {runs}. "
            f"Allow that no more, with: {mend}"
        )
    if status.st_uid not in (os.geteuid(), 0):
        return (
            f"The folder of the runs, {runs}, belongs to another user, who can "
            "change them. Choose one of your own."
        )
    return ""
