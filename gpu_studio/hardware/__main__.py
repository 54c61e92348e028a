"""Print what the machine has as one line of JSON: `python -m gpu_studio.hardware`."""

from __future__ import annotations

import json
import sys

from gpu_studio.hardware.probe import probe


def main() -> int:
    """Ask the machine and print the answer. Returns the exit code 0: a machine without cards is an answer too."""
    sys.stdout.write(json.dumps(probe()) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
