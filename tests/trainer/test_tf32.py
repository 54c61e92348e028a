"""Whatever computes for a plan has TF32 on or off as it says, before anything is computed."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
import warm_python
from patience import PATIENCE_S
from training_runs import small_plan

from gpu_studio.export import python_script
from gpu_studio.plan import dumps, with_settings

SERVED = (
    "distribution.strategy=parameter_server",
    "devices.carve=",
    "cluster.trusted_network=true",
)

PROGRAM = """
import json, os, sys
from pathlib import Path
import numpy as np
import tensorflow as tf
from gpu_studio import plan as plans
from gpu_studio.contract import STATE_FILE, WEIGHTS_FILE
from gpu_studio.trainer import session
from gpu_studio.trainer.answers import checkpoint
from gpu_studio.trainer.cluster.commanded import serve

is_on = tf.config.experimental.tensor_float_32_execution_enabled
turn = tf.config.experimental.enable_tensor_float_32_execution
found = {}

def trains(text):
    told = []
    made = session.build(plans.loads(text), Path(), lambda event: told.append(is_on()))
    weights = {name: value for name, value in made.capture().items() if name.startswith("model/")}
    np.savez(WEIGHTS_FILE, **weights)
    Path(STATE_FILE).write_text("{}")
    return set(told)

def evaluates(text):
    about = {"plan": text, "checkpoint": ".", "precision": "float32", "host": False}
    checkpoint.rebuilt({**about, "polite": False}, lambda said: None)
    return {is_on()}

def scripted(text):
    script = {"__name__": "script", "__file__": "train.py"}
    exec(text, script)
    script["set_up_devices"]()
    return {is_on()}

def serves(text):
    cluster = {"cluster": {"worker": ["localhost:0"]}, "task": {"type": "worker", "index": 0}}
    server = serve(plans.loads(text), json.dumps(cluster))
    return {is_on()}

ways = {"trains": trains, "evaluates": evaluates, "scripted": scripted, "serves": serves}
for way, said, text in json.load(open(sys.argv[1])):
    turn(not said)  # what it was before counts for nothing
    found.setdefault(way, []).append(ways[way](text) == {said})
print(json.dumps(found))
"""


@pytest.mark.slow
def test_that_trainer_checkpoints_servers_and_scripts_have_tf32_as_the_plan_says(
    tmp_path: Path,
) -> None:
    """In one process, whose state is the opposite before each: this machine need have no card."""
    plans = {said: small_plan(f"training.tf32={str(said).lower()}") for said in (False, True)}
    texts = {said: dumps(plan) for said, plan in plans.items()}
    served = {said: dumps(with_settings(plan, SERVED)) for said, plan in plans.items()}
    # A script leaves TensorFlow's own default as it finds it: only off is asked for.
    scripted = [("scripted", False, python_script(plans[False], None, tmp_path))]
    asked = [
        *(("trains", said, texts[said]) for said in texts),
        *(("evaluates", said, texts[said]) for said in texts),
        *scripted,
        *(("serves", said, served[said]) for said in served),
    ]
    (tmp_path / "asked.json").write_text(json.dumps(asked))
    done = subprocess.run(
        [*warm_python.command("-c"), PROGRAM, "asked.json"],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads(done.stdout.splitlines()[-1]) == {
        "trains": [True, True],
        "evaluates": [True, True],
        "scripted": [True],
        "serves": [True, True],
    }
