"""Scripts load pip's CUDA libraries before TensorFlow looks for cards, as a run does."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from built_libraries import OPENER, build, needs_compiler
from export_plans import SETTINGS, plan_of
from patience import PATIENCE_S
from plan_samples import TWO_CARDS
from training_runs import small_plan

from gpu_studio.export import python_script
from gpu_studio.placement.plan_facts import DataFacts, Learnt, ModelFacts
from gpu_studio.plan import Machine, Plan, strategy_of
from gpu_studio.trainer.cuda_libraries import sonames

HERE = Path("/nowhere")
ARRAYS = DataFacts("load", "values", None, 80, x_shape=(5,), y_shape=(1,), arrays=("x", "y"))
COMPILED = ModelFacts(learnt=Learnt("values", True, "mse", ("mae",), compiled=True))
BY_FIT = (
    "model.python=m.py:build",
    "data.python=m.py:load",
    "training.optimizer=compiled",
    "training.metrics=[]",
)
CALL = "    load_libraries(CUDA_LIBRARIES)\n    set_up_devices()\n"


def script(plan: Plan, machine: Machine | None = None) -> str:
    facts = (ARRAYS, COMPILED) if plan.data.python else ()
    return python_script(plan, machine, HERE, *facts)


def by_fit(*settings: str) -> Plan:
    return small_plan("devices.carve=", *BY_FIT, *settings)


def test_that_each_script_loads_them_just_before_its_devices_unless_it_hides_all_cards():
    plans = [plan_of(name) for name in SETTINGS]
    plans += [by_fit(), by_fit("distribution.strategy=mirrored")]
    for plan in plans:
        text = script(plan)
        hides = plan.devices.visible == ("CPU:0",) or strategy_of(plan).serves
        assert hides == (CALL not in text), plan.name
        words = ("CUDA_LIBRARIES", "load_libraries", "ctypes", "sysconfig")
        assert [word for word in words if word in text] == ([] if hides else list(words))
        main = text.index("def main():")
        assert not hides or "    set_up_devices()\n" in text[main:]


def test_that_a_script_by_fit_that_hides_all_cards_loads_none():
    assert "model.fit(" in script(by_fit())
    assert CALL in script(by_fit())
    hidden = script(by_fit('devices.visible=["CPU:0"]'))
    assert "set_up_devices()" in hidden
    assert "load_libraries" not in hidden


def test_that_a_script_made_on_practice_cards_loads_them_for_it_is_for_real_ones():
    practice = replace(TWO_CARDS, practice="2x24GiB")
    assert CALL in script(small_plan("devices.carve="), practice)


def names_in(text: str) -> list[str]:
    """The libraries that a script names."""
    (found,) = (
        node.value
        for node in ast.parse(text).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "CUDA_LIBRARIES"
    )
    names: list[str] = ast.literal_eval(found)
    return names


def test_that_a_script_names_what_the_trainer_loads_for_this_tensorflow():
    assert names_in(script(small_plan())) == list(sonames("12.5.1", "9"))


PROCESS = """
import importlib.util, json, sys, sysconfig
sysconfig.get_path = lambda _kind: sys.argv[1]
import ctypes, os
from pathlib import Path
opener, name = ctypes.CDLL(sys.argv[2]), sys.argv[4].encode()
exec(sys.stdin.read())
before = opener.opens(name)
loaded = load_libraries(CUDA_LIBRARIES, os.environ, sys.argv[3])
print(json.dumps([before, loaded, opener.opens(name), importlib.util.find_spec("gpu_studio")]))
"""


def functions(text: str) -> str:
    """What a script has between its imports and its devices."""
    return text[text.index("CUDA_LIBRARIES = [") : text.index("def set_up_devices")]


@needs_compiler
@pytest.mark.skipif(sys.platform != "linux", reason="only glibc is known to go by the SONAME")
@pytest.mark.parametrize("has_driver", [True, False])
def test_that_the_functions_of_a_script_let_a_packaged_library_be_found(tmp_path, has_driver):
    name = "libcusolver.so.11"
    path = build(tmp_path / "nvidia" / "cusolver" / "lib" / name)
    opener, driver = build(tmp_path / "opener.so", OPENER), tmp_path / "libcuda.so.1"
    if has_driver:
        build(driver)
    environment = {key: value for key, value in os.environ.items() if key != "LD_LIBRARY_PATH"}
    told = subprocess.run(
        [sys.executable, "-S", "-E", "-P", "-c", PROCESS, tmp_path, opener, driver, name],
        input=functions(script(small_plan())).encode(),
        capture_output=True,
        check=True,
        timeout=PATIENCE_S,
        env=environment,
        cwd=tmp_path,
    )

    wanted = [0, [str(path)], 1, None] if has_driver else [0, [], 0, None]
    assert json.loads(told.stdout) == wanted
