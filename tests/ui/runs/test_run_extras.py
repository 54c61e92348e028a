"""What rows of the Runs page show besides events: labels, and energy from the recordings."""

from __future__ import annotations

import os

import made_recordings
import pytest
from made_runs import Script, make_run

from gpu_studio.contract import lock
from gpu_studio.runs.catalogue import Catalogue
from gpu_studio.runs.labels import Labels, labels_file, write_labels
from gpu_studio.ui.runs.readers import RunExtras, RunsReader

FACTS = made_recordings.cards("8xH100")


@pytest.fixture
def recorded(tmp_path):
    """A finished run on two recorded cards."""
    script = Script(
        name="a", ending="completed", epochs=1, trained=1, steps=50, devices=2,
        identities=made_recordings.identities(FACTS), call_seconds=1.0,
    )  # fmt: skip
    run = make_run(tmp_path / "runs", script)
    made_recordings.record(run, FACTS, 1_000_000.0, 20)
    os.utime(run.hardware_file, (1_000_020.0, 1_000_020.0))
    return run


def test_that_energy_comes_when_recordings_were_read_and_is_of_the_runs_own_cards(recorded) -> None:
    catalogue, extras = Catalogue(recorded.path.parent), RunExtras()
    (row,) = extras.rows(catalogue.summaries())
    assert row.joules is None
    assert extras.behind
    extras.read_energy(lambda: True)
    assert extras.rows(catalogue.summaries())[0].joules is None
    extras.read_energy(lambda: False)
    (row,) = extras.rows(catalogue.summaries())
    assert not extras.behind
    alone = sum(sample.power_w or 0.0 for sample in made_recordings.fast(FACTS[:2], 0.0).cards)
    assert row.joules == pytest.approx(alone * 19, rel=0.3)


def test_that_a_live_run_and_one_without_cards_wait_for_nothing(tmp_path) -> None:
    short = {
        "epochs": 1,
        "trained": 1,
        "steps": 10,
        "identities": made_recordings.identities(FACTS),
    }
    live = make_run(tmp_path, Script(name="a", **short))
    on_cpus = make_run(tmp_path, Script(name="b", kind="CPU", ending="completed", **short))
    for run in (live, on_cpus):
        made_recordings.record(run, FACTS, 1_000_000.0, 3)
    held = lock.take(live.lock_file)
    try:
        extras = RunExtras()
        assert len(extras.rows(Catalogue(tmp_path).summaries())) == 2
        assert not extras.behind
    finally:
        held.release()


def test_that_a_recording_that_is_still_being_written_is_left_alone(recorded) -> None:
    os.utime(recorded.hardware_file)
    extras = RunExtras()
    extras.rows(Catalogue(recorded.path.parent).summaries())
    assert not extras.behind


def test_that_labels_are_read_when_they_change(recorded) -> None:
    catalogue, extras = Catalogue(recorded.path.parent), RunExtras()
    assert not extras.rows(catalogue.summaries())[0].labels
    write_labels(recorded, Labels(("best",)))
    (first,) = extras.rows(catalogue.summaries())
    assert first.labels.tags == ("best",)
    assert extras.rows(catalogue.summaries())[0].labels is first.labels
    labels_file(recorded).unlink()
    assert not extras.rows(catalogue.summaries())[0].labels


def test_that_the_list_comes_first_and_the_energy_with_a_later_one(recorded, qtbot) -> None:
    reader = RunsReader(recorded.path.parent)
    told: list[float | None] = []
    reader.rows.connect(lambda rows: told.append(rows[0].joules))
    reader.read()
    qtbot.waitUntil(lambda: bool(told) and told[-1] is not None)
    assert told[0] is None
    assert not reader.busy
    reader.close()
