from __future__ import annotations

import errno
import json
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from gpu_studio import plan
from gpu_studio.contract import events
from gpu_studio.trainer import checkpoints
from gpu_studio.trainer.checkpoints import Checkpoints, Snapshot
from gpu_studio.trainer.errors import TrainerError
from gpu_studio.trainer.progress import TrainingProgress


def snapshot(step: int, value: float | None = None) -> Snapshot:
    arrays = {"model/0/kernel": np.full((3, 2), step, np.float32)}
    return Snapshot(TrainingProgress(epoch=step, step=step), arrays, {"seed": 0}, value)


def saved(
    folder: Path, values: list[float | None], **settings
) -> tuple[list[str], list[events.Event]]:
    told: list[events.Event] = []
    made = Checkpoints(folder, plan.CheckpointSettings(**settings), told.append)
    for step, value in enumerate(values, 1):
        made.save(snapshot(step, value))
    made.close()
    return sorted(path.name for path in folder.iterdir()), told


def test_that_the_last_ones_and_the_best_are_kept(tmp_path: Path) -> None:
    names, told = saved(tmp_path / "c", [0.5, 0.1, 0.4, 0.3, 0.2], keep=2)
    assert names == ["step-00000002", "step-00000004", "step-00000005"]
    assert [event.best for event in told] == [True, True, False, False, False]
    assert [name for event in told for name in event.removed] == ["step-00000001", "step-00000003"]


def test_that_what_the_end_has_left_is_kept_besides_until_a_run_goes_on(tmp_path: Path) -> None:
    end = replace(snapshot(3), at_end=True)
    made = Checkpoints(tmp_path, plan.CheckpointSettings(keep=1), Mock())
    for each in (snapshot(1, 0.1), snapshot(2, 0.2), snapshot(3, 0.3), end):
        made.save(each)
    made.close()
    kept = [path.name for path in sorted(tmp_path.iterdir())]
    assert kept == ["step-00000001", "step-00000003", "step-00000003-end"]
    state, _ = checkpoints.read(tmp_path / kept[-1])
    assert state["at_end"]
    assert not state["best"]
    resumed = Checkpoints(tmp_path, plan.CheckpointSettings(keep=1), Mock())
    resumed.save(snapshot(4, 0.4))
    resumed.close()
    kept = [path.name for path in sorted(tmp_path.iterdir())]
    assert kept == ["step-00000001", "step-00000004"]


def test_that_more_is_better_where_the_monitor_is_an_accuracy(tmp_path: Path) -> None:
    names, _ = saved(tmp_path / "c", [0.5, 0.9, 0.4], keep=1, monitor="val_accuracy")
    assert names == ["step-00000002", "step-00000003"]


def test_that_what_stands_in_for_the_monitor_is_not_compared_with_it(tmp_path: Path) -> None:
    told: list[events.Event] = []
    settings = plan.CheckpointSettings(keep=1)
    other = "val_g_loss"
    values = [(1, 0.3, other), (2, 0.2, other), (3, 0.9, "val_loss"), (4, 0.1, other)]
    for step, value, monitor in values:  # anew each time: what is on the disk says by which
        made = Checkpoints(tmp_path / "c", settings, told.append)
        made.save(replace(snapshot(step, value), monitor=monitor))
        made.close()
    assert [event.best for event in told] == [True, True, True, False]
    kept = sorted(path.name for path in (tmp_path / "c").iterdir())
    assert kept == ["step-00000003", "step-00000004"]
    state, _ = checkpoints.read(tmp_path / "c" / "step-00000004")
    assert state["monitor"] == other


def test_that_a_checkpoint_reads_back_as_it_was_written(tmp_path: Path) -> None:
    saved(tmp_path / "c", [0.5])
    state, arrays = checkpoints.read(tmp_path / "c" / "step-00000001")
    assert TrainingProgress.from_dict(state) == TrainingProgress(epoch=1, step=1)
    assert (state["value"], state["best"], state["seed"]) == (0.5, True, 0)
    np.testing.assert_array_equal(arrays["model/0/kernel"], np.ones((3, 2)))


def test_that_only_the_owner_can_read_it(tmp_path: Path) -> None:
    saved(tmp_path / "c", [0.5])
    modes = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "c").rglob("*")}
    assert modes == {"step-00000001": 0o700, "weights.npz": 0o600, "state.json": 0o600}


