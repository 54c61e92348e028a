"""Build the wheel into dist/; with --practice, one that brings the practice cards' library.

Such a wheel is for this kind of machine and this TensorFlow: whoever installs it needs no compiler.
Elsewhere the library is compiled when it is first used, as without it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from gpu_studio.hardware import practice

BUILD = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", "dist"]


def main() -> int:
    """Build it; return the exit code."""
    if "--practice" not in sys.argv[1:]:
        return subprocess.run(BUILD, check=False).returncode
    with tempfile.TemporaryDirectory() as folder:
        library = practice.build(Path(folder))
        # Read by wheel_hook.py.
        environment = {**os.environ, "GPU_STUDIO_WHEEL_LIBRARY": str(library)}
        return subprocess.run(BUILD, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
