"""The prediction for a run, saved beside it."""

from __future__ import annotations

import pytest

from gpu_studio.contract.directory import RunDirectory
from gpu_studio.placement.device_memory import PredictedMemory
from gpu_studio.runs.results import prediction
from gpu_studio.runs.results.prediction import Prediction


@pytest.fixture
def run(tmp_path):
    return RunDirectory.create(tmp_path, "a plan")


def test_that_what_was_predicted_is_read_back(run):
    told = Prediction(bytes={"GPU:0": 1 << 30, "CPU:0": 5}, step_seconds=0.0125)
    prediction.write(run, told)
    assert prediction.read(run) == told
    assert run.prediction_file.stat().st_mode & 0o777 == 0o600


def test_that_it_is_kept_on_which_devices_workspaces_come_besides(run):
    memories = (
        PredictedMemory("GPU:0", total=7, without="cuDNN's workspaces"),
        PredictedMemory("GPU:1", total=8, bound=True),
        PredictedMemory("CPU:0"),
    )
    prediction.write(run, prediction.of_memories(memories, 0.5))
    kept = prediction.read(run)
    assert kept == Prediction(
        bytes={"GPU:0": 7, "GPU:1": 8},
        step_seconds=0.5,
        incomplete=("GPU:0",),
        bounds=("GPU:1",),
    )
    assert (kept.at_most("GPU:0"), kept.at_most("GPU:1")) == ("", "at most ")
    assert kept.missing_on("GPU:0") == ", without cuDNN's workspaces or what XLA changes"
    assert kept.missing_on("GPU:1") == ""


def test_that_nothing_is_kept_where_nothing_is_known(run):
    prediction.write(run, Prediction())
    assert not run.prediction_file.exists()
    assert prediction.read(run) is None


@pytest.mark.parametrize(
    "rubbish", [b"", b"{", b"[]", b'{"bytes": {"GPU:0": "much"}}', b"\xff\xfe", b"{}"]
)
def test_that_what_cannot_be_made_out_is_no_prediction(run, rubbish):
    run.prediction_file.write_bytes(rubbish)
    assert prediction.read(run) is None


def test_that_a_folder_that_is_gone_stops_nobody(run):
    run.path.rmdir()
    prediction.write(run, Prediction(step_seconds=1.0))
    assert prediction.read(run) is None


def test_that_a_later_version_may_predict_more(run):
    run.prediction_file.write_bytes(b'{"bytes": {"GPU:0": 7}, "watts": 300}')
    assert prediction.read(run) == Prediction(bytes={"GPU:0": 7})