def test_that_nothing_is_written_where_a_link_in_the_folders_place_leads(tmp_path: Path) -> None:
    elsewhere, folder = tmp_path / "elsewhere", tmp_path / "c"
    elsewhere.mkdir()
    told: list[events.Event] = []
    made = Checkpoints(folder, plan.CheckpointSettings(), told.append)
    folder.rmdir()
    folder.symlink_to(elsewhere)
    made.save(snapshot(1))
    made.close()
    assert list(elsewhere.iterdir()) == []
    (warned,) = told
    assert isinstance(warned, events.Warned)
    assert "this is a link, which is not followed" in warned.message


def test_that_a_full_disk_costs_the_checkpoint_and_not_the_run(tmp_path: Path, monkeypatch) -> None:
    def full(*_args: object, **_options: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(np, "savez", full)
        names, told = saved(tmp_path / "c", [0.5])
    assert names == []
    assert isinstance(told[0], events.Warned)
    assert "No space left" in told[0].message
    assert saved(tmp_path / "c", [0.5])[0] == ["step-00000001"]


def test_that_it_is_known_whether_the_disk_took_one(tmp_path: Path, monkeypatch) -> None:
    made = Checkpoints(tmp_path / "c", plan.CheckpointSettings(), lambda _: None)
    made.save(snapshot(1))
    assert made.has(1)
    made.save(replace(snapshot(3), at_end=True))
    assert made.has(3)
    monkeypatch.setattr(
        np, "savez", Mock(side_effect=OSError(errno.ENOSPC, "No space left on device"))
    )
    made.save(snapshot(2))
    assert not made.has(2)
    made.close()


def test_that_weights_that_are_no_numbers_push_out_no_checkpoint_that_is_of_use(
    tmp_path: Path,
) -> None:
    told: list[events.Event] = []
    made = Checkpoints(tmp_path / "c", plan.CheckpointSettings(keep=1), told.append)
    for step, values in enumerate(([1, 2], [1, -np.inf], [1, np.nan]), 1):
        made.save(
            Snapshot(snapshot(step).progress, {"model/0/kernel": np.array(values, np.float32)})
        )
    made.close()
    assert [path.name for path in (tmp_path / "c").iterdir()] == ["step-00000002"]
    assert isinstance(told[-1], events.Warned)
    assert told[-1].message.startswith(
        "The checkpoint step-00000003 was not written: model/0/kernel holds values"
    )


def test_that_one_cut_off_while_it_is_written_does_not_count(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    (folder / ".tmp-step-00000007").mkdir(parents=True)
    (folder / ".tmp-step-00000007" / "weights.npz").write_bytes(b"PK")
    names, _ = saved(folder, [0.1])
    assert "step-00000001" in names
    assert "step-00000007" not in names


@pytest.mark.parametrize("damage", ["truncate", "no state", "not json", "pickle"])
def test_that_a_damaged_checkpoint_is_refused_in_words_and_nothing_is_unpickled(
    tmp_path: Path, damage: str
) -> None:
    saved(tmp_path / "c", [0.5])
    path = tmp_path / "c" / "step-00000001"
    weights, state = path / "weights.npz", path / "state.json"
    if damage == "truncate":
        weights.write_bytes(weights.read_bytes()[:100])
    elif damage == "no state":
        state.unlink()
    elif damage == "not json":
        state.write_text("{")
    else:
        np.savez(weights, x=np.array([object()], dtype=object))
    with pytest.raises(TrainerError, match="step-00000001 cannot be read") as caught:
        checkpoints.read(path)
    assert caught.value.suggestions


def test_that_a_resumed_run_counts_the_checkpoint_it_inherited(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    saved(folder, [0.1], keep=1)
    told: list[events.Event] = []
    made = Checkpoints(folder, plan.CheckpointSettings(keep=1), told.append)
    for step, value in ((5, 0.3), (6, 0.2)):
        made.save(snapshot(step, value))
    made.close()
    assert sorted(path.name for path in folder.iterdir()) == ["step-00000001", "step-00000006"]
    assert not any(event.best for event in told)
    assert json.loads((folder / "step-00000001" / "state.json").read_text())["best"]
