"""Plans that cannot be exported are refused in words."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from plan_samples import NO_CARDS
from training_runs import small_plan

from gpu_studio.export import ExportError, python_script
from gpu_studio.plan import Data, ModelSettings, Plan

MIRRORED = "distribution.strategy=mirrored"
PLACED, FLAT = "distribution.strategy=placed", "distribution.placed.layers={ dense = 'CPU:1' }"


def refusal(plan: Plan, base: Path = Path("/nowhere")) -> str:
    with pytest.raises(ExportError) as refused:
        python_script(plan, None, base)
    return str(refused.value)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (["distribution.strategy=tpu"], '"tpu" cannot be written as a script'),
        (["training.epochs=0"], "training.epochs is 0"),
        (["training.options={ dtype = 'float16' }"], "not an option of Keras"),
        (["training.options={ 'x y' = 1 }"], "not an option of Keras"),
        (["training.options={ momentum = { a = 1 } }"], "a table"),
        (
            [
                "training.loss={ name = 'auto' }",
                "training.metrics=[{ name = 'auc', from_logits = true }]",
            ],
            "from_logits",
        ),
        (
            ["training.schedule={ name = 'cosine', warmup_epochs = 2 }"],
            "the whole run has 2 epochs",
        ),
        (["training.callbacks=[{ name = 'terminate_on_nan' }]"], "how mlp learns are known once"),
        (
            [PLACED, FLAT, "training.callbacks=[{ name = 'terminate_on_nan' }]"],
            "how mlp learns are known once",
        ),
        ([PLACED, FLAT, "model.file=a.keras"], "how a.keras learns are known once"),
        ([PLACED], "No layer is placed"),
        (
            [
                PLACED,
                "model.options={ dropout = 0.5 }",
                "distribution.placed.layers={ dropout = ['CPU:1', 'CPU:2'] }",
            ],
            "a Dropout has no units of its own",
        ),
        (["devices.carve=[{ device = 'GPU-5d0', slices_mib = [1024] }]"], "Which card GPU-5d0 is"),
    ],
)
def test_that_what_no_script_can_do_is_said(settings, said):
    assert said in refusal(small_plan(*settings))


def test_that_sources_of_a_later_version_are_refused():
    plan = small_plan()
    assert "data.folder" in refusal(replace(plan, data=Data(folder="images")))


def test_that_what_only_the_user_s_code_could_tell_is_said():
    plan = small_plan()
    assert "What data.py:load returns is known once it has run" in refusal(
        replace(plan, data=Data(python="data.py:load"))
    )
    own = replace(plan, model=ModelSettings(python="m.py:build"))
    assert "how m.py:build learns are known once" in refusal(
        replace(own, distribution=small_plan(PLACED, FLAT).distribution)
    )


def test_that_accumulation_is_no_reason_to_refuse_where_replicas_mirror_their_variables():
    options = ("training.options={ gradient_accumulation_steps = 4 }",)
    assert "update_for_all(" in python_script(small_plan(MIRRORED, *options), None, Path())
    assert "gradient_accumulation_steps=4" in python_script(small_plan(*options), None, Path())
    alone = small_plan("devices.carve=", MIRRORED, *options)
    assert "gradient_accumulation_steps=4" in python_script(alone, NO_CARDS, Path())


def test_that_a_home_folder_of_nobody_is_said():
    assert "no such home folder" in refusal(small_plan("data.file=~nobody-of-this-name/mine.npz"))
    assert "no such home folder" in refusal(
        small_plan("model.file=~nobody-of-this-name/mine.keras")
    )


def test_that_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "mine.npz")
    assert "no such file" in refusal(small_plan("data.file=mine.npz"), tmp_path)


def test_that_a_folder_of_images_is_looked_at_and_its_faults_are_said(tmp_path):
    plan = small_plan("data.folder=pets/")
    assert "No such file or directory" in refusal(plan, tmp_path)
    (tmp_path / "pets" / "cats").mkdir(parents=True)
    assert "cannot be used (holds a single class, cats: training needs two or more" in refusal(
        plan, tmp_path
    )


def test_that_a_data_file_is_looked_at_and_its_faults_are_said(tmp_path):
    plan = small_plan("data.file=mine.npz")
    assert "cannot be read" in refusal(plan, tmp_path)
    (tmp_path / "mine.npz").write_bytes(b"no archive")
    assert "cannot be read" in refusal(plan, tmp_path)
    np.savez(tmp_path / "mine.npz", x=np.zeros(3))
    assert "x_train and y_train, or x and y" in refusal(plan, tmp_path)
    np.savez(tmp_path / "mine.npz", x=np.array([{}], object), y=np.zeros(1))
    assert "arrays of numbers" in refusal(plan, tmp_path)


def test_that_code_that_imports_as_a_module_of_a_package_is_told_how_it_can_be_a_script(
    tmp_path: Path,
) -> None:
    (tmp_path / "nets").mkdir()
    (tmp_path / "nets" / "layers.py").write_text("def block(): ...")
    (tmp_path / "nets" / "models.py").write_text("from .layers import block\ndef build(): ...")
    plan = replace(small_plan(), model=ModelSettings(python="nets/models.py:build"))
    assert refusal(plan, tmp_path) == (
        "nets/models.py imports as a module of the package nets, and a script is in none: name a "
        f"file in {tmp_path} that imports what it needs from nets."
    )
