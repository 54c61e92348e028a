"""Build into dist/ what is handed out: the wheel, the source archive, or both.

The same source gives the same bytes, whenever and wherever it is built: every file in them has the
time of the commit, or `$SOURCE_DATE_EPOCH`. In an unpacked source archive it is the time that the
archive was made with, so that the wheel from there is the same, too.

With --practice the wheel brings the practice cards' library. Such a wheel is for this kind of
machine and this TensorFlow: whoever installs it needs no compiler. Elsewhere the library is
compiled when it is first used, as without it.

With --screenshots and the address of a folder on the web, the wheel's description for software
centres names the screenshots that lie there.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import metainfo

ROOT: Final = Path(__file__).resolve().parents[1]
EPOCH: Final = "SOURCE_DATE_EPOCH"


def main(words: Sequence[str]) -> int:
    """Build the kinds that are named; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("kinds", nargs="+", choices=("wheel", "sdist"))
    parser.add_argument("--practice", action="store_true")
    parser.add_argument("--outdir", type=Path, default=ROOT / "dist")
    parser.add_argument("--screenshots", default="", metavar="ADDRESS")
    chosen = parser.parse_args(words)
    environment = with_epoch()
    if chosen.screenshots:
        try:
            metainfo.check(chosen.screenshots)
        except LookupError as error:
            sys.stderr.write(f"GPU Studio: {error}\n")
            return 1
        environment[metainfo.ADDRESS] = chosen.screenshots
    if not chosen.practice:
        return _built(chosen, environment)
    from gpu_studio.hardware import practice

    with tempfile.TemporaryDirectory() as folder:
        library = practice.build(Path(folder))
        # Read by wheel_hook.py.
        environment["GPU_STUDIO_WHEEL_LIBRARY"] = str(library)
        return _built(chosen, environment)


def with_epoch() -> dict[str, str]:
    """The environment, with the time of the source in `$SOURCE_DATE_EPOCH` if that is known."""
    known = os.environ.get(EPOCH) or _of_commit() or _of_archive()
    return {**os.environ, EPOCH: known} if known else dict(os.environ)


def _of_commit() -> str:
    """The time of the commit in seconds; empty outside a clone."""
    if not (ROOT / ".git").exists():
        return ""
    command = ["git", "-C", str(ROOT), "log", "-1", "--format=%ct"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def _of_archive() -> str:
    """The time that the source archive was made with; empty outside one.

    Of its files it is PKG-INFO that nobody edits.
    """
    made = ROOT / "PKG-INFO"
    return str(int(made.stat().st_mtime)) if made.is_file() else ""


def _built(chosen: argparse.Namespace, environment: dict[str, str]) -> int:
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(chosen.outdir)]
    command += [f"--{kind}" for kind in chosen.kinds]
    return subprocess.run([*command, str(ROOT)], env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
