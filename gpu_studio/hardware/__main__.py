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
    found = probe(users=USERS in sys.argv[1:])
    # Names that are not UTF-8 would be surrogates, which no reader of JSON takes.
    sys.stdout.buffer.write(
        json.dumps(found, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
