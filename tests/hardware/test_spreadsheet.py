"""The cards as CSV."""

from __future__ import annotations

import csv

from watched_machine import watched

from gpu_studio.hardware.device_rows import COLUMNS, FIGURES, csv_lines
from gpu_studio.hardware.simulated.profiles import profile


def test_that_every_card_has_a_line_with_a_figure_or_a_reason_in_each_column() -> None:
    with watched(profile("broken")) as broken:
        broken.begin()
        broken.run(5)
        lines = csv_lines(broken.picture)
    heading, *rows = csv.reader(lines)
    assert heading == list(COLUMNS)
    assert len(rows) == 5
    for row in rows:
        assert all(cell for name, cell in zip(heading, row, strict=True) if name in FIGURES), row


def test_that_a_reason_stands_where_a_figure_is_not_known() -> None:
    with watched(profile("broken")) as broken:
        broken.begin()
        rows = list(csv.DictReader(csv_lines(broken.picture)))
    assert rows[1]["gone"] == rows[1]["power_w"] == "lost: the driver no longer answers for it"
    assert rows[2]["power_w"] == "no permission"
    assert rows[3]["utilisation_percent"].startswith("asleep")
    assert float(rows[0]["power_w"]) > 0
