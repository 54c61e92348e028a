"""What the workers of a script keep, read without TensorFlow."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

from gpu_studio.export import workers
from gpu_studio.export.script_text import fill


def read(folder: Path, *, resume: bool) -> bytes:
    """What the first worker goes on from."""
    given: list[bytes] = []
    names: dict[str, Any] = {}
    words = {**workers.BY_FIRST, "begin": "", "phases": ""}
    exec(workers.AGREEING + fill(workers.KEPT + workers.STATE, **words), names)

    names["is_first"] = lambda _strategy: True
    names["of_first"] = lambda _strategy, content: given.append(content) or b""
    assert names["read_state"](Namespace(output=folder, resume=resume), None, [], []) == {}
    return given[0]


def test_that_a_start_from_the_beginning_that_is_started_again_does_not_go_on_from_an_earlier_one(
    tmp_path: Path,
) -> None:
    (tmp_path / "state.npz").write_bytes(b"an earlier run's")
    assert read(tmp_path, resume=True) == b"an earlier run's"
    assert read(tmp_path, resume=False) == b""
    assert read(tmp_path, resume=True) == b""
    assert (tmp_path / "state.before").read_bytes() == b"an earlier run's"
