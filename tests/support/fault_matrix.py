"""A pytest plugin that tabulates the effect of each injected fault at the end of the test run.

A test that injects a fault takes the fixture `fault`, and reports what happened, how long detection
took, and the number of events before and after.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass

import pytest

_PROPERTY = "fault"
_HEADINGS = ("fault", "outcome", "noticed after", "events before", "after")


@dataclass
class Fault:
    """A row of the table.

    `seconds` None: nothing to notice; `before` and `after` None: it is not about events.
    """

    item: str = ""
    outcome: str = ""
    seconds: float | None = None
    before: int | None = None
    after: int | None = None

    def is_about(self, item: str, outcome: str) -> None:
        """Say which fault this is, and what comes of it."""
        self.item, self.outcome = item, outcome

    @contextmanager
    def noticed(self) -> Iterator[None]:
        """Measure how long what stands inside waits for the fault to be noticed."""
        began = time.perf_counter()
        yield
        self.seconds = time.perf_counter() - began

    def kept(self, before: int, after: int) -> None:
        """Note the events before and after, of which none may be lost."""
        assert before <= after, f"{before - after} events are lost"
        self.before, self.after = before, after

    def cells(self) -> tuple[str, ...]:
        """The row as texts."""
        seconds = "–" if self.seconds is None else f"{self.seconds:.2f} s"
        counts = ("–" if count is None else f"{count:,}" for count in (self.before, self.after))
        return (self.item, self.outcome, seconds, *counts)


@pytest.fixture
def fault(request: pytest.FixtureRequest) -> Iterator[Fault]:
    """The row of the fault that this test brings about."""
    row = Fault()
    yield row
    if row.item:
        request.node.user_properties.append((_PROPERTY, asdict(row)))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the table, of all workers' tests."""
    rows = sorted(_rows(terminalreporter))
    if not rows:
        return
    widths = [max(map(len, column)) for column in zip(_HEADINGS, *rows, strict=True)]
    terminalreporter.section("fault matrix")
    for cells in (_HEADINGS, *rows):
        terminalreporter.write_line(
            "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
        )


def _rows(terminalreporter: pytest.TerminalReporter) -> Iterator[tuple[str, ...]]:
    stats = terminalreporter.stats
    passed = {report.nodeid for report in stats.get("passed", [])}
    # A row is complete once its fixture has ended, and so stands in the report of the teardown,
    # which has no word.
    for report in stats.get("", []):
        if report.when == "teardown" and report.nodeid in passed:
            yield from (
                Fault(**row).cells() for name, row in report.user_properties if name == _PROPERTY
            )
