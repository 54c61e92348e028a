"""Scalars for other programs: what a disk does to them costs them, and never the run."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from small_disks import SmallDisk

from gpu_studio.contract.directory import RunDirectory
from gpu_studio.contract.events import Epoch, Event, Warned
from gpu_studio.trainer import scalars
from gpu_studio.trainer.scalars import Scalars

EPOCHS = 200


def end_of_epoch(number: int) -> Epoch:
    return Epoch(
        epoch=number, step=number, metrics={"loss": 1.0}, seconds=1.0, samples_per_second=1.0
    )


def facts_of(run: RunDirectory, between: Any = lambda: None) -> list[Event]:
    """What the telemetry of a run tells in some epochs, with `between` called after the first."""
    from gpu_studio.trainer.telemetry import Telemetry

    told: list[Event] = []
    writer: Any = SimpleNamespace(write=told.append)
    memory: Any = SimpleNamespace(read=list)
    telemetry = Telemetry(run, writer, memory)
    telemetry.epoch(end_of_epoch(1))
    between()
    for number in range(2, EPOCHS + 1):
        telemetry.epoch(end_of_epoch(number))
    telemetry.close()
    return told


def warnings(told: list[Event]) -> list[str]:
    return [event.message for event in told if isinstance(event, Warned)]


def test_that_a_disk_that_fills_up_costs_scalars_and_is_told_once(small_disk: SmallDisk) -> None:
    run = RunDirectory.create(small_disk.path, "x")
    told = facts_of(run, between=small_disk.fill)
    (warning,) = warnings(told)
    assert "No space left on device" in warning
    assert [event.epoch for event in told if isinstance(event, Epoch)] == list(range(1, EPOCHS + 1))


@pytest.mark.parametrize("room", [0, 4096])
def test_that_a_disk_that_is_full_from_the_start_costs_scalars_only(
    small_disk: SmallDisk, room: int
) -> None:
    run = RunDirectory.create(small_disk.path, "x")
    small_disk.leave(room)
    (warning,) = warnings(facts_of(run))
    assert "No space left on device" in warning


@pytest.mark.slow
def test_that_no_scalar_is_lost_of_a_disk_that_was_full_for_a_while(small_disk: SmallDisk) -> None:
    run = RunDirectory.create(small_disk.path, "x")
    small_disk.leave(4096)
    scalars = Scalars(run)
    for epoch in range(EPOCHS):
        scalars.epoch(epoch, epoch, {"loss": 1.0})
    assert small_disk.room == 0
    small_disk.clear()
    scalars.close()
    assert scalars.lost == ""
    rows = run.scalars_file.read_text().splitlines()
    assert [row.split(",")[0] for row in rows] == ["epoch", *map(str, range(EPOCHS))]
    assert on_the_board(run) == list(range(EPOCHS))


def test_that_a_disk_that_stays_full_takes_no_more_memory_for_ever(
    small_disk: SmallDisk, monkeypatch: Any
) -> None:
    monkeypatch.setattr(scalars, "MOST_WAITING", 1000)
    small_disk.fill()
    file = scalars.PatientFile(small_disk.path / "x")
    for _ in range(30):
        file.write(b"a" * 99 + b"\n")
    small_disk.clear()
    file.write(b"end\n")
    file.close()
    assert file.lost == "No space left on device"
    assert (small_disk.path / "x").read_bytes().splitlines() == [b"a" * 99] * 11 + [b"end"]


@pytest.mark.slow
def test_that_a_runs_folder_whose_name_is_no_utf_8_costs_nothing(tmp_path: Path) -> None:
    run = RunDirectory.create(tmp_path / os.fsdecode(b"runs-\xff"), "x")
    assert warnings(facts_of(run)) == []
    run.path.parent.rename(tmp_path / "plain")  # which TensorBoard can read
    assert on_the_board(RunDirectory(tmp_path / "plain" / run.id)) == list(range(1, EPOCHS + 1))


def on_the_board(run: RunDirectory) -> list[int]:
    """The steps of which TensorBoard has the loss of an epoch."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    board = EventAccumulator(str(run.tensorboard), {"tensors": 0})
    board.Reload()
    return [event.step for event in board.Tensors("epoch/loss")]
