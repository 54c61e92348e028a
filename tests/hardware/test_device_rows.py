"""The figures of devices as tables show them."""

from __future__ import annotations

import pytest

from gpu_studio.contract.samples import MEASURED_NEXT, Host
from gpu_studio.hardware.device_rows import NOTHING_YET, rows_of
from gpu_studio.hardware.picture import MachinePicture
from gpu_studio.plan import Machine


@pytest.mark.parametrize(
    ("percent", "why", "shown"),
    [(None, MEASURED_NEXT, NOTHING_YET), (None, "not told", "not told"), (41.0, "", "41 %")],
)
def test_that_a_figure_of_two_looks_is_only_awaited_after_the_first(
    percent: float | None, why: str, shown: str
) -> None:
    picture = MachinePicture()
    picture.apply(Host(time=1.0, cpu_percent=percent, memory_used_mib=1, memory_total_mib=2,
                      why={"cpu_percent": why} if why else {}))  # fmt: skip
    (row,) = rows_of(picture, Machine())
    assert row.utilisation.text == shown
    assert row.utilisation.known == (percent is not None)
