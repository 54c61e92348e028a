"""Print the machine's inventory as one line of JSON: `python -m gpu_studio.hardware [--users]`."""

from __future__ import annotations

import json
import sys

from gpu_studio.hardware.probe import probe

USERS = "--users"


def main() -> int:
    """Query the machine and print the answer.

    Returns exit code 0, also for a machine without cards.
    """
    sys.stdout.write(json.dumps(probe(users=USERS in sys.argv[1:])) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
