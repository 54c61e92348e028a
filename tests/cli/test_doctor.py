from __future__ import annotations

import json
import shlex
import sys

import fake_asker
import pytest
from patience import PATIENCE_S

from gpu_studio.runs.launch import TRAINER_VARIABLE


@pytest.fixture
def no_tensorflow(tmp_path, monkeypatch):
    """A Python that has no TensorFlow to answer with."""
    program = (
        f"import os, runpy, sys; sys.argv[1:1] = ['fail']; runpy.run_path({fake_asker.__file__!r}, "
        "run_name='__main__')"
    )
    script = tmp_path / "python"
    script.write_text(
        f'#!/bin/sh\nshift 2\nexec {shlex.quote(sys.executable)} -c {shlex.quote(program)} "$@"\n'
    )
    script.chmod(0o700)
    monkeypatch.setenv(TRAINER_VARIABLE, f"{script} -m gpu_studio.trainer")


def test_that_a_tensorflow_that_does_not_start_must_be_mended(gpu_studio, no_tensorflow):
    answer = gpu_studio("doctor", "--json")
    found = {finding["check"]: finding for finding in answer.document["findings"]}

    assert answer.code == 1
    assert "no TensorFlow here" in found["tensorflow"]["found"]
    assert found["tensorflow"]["mend"]
    assert "Traceback" not in answer.err


def test_that_the_text_ends_with_what_must_be_mended(gpu_studio, no_tensorflow):
    answer = gpu_studio("doctor")

    assert answer.code == 1
    assert "✘ TensorFlow" in answer.out
    assert answer.out.rstrip().endswith("must be mended (✘).")


def test_that_wrong_arguments_are_refused(gpu_studio):
    assert gpu_studio("doctor", "--nonsense").code == 2


@pytest.mark.slow
def test_that_this_machine_is_examined_with_its_tensorflow(gpu_studio_process, tmp_path):
    process = gpu_studio_process("doctor", "--json", "--runs-dir", tmp_path)
    output, errors = process.communicate(timeout=PATIENCE_S)
    document = json.loads(output)

    assert process.returncode == (0 if document["well"] else 1)
    assert errors == ""
    assert document["tensorflow"]["tensorflow"]
    assert str(tmp_path) in next(f["found"] for f in document["findings"] if f["check"] == "room")
    if not document["cards"]:
        assert "carved" in document["findings"][0]["found"]


@pytest.mark.slow
@pytest.mark.usefixtures("warm_asker")
def test_that_a_simulated_machine_can_be_examined(gpu_studio, monkeypatch):
    monkeypatch.setenv("GPU_STUDIO_SIMULATE", "2xH100")
    answer = gpu_studio("doctor")

    assert "2 × NVIDIA H100" in answer.out
    assert "GPU_STUDIO_SIMULATE" in answer.out
    assert answer.code == 0
