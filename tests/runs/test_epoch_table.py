from __future__ import annotations

import numpy as np
import pytest

from gpu_studio.contract.events import Epoch
from gpu_studio.runs.reading import epochs as epochs_module
from gpu_studio.runs.reading.epochs import BestValue, EpochTable, higher_is_better


def table(*rows):
    epochs = EpochTable()
    for number, metrics in enumerate(rows, start=1):
        epochs.add(
            Epoch(
                epoch=number,
                step=10 * number,
                metrics=metrics,
                seconds=1,
                samples_per_second=1,
                time=100.0 + number,
            )
        )
    return epochs


def test_that_an_empty_table_has_nothing():
    epochs = EpochTable()
    assert (len(epochs), epochs.last, epochs.metrics, epochs.best("loss")) == (0, None, [], None)
    assert epochs.metric("loss").size == epochs.steps.size == 0


def test_that_a_metric_has_a_place_for_every_epoch():
    epochs = table({"loss": 2.0}, {"loss": 1.0, "val_loss": 3.0}, {"loss": None, "val_loss": 2.5})
    np.testing.assert_array_equal(epochs.metric("loss"), [2, 1, np.nan])
    np.testing.assert_array_equal(epochs.metric("val_loss"), [np.nan, 3, 2.5])
    assert epochs.metrics == ["loss", "val_loss"]
    assert epochs.numbers.tolist() == [1, 2, 3]
    assert epochs.steps.tolist() == [10, 20, 30]
    assert epochs.times.tolist() == [101, 102, 103]
    assert epochs.last.epoch == 3


def test_that_the_best_is_the_first_of_the_lowest_losses_or_highest_accuracies():
    epochs = table(
        {"loss": 2.0, "acc": 0.5},
        {"loss": 1.0, "acc": 0.9},
        {"loss": 1.0, "acc": 0.9},
        {"loss": None},
    )
    assert epochs.best("loss") == BestValue("loss", 1.0, 2)
    assert epochs.best("acc") == BestValue("acc", 0.9, 2)
    assert epochs.best("nothing") is None


def test_that_a_run_of_very_many_epochs_keeps_rows_evenly_with_the_newest_and_knows_the_best_of_all(
    monkeypatch,
):
    monkeypatch.setattr(epochs_module, "MOST_ROWS", 16)
    for count in range(1, 300):
        epochs = table(
            *({"loss": 0.01 if number == 2 else 1.0 + number} for number in range(count))
        )
        assert len(epochs) == count
        assert len(epochs.rows) <= 17
        assert epochs.last.epoch == count
        *kept, newest = epochs.numbers.tolist()
        gaps = set(np.diff(kept))
        assert len(gaps) <= 1
        assert 0 < newest - (kept[-1] if kept else 0) <= max(gaps, default=1)
    assert epochs.best("loss") == BestValue("loss", 0.01, 3)


def test_that_epochs_which_are_foreseen_stand_behind_the_others_until_their_turn():
    known, later = (
        table({"loss": 9.0}),
        table({"loss": 9.0}, {"loss": 8.0}, {"loss": 7.0, "val_loss": 6.0}),
    )
    later.rows.pop(0)
    known.foresee(later)
    assert (known.numbers.tolist(), known.last.epoch, len(known)) == ([1, 2, 3], 3, 1)
    assert known.metrics == ["loss", "val_loss"]
    assert known.best("loss") == BestValue("loss", 9.0, 1), "what is only foreseen is no best yet"
    known.add(
        Epoch(epoch=2, step=20, metrics={"loss": 1.0}, seconds=1, samples_per_second=1, time=102.0)
    )
    np.testing.assert_array_equal(known.metric("loss"), [9, 1, 7])
    known.add(
        Epoch(epoch=3, step=30, metrics={"loss": 0.5}, seconds=1, samples_per_second=1, time=103.0)
    )
    assert known.metric("loss").tolist() == [9, 1, 0.5]
    assert len(known) == len(known.rows) == 3


@pytest.mark.parametrize(
    ("metric", "higher"),
    [
        ("val_sparse_categorical_accuracy", True),
        ("auc", True),
        ("val_loss", False),
        ("mean_squared_error", False),
        ("root_mean_squared_error", False),
        ("r2_score", True),
        ("mean_io_u", True),
        ("hinge", False),
    ],
)
def test_that_the_direction_of_keras_metrics_is_told_by_their_names(metric, higher):
    assert higher_is_better(metric) is higher
