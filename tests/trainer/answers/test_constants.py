"""The constants that a graph keeps on a CPU, as its allocator counts them in a run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from patience import PATIENCE_S

from gpu_studio.plan import Data, DeviceSettings, ModelSettings, Plan, save

pytestmark = pytest.mark.slow

PROGRAM = Path(__file__).parent / "programs" / "kept_constants.py"
CLOSE = 0.1


@pytest.mark.parametrize(
    ("model", "shape"),
    [
        (ModelSettings("mlp", options={"hidden": [16, 16]}), [10]),
        pytest.param(ModelSettings("cnn"), [28, 28, 1], marks=pytest.mark.whole(__file__)),
    ],
    ids=["mlp", "cnn"],
)
def test_that_a_step_keeps_as_many_pieces_as_its_graph_has_constants(tmp_path, model, shape):
    plan = Plan(
        devices=DeviceSettings(visible=("CPU:0",)),
        model=model,
        data=Data(name="synthetic", options={"shape": shape, "samples": 20}),
    )
    save(plan, tmp_path / "some.plan.toml")
    done = subprocess.run(
        [sys.executable, str(PROGRAM), "some.plan.toml"],
        cwd=tmp_path,
        env={**os.environ, "CUDA_VISIBLE_DEVICES": "-1", "TF_CPU_ALLOCATOR_USE_BFC": "true"},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    )
    pieces = json.loads(done.stdout.splitlines()[-1])
    assert pieces["foreseen"] == pytest.approx(pieces["held"], rel=CLOSE)
