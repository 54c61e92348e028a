"""The curve of a run: all of it, thinned so that its peaks remain."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_runs import Script, make_run
from msgspec.structs import replace

from gpu_studio.contract import events
from gpu_studio.contract.directory import RunDirectory
from gpu_studio.runs.lineage import curve, read_history, thinned

NOW = 1.7e9
STARTED = events.Started(run="r", plan="p", pid=1, host="here", gpu_studio="0", python="3.11")


def tell(run, *told):
    """Write events (second, event)."""
    lines = [
        events.encode(replace(event, seq=n, time=NOW + second))
        for n, (second, event) in enumerate(told)
    ]
    run.events_file.write_bytes(b"".join(lines))
    return run


def call(first, losses, seconds=1.0):
    return events.Steps(
        epoch=1, first_step=first, losses=losses, samples=len(losses), seconds=seconds
    )


def test_that_a_short_curve_is_the_history_s(tmp_path):
    run = make_run(tmp_path, Script(trained=3.0, nan_at=42))
    history, found = read_history(run), curve(run, points=5000)
    assert found.steps.tolist() == history.losses.column("step").tolist()
    np.testing.assert_array_equal(found.values, history.losses.column("loss"))
    np.testing.assert_allclose(
        found.seconds + history.started.time, history.losses.column("time"), atol=1e-5
    )


def test_that_a_metric_has_a_point_for_each_epoch(tmp_path):
    run = make_run(tmp_path, Script(trained=3.0))
    history, found = read_history(run), curve(run, "val_loss")
    assert found.steps.tolist() == [200.0, 400.0, 600.0]
    assert found.values.tolist() == history.epochs.metric("val_loss").tolist()
    assert len(curve(run, "no_such_metric").steps) == 0


def test_that_a_run_that_goes_on_has_the_curve_of_both(tmp_path):
    first, second = RunDirectory.create(tmp_path, "one"), RunDirectory.create(tmp_path, "two")
    epochs = [
        events.Epoch(epoch=n, step=4 * n, metrics={"a": n / 10}, seconds=1, samples_per_second=1)
        for n in (1, 2)
    ]
    tell(
        first,
        (0, STARTED),
        (10, call(0, [9, 8, 7, 6], 4.0)),
        (11, epochs[0]),
        (14, call(4, [5, 4], 2.0)),
    )
    tell(second, (500, STARTED), (503, call(5, [3.0, None], 2.0)), (504, epochs[1]))
    second.resume_file.write_text(
        f'{{"run": "{first.id}", "checkpoint": "c", "epoch": 1, "step": 5}}'
    )
    found = curve(second)
    assert found.steps.tolist() == [1, 2, 3, 4, 5, 6, 7]
    np.testing.assert_array_equal(found.values, [9, 8, 7, 6, 5, 3, np.nan])
    assert found.seconds.tolist() == [7, 8, 9, 10, 13, 15, 16]
    assert curve(second, "a").values.tolist() == [0.1, 0.2]


@pytest.mark.parametrize("most", [2, 3, 10, 1000])
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=4000))
def test_that_thinning_keeps_the_peaks_the_order_and_the_bound(most, values):
    points = np.stack((np.arange(len(values), dtype=np.float64), np.array(values)))
    kept = thinned(points, 1, most)
    assert 1 <= kept.shape[1] <= most
    assert kept[1].min() == min(values)
    assert kept[1].max() == max(values)
    assert np.all(np.diff(kept[0]) > 0)


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=3000), st.integers(2, 200))
def test_that_thinning_tells_every_stretch_alike(along, most):
    points = np.stack((np.sort(along), np.arange(len(along), dtype=np.float64) % 7))
    kept = thinned(points, 1, most)
    assert 1 <= kept.shape[1] <= most
    if len(along) > most:
        stretch = (points[0, -1] - points[0, 0]) / (most // 2)
        near = np.abs(points[0][:, None] - kept[0][None, :]).min(axis=1)
        assert near.max() <= stretch * (1 + 1e-9)


def test_that_a_peak_in_a_long_run_stays(tmp_path):
    run = RunDirectory.create(tmp_path, "long")
    calls = [(float(n), call(1000 * n, [0.5] * 1000)) for n in range(1, 301)]
    calls[150][1].losses[77] = 99.0
    tell(run, (0, STARTED), *calls)
    found = curve(run)
    assert len(found.steps) <= 1000
    assert found.values.max() == 99.0
    assert found.steps[found.values.argmax()] == 151_078
    assert found.steps[-1] > 299_000
