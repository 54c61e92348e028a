"""Scripts begin with the weights that the plan names, and freeze what it freezes."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from exported_scripts import RUFF

from gpu_studio import plan as plans
from gpu_studio.export import python_script

PLAN = """
version = 1
name = "transfer"
[model]
name = "mlp"
weights = "base.weights.h5"
[data]
name = "digits"
"""
ENTRIES = (
    ["base"],
    ["base/*", "!base/b"],
    ["!base"],
    ["!base/[ab]", "head"],
    ["*", "!head"],
    ["nothing*"],
)


def script(frozen: list[str]) -> str:
    plan = plans.with_settings(plans.loads(PLAN), [f"model.frozen={frozen}"])
    return python_script(plan, None, Path("/nowhere"))


def test_that_a_prepared_model_is_written_as_ruff_formats_it(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(script(["hidden*", "!hidden_2"]))
    for command in (("format", "--isolated", "--diff"), ("check", "--isolated", "--no-cache")):
        ended = subprocess.run(
            [*RUFF, *command, "."], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert ended.returncode == 0, ended.stdout
    lines = (tmp_path / "train.py").read_text().splitlines()
    assert max(map(len, lines)) <= 88
    assert [line.strip() for line in lines].count("freeze(model, FROZEN)") == 1
    assert [line.strip() for line in lines].count("load_given_weights(model)") == 1
    assert "freeze" not in script([])


@pytest.mark.slow
@pytest.mark.parametrize("frozen", [True, False])
@pytest.mark.parametrize("entries", ENTRIES, ids=" ".join)
def test_that_a_script_freezes_what_a_run_freezes(entries: list[str], frozen: bool) -> None:
    from gpu_studio.trainer.models.building import freeze

    of_run, of_script = _model(frozen), _model(frozen)
    if entries != ["nothing*"]:  # which a run refuses
        freeze(of_run, entries)
    _functions(entries)["freeze"](of_script, entries)
    assert _trained(of_script) == _trained(of_run)


def _functions(entries: list[str]) -> dict[str, Any]:
    import fnmatch
    import itertools

    import keras

    text = script(entries)
    piece = text[text.index("FROZEN = ") : text.index("def make_optimizer")]
    names = {"keras": keras, "fnmatch": fnmatch, "itertools": itertools}
    exec(piece, names)
    return names


def _model(frozen: bool) -> Any:
    import keras
    from keras import layers

    inputs = keras.Input((4,))
    x = layers.BatchNormalization(name="bn")(layers.Dense(3, name="a")(inputs))
    base = keras.Model(inputs, layers.Dense(3, name="b")(x), name="base")
    base.trainable = not frozen
    whole = keras.Input((4,))
    return keras.Model(whole, layers.Dense(2, name="head")(base(whole)))


def _trained(model: Any) -> list[str]:
    return [variable.path for variable in model.trainable_variables]
