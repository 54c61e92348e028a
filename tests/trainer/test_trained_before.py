"""What a script has trained before its `fit`, or loads with its optimizer, goes on from there."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
import warm_python
import zoo_runs

from gpu_studio import plan as plans
from gpu_studio.contract.consent import allow_folder
from gpu_studio.plan.settings import with_settings

pytestmark = [pytest.mark.slow, pytest.mark.processes, pytest.mark.timeout(600)]

BEFORE = """
import json
from pathlib import Path

import keras
import numpy as np

keras.utils.set_random_seed(3)
x = np.random.default_rng(1).normal(size=(96, 6)).astype("float32")
y = x[:, :1] * x[:, 1:2]
model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(8, "tanh"), keras.layers.Dense(1)])
model.compile(keras.optimizers.Adam(0.05), "mse")
for _ in range(4):
    model.train_on_batch(x[:32], y[:32])
LOADING
history = model.fit(x, y, epochs=2, shuffle=False)
Path("history.json").write_text(json.dumps(history.history))
"""
LOADED = 'model.save("before.keras")\nmodel = keras.saving.load_model("before.keras")'
WAY = 'devices.carve=[{ device = "CPU:0", slices_mib = [0, 0] }]'
TWO = (WAY, "distribution.strategy=mirrored", 'distribution.devices=["CPU:0", "CPU:1"]')


@pytest.mark.parametrize(("loading", "settings"), [("", TWO), (LOADED, (WAY,))])
def test_that_an_optimizer_goes_on_from_what_it_has_done(
    tmp_path: Path, loading: str, settings: tuple[str, ...]
) -> None:
    script = tmp_path / "before.py"
    script.write_text(BEFORE.replace("LOADING", loading))
    allow_folder(tmp_path)
    subprocess.run(warm_python.command(str(script)), cwd=tmp_path, check=True)
    history = json.loads((tmp_path / "history.json").read_text())
    plan = plans.with_absolute_files(plans.load(script), tmp_path)
    plan = with_settings(plan, settings)
    run = zoo_runs.trained_plans({"run": plan}, tmp_path)["run"]
    assert [epoch["loss"] for epoch in run.epochs] == pytest.approx(history["loss"], rel=1e-5), run
