"""A pytest plugin: a test that is left to `make whole` says which shorter one it repeats.

`@pytest.mark.whole("tests/ui/plan/test_carve_editor.py")` stands on a test that shows at length
what the named file shows in short: by a real pointer from end to end, by further models or
strategies, with thousands of examples. So `make test` still sees each rule broken.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import pytest
from parity_jobs import WHOLE

MARK = "whole"
SHARE = 5
"""Of so many examples `make test` tries one."""


def examples(number: int) -> int:
    """How many examples are tried: `number` by `make whole`."""
    return number if WHOLE else number // SHARE


def in_short(cases: Iterable[Any], short: Collection[Any], file: str) -> list[Any]:
    """All cases of a test in this file, of which those beside `short` are left to `make whole`."""
    of_whole = pytest.mark.whole(file)
    return [each if each in short else pytest.param(each, marks=of_whole) for each in cases]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Raises UsageError for a test that names no file, or one that `make test` does not run."""
    run = {item.path for item in items if item.get_closest_marker(MARK) is None}
    seen = {item.path for item in items}
    for item in items:
        if (mark := item.get_closest_marker(MARK)) is None:
            continue
        if not mark.args:
            raise pytest.UsageError(f"{item.nodeid}: name the shorter test, whole(FILE).")
        for brief in map(config.rootpath.joinpath, mark.args):
            _check(item, brief, collected=brief in seen, runs=brief in run)


def _check(item: pytest.Item, brief: Path, *, collected: bool, runs: bool) -> None:
    if not brief.is_file():
        raise pytest.UsageError(f"{item.nodeid}: its shorter test, {brief}, does not exist.")
    if collected and not runs:
        raise pytest.UsageError(f"{item.nodeid}: `make test` runs nothing of {brief} either.")
