"""Run the doctor: `python -m gpu_studio.hardware.doctor [--json]`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gpu_studio.hardware.doctor.examination import as_json, gather, judge, lines


def main(arguments: Sequence[str] | None = None) -> int:
    """Examine this machine. Returns the exit code: 1 if something must be fixed, else 0."""
    chosen = _parser().parse_args(arguments)
    try:
        view = _answer(chosen.tensorflow)
    except (OSError, ValueError) as error:
        sys.stderr.write(f"{chosen.tensorflow} is no answer of TensorFlow's: {error}\n")
        return 2
    report = judge(gather(chosen.runs_dir, view))
    text = json.dumps(as_json(report), ensure_ascii=False) if chosen.json else lines(report)
    sys.stdout.write(text + "\n")
    return 0 if report.well else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m gpu_studio.hardware.doctor", description=__doc__
    )
    parser.add_argument(
        "--json", action="store_true", help="write one JSON object for programs to read"
    )
    parser.add_argument(
        "--runs-dir", type=Path, metavar="DIR", help="look also at the room for runs, in DIR"
    )
    parser.add_argument(
        "--tensorflow",
        metavar="FILE",
        help=(
            "look also at TensorFlow, as `python -m gpu_studio.trainer.ask devices` "
            "wrote of it to FILE; - is stdin"
        ),
    )
    return parser


def _answer(source: str | None) -> dict[str, Any] | None:
    if source is None:
        return None
    answer = json.loads(sys.stdin.read() if source == "-" else Path(source).read_text("utf-8"))
    if not isinstance(answer, dict):
        raise ValueError("it is no JSON object")
    return answer


if __name__ == "__main__":
    sys.exit(main())
