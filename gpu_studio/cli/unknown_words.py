"""What to write in place of words that a command does not take.

Mostly they are meant for the plan, `--epochs 3`, or for its script, `-- --rows 500`.
"""

from __future__ import annotations

import argparse
import json
import shlex
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path


def advice(chosen: argparse.Namespace, unknown: Sequence[str]) -> str:
    """Return how a command that changes plans takes these words, on a line of its own.

    Empty where it takes none of them.
    """
    if not hasattr(chosen, "settings"):
        return ""
    if settings := _settings(list(unknown)):
        return f"\nA plan is changed with: --set {shlex.join(settings)}"
    if Path(str(getattr(chosen, "plan", ""))).suffix != ".py":
        return ""
    words = json.dumps(list(unknown), ensure_ascii=False)
    both = [f"{part}.options.arguments={words}" for part in ("model", "data")]
    return f"\nWhat the script takes is given with: --set {shlex.join(both)}"


def _settings(words: list[str]) -> list[str]:
    """What `--set` takes for such words; empty if one of them is no key of [training]."""
    from gpu_studio.plan import Training

    known = {each.name for each in fields(Training)}
    found = []
    while words:
        name, equals, value = words.pop(0).partition("=")
        key = name.removeprefix("--").removeprefix("training.").replace("-", "_")
        if key not in known or not (equals or words):
            return []
        found.append(f"training.{key}={value if equals else words.pop(0)}")
    return found
