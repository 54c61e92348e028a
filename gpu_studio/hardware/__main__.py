"""Print what the machine has as one line of JSON: `python -m gpu_studio.hardware [--users]`."""

from __future__ import annotations

import json
import sys

from gpu_studio.hardware.probe import probe

USERS = "--users"


def main() -> int:
    """Ask the machine and print the answer. Returns the exit code 0: a machine without cards is an answer too."""
    sys.stdout.write(json.dumps(probe(users=USERS in sys.argv[1:])) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
