"""The process that answers questions: what it writes where, and when it goes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest
from patience import PATIENCE_S

from gpu_studio.hardware.doctor.facts import tensorflow_view
from gpu_studio.runs.launch import trainer_environment
from gpu_studio.runs.questions.ask import ask, ask_command
from gpu_studio.trainer.answers.devices import DeviceListing, address_in


def start(*arguments, descriptors=()):
    return subprocess.Popen(
        [*ask_command(), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        pass_fds=descriptors,
        env=trainer_environment({}),
    )


def test_that_the_address_is_read_with_the_physical_device_it_belongs_to():
    text = (
        "device: 1, name: NVIDIA A100-SXM4-40GB, pci bus id: 0000:2d:00.0, compute capability: 8.0"
    )

    assert address_in(text) == ("GPU:1", "0000:2d:00.0")
    assert address_in("device: XLA_CPU device") == address_in("") == ("", "")


class Config:
    """TensorFlow with two cards, the second of which is GPU:0 among its logical devices."""

    def __init__(self) -> None:
        self.config = self.experimental = self

    def list_physical_devices(self):
        kinds = (("CPU:0", "CPU"), ("GPU:0", "GPU"), ("GPU:1", "GPU"))
        return [
            SimpleNamespace(name=f"/physical_device:{name}", device_type=kind)
            for name, kind in kinds
        ]

    def get_device_details(self, device):
        return {"device_name": f"Fake {device.name[-1]}", "compute_capability": (8, 9)}


def local_devices():
    told = "device: 1, name: Fake 1, pci bus id: 0000:2d:00.0, compute capability: 8.9"
    return [
        SimpleNamespace(name="/device:CPU:0", memory_limit=256, physical_device_desc=""),
        SimpleNamespace(name="/device:GPU:0", memory_limit=1024, physical_device_desc=told),
    ]


def test_that_an_address_goes_to_the_physical_device_whatever_the_logical_one_is_called():
    look = DeviceListing(Config(), local_devices)

    assert look.physical == [
        {"name": "CPU:0", "card": "", "capability": None, "bus_id": ""},
        {"name": "GPU:0", "card": "Fake 0", "capability": (8, 9), "bus_id": ""},
        {"name": "GPU:1", "card": "Fake 1", "capability": (8, 9), "bus_id": "0000:2d:00.0"},
    ]
    assert look.logical == [
        {"name": "CPU:0", "limit_bytes": 256},
        {"name": "GPU:0", "limit_bytes": 1024},
    ]
    assert look.errors == []


def test_that_a_card_that_is_full_leaves_its_words_and_the_other_facts():
    def full():
        raise RuntimeError("CUDA_ERROR_OUT_OF_MEMORY")

    look = DeviceListing(Config(), full)

    assert look.errors == ["RuntimeError: CUDA_ERROR_OUT_OF_MEMORY"]
    assert [device["name"] for device in look.physical] == ["CPU:0", "GPU:0", "GPU:1"]


def test_that_an_unknown_question_is_refused():
    process = start("nonsense")
    _, errors = process.communicate(timeout=PATIENCE_S)

    assert process.returncode == 2
    assert b"invalid choice" in errors
    assert b"Traceback" not in errors


@pytest.mark.slow
def test_that_tensorflow_s_view_of_this_machine_is_told_and_kept():
    told = []
    first = ask("devices", progress=told.append)
    view = tensorflow_view(first.value)

    assert view.errors == ()
    assert [device.name for device in view.physical if device.name.startswith("CPU")] == ["CPU:0"]
    assert "CPU:0" in [device.name for device in view.logical]
    assert (view.executable, view.keras[:2]) == (sys.executable, "3.")
    assert all(gpu.bus_id for gpu in view.gpus)
    assert told[0] == "importing TensorFlow"
    assert ask("devices").value == first.value
    if not view.cuda.error:
        assert ask("devices").kept


@pytest.mark.slow
def test_that_by_hand_stdout_holds_the_answer_and_nothing_else():
    process = start("devices")
    output, errors = process.communicate(timeout=PATIENCE_S)

    assert process.returncode == 0, errors
    assert output.count(b"\n") == 1
    assert json.loads(output)["tensorflow"]
    assert b"importing TensorFlow" in errors


@pytest.mark.slow
def test_that_the_process_goes_when_its_asker_has_gone():
    reading, writing = os.pipe()
    process = start("devices", "--to", str(writing), descriptors=(writing,))
    os.close(writing)
    try:
        assert json.loads(os.read(reading, 4096).splitlines()[0]) == {
            "progress": "importing TensorFlow"
        }
        process.stdin.close()
        assert process.wait(PATIENCE_S) == 3
    finally:
        os.close(reading)
        process.kill()
        process.wait(PATIENCE_S)
        process.stdout.close()
        process.stderr.close()


@pytest.mark.slow
def test_that_a_tensorflow_that_cannot_be_imported_is_told(tmp_path):
    (tmp_path / "tensorflow.py").write_text(
        "raise ImportError('libfoo.so: cannot open shared object file')\n"
    )
    environment = trainer_environment({"PYTHONPATH": str(tmp_path)})
    done = subprocess.run(
        [*ask_command(), "devices"],
        env=environment,
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
        text=True,
    )

    assert (done.returncode, done.stdout) == (1, "")
    assert "cannot import what trains (ImportError: libfoo.so: cannot open" in done.stderr
    assert "Install what is missing there" in done.stderr
    assert "Traceback" not in done.stderr
