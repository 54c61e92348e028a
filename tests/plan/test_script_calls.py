"""Which call of `fit` of a script a plan means, read as text: its number, and what is known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from textwrap import dedent

import pytest

from gpu_studio import plan as plans
from gpu_studio.plan import Callback, Plan, PlanError
from gpu_studio.plan.edits.sources import with_call, with_script
from gpu_studio.plan.script_calls import again, call_at, call_of, calls_of, number_of
from gpu_studio.plan.scripts import OF_PLANS, FitCall
from gpu_studio.plan.strategies import RUNNABLE_STRATEGIES, strategy_named

PHASES = """
base.trainable = False
history = model.fit(x, y, epochs=3, batch_size=8)
base.trainable = True
model.fit(x, y, epochs=6, initial_epoch=3, batch_size=8, callbacks=[stop])
model.save("tuned.keras")
"""
FOLDS = "for fold in folds:\n    model = build()\n    model.fit(x[fold], y[fold], epochs=4)\n"


def file_with(folder: Path, text: str) -> Path:
    path = folder / "train.py"
    path.write_text(dedent(text))
    return path


def call(folder: Path, text: str, function: str) -> FitCall | None:
    path = file_with(folder, text)
    return call_of(path, path.read_bytes(), function)


@pytest.mark.parametrize(
    ("function", "number"),
    [
        *(("fit", 1), ("fit_2", 2), ("fit_10", 10)),
        *((each, 0) for each in ("fit_1", "fit_0", "fit_02", "fit_x", "fit_", "2", "build")),
        *((each, 0) for each in ("fit_99999", "fit_²", "refit_2")),
    ],
)
def test_that_a_function_of_a_script_says_which_call_is_meant(function: str, number: int) -> None:
    assert number_of(function) == number


def test_that_calls_that_come_one_after_the_other_are_known_by_their_text(tmp_path: Path) -> None:
    first, second = call(tmp_path, PHASES, "fit"), call(tmp_path, PHASES, "fit_2")
    assert first is not None
    assert second is not None
    assert (first.line, first.later, second.line, second.later) == (3, 5, 5, 0)
    assert second.known == {"epochs": 6, "initial_epoch": 3, "batch_size": 8}
    assert (first.callbacks, second.callbacks, second.unwritten) == (
        False,
        True,
        "model.save in line 6",
    )
    assert (second.place, second.function) == ("in line 5", "fit_2")


@pytest.mark.parametrize(
    "text",
    [
        FOLDS,
        "def train(rate):\n    model.fit(x, epochs=4)\ntrain(1)\ntrain(2)\n",
        "if head:\n    model.fit(x, epochs=1)\nmodel.fit(x, epochs=2)\nmodel.fit(x, epochs=3)\n",
        "model.fit(x, epochs=1)\nother.fit(x, y)\nmodel.fit(x, epochs=3)\n",
        "model.fit(x, epochs=1)\n",
    ],
)
def test_that_where_a_call_stands_is_left_open_where_the_text_does_not_say_it(
    tmp_path: Path, text: str
) -> None:
    found = call(tmp_path, text, "fit_2")
    assert found is not None
    assert (found.counted, found.place, found.known) == (True, "in call 2", {})
    assert (found.unknown, found.callbacks, found.later) == (OF_PLANS, True, 0)


def test_that_a_scaler_that_is_fitted_counts_for_none(tmp_path: Path) -> None:
    found = call(tmp_path, f"scaler.fit(x)\n{PHASES}", "fit_2")
    assert found is not None
    assert found.known["epochs"] == 6


def test_that_where_a_module_beside_a_script_trains_too_nothing_is_sure(tmp_path: Path) -> None:
    (tmp_path / "loops.py").write_text("def train(model):\n    model.fit(x, epochs=9)\n")
    found = call(tmp_path, f"from loops import train\n{PHASES}", "fit_2")
    assert found is not None
    assert found.counted
    unpacked = call(tmp_path, PHASES.replace("batch_size=8", "**more"), "fit_2")
    assert unpacked is not None
    assert (unpacked.counted, unpacked.known) == (False, {"epochs": 6, "initial_epoch": 3})


METHOD = "class Trainer:\n    def run(self, fold):\n        self.model.fit(fold, epochs=2)\n"
IN_INIT = "class Trainer:\n    def __init__(self, fold):\n        self.model.fit(fold, epochs=2)\n"
FUNCTION = "def train(fold):\n    model.fit(fold, epochs=2)\n"


@pytest.mark.parametrize(
    ("text", "later"),
    [
        (f"{METHOD}for fold in folds:\n    Trainer().run(fold)\n", 5),
        (f"{METHOD}trainer = Trainer()\ntrainer.run(1)\ntrainer.run(2)\n", 6),
        (f"import subprocess\n{METHOD}Trainer().run(1)\nsubprocess.run([])\n", 0),
        (f"{METHOD}class Other(Trainer):\n    def go(self):\n        super().run(1)\nOther()\n", 0),
        (f"{METHOD}class A:\n    def run(self, k): ...\nA().run(1)\nA().run(2)\n", 0),
        (f"{IN_INIT}models = [Trainer(each) for each in folds]\n", 4),
        (f"{FUNCTION}def one(k):\n    train(k)\nfor k in folds:\n    one(k)\n", 6),
        (f"{FUNCTION}if a:\n    train(1)\nelse:\n    train(2)\n", 0),
        (f"{FUNCTION}def main():\n    train(1)\nmain()\n", 0),
    ],
)
def test_that_a_call_is_found_again_through_all_that_calls_it(
    tmp_path: Path, text: str, later: int
) -> None:
    found = call(tmp_path, text, "fit")
    assert found is not None
    assert found.later == later


@pytest.mark.parametrize(
    ("beside", "text", "later"),
    [
        (FUNCTION, "from loops import train\nfor fold in folds:\n    train(fold)\n", 3),
        (FUNCTION, "from loops import train as go\ngo(1)\ngo(2)\n", 3),
        (FUNCTION, "import loops\ndef one(k):\n    loops.train(k)\none(1)\none(2)\n", 5),
        (METHOD, "from loops import Trainer\nfor fold in folds:\n    Trainer().run(fold)\n", 3),
        (FUNCTION, "from loops import train\ntrain(1)\n", 0),
    ],
)
def test_that_a_script_that_goes_to_a_module_again_is_told_so(
    tmp_path: Path, beside: str, text: str, later: int
) -> None:
    (tmp_path / "loops.py").write_text(beside)
    found = call(tmp_path, text, "fit")
    assert found is not None
    assert (found.module, found.later) == ("loops.py", later)
    path = tmp_path / "train.py"
    offered = calls_of(path, path.read_bytes())
    assert (len(offered) > 1) == bool(later)
    if later:
        assert again("train.py", found)[0].startswith(f"train.py calls fit again in line {later}:")
    (tmp_path / "loops.py").write_text(f"{beside}for k in range(2):\n    model.fit(k, epochs=1)\n")
    found = call(tmp_path, text, "fit")
    assert found is not None
    assert again("train.py", found)[0].startswith("loops.py calls fit again in line")


def test_that_a_function_of_that_name_is_meant_where_the_file_has_one(tmp_path: Path) -> None:
    assert call(tmp_path, f"def fit_2():\n    pass\n{PHASES}", "fit_2") is None
    assert call(tmp_path, "x = 1", "fit_2") is None
    assert call(tmp_path, PHASES, "build") is None


@pytest.mark.parametrize(
    ("text", "functions"),
    [
        (PHASES, ["fit", "fit_2"]),
        (FOLDS, ["fit", "fit_2", "fit_3", "fit_4", "fit_5"]),
        ("model.fit(x, epochs=1)", ["fit"]),
        ("if a:\n    m.fit(x, epochs=1)\nelse:\n    m.fit(x, epochs=2)\n", ["fit"]),
        ("x = 1", []),
    ],
)
def test_that_the_calls_are_offered_that_a_script_may_make(
    tmp_path: Path, text: str, functions: list[str]
) -> None:
    path = file_with(tmp_path, text)
    assert [each.function for each in calls_of(path, path.read_bytes())] == functions


def test_that_a_script_is_read_as_the_plan_that_trains_its_later_call(tmp_path: Path) -> None:
    plan = plans.load(file_with(tmp_path, PHASES), 2)
    assert (plan.model.python, plan.data.python) == ("train.py:fit_2", "train.py:fit_2")
    assert (plan.training.epochs, plan.training.initial_epoch) == (6, 3)
    assert plan.training.callbacks == (Callback("train.py:fit_2"),)
    assert not plans.validate(plan)
    assert plans.loads(plans.dumps(plan)) == plan
    plan = plans.load(file_with(tmp_path, FOLDS), 7)
    assert plan.training.as_in_script == OF_PLANS
    assert not plans.validate(plan)


def test_that_a_plan_file_names_its_call_itself(tmp_path: Path) -> None:
    path = tmp_path / "mine.plan.toml"
    plans.save(Plan(), path)
    assert plans.load(path, 1) == Plan()
    with pytest.raises(PlanError, match=r'model\.python = "train\.py:fit_2"'):
        plans.load(path, 2)


@pytest.mark.parametrize("strategy", RUNNABLE_STRATEGIES)
def test_that_a_later_call_is_trained_on_one_device(tmp_path: Path, strategy: str) -> None:
    plan = plans.load(file_with(tmp_path, PHASES), 2)
    spread = replace(plan, distribution=plans.Distribution(strategy))
    said = [str(each) for each in plans.validate(spread) if "by the calls of fit" in str(each)]
    assert len(said) == (strategy_named(strategy).pace != "one replica")
    assert all("model.python is train.py:fit_2" in each for each in said)


def test_that_model_and_data_are_of_one_call(tmp_path: Path) -> None:
    plan = plans.load(file_with(tmp_path, PHASES), 2)
    mixed = replace(plan, data=replace(plan.data, python="train.py:fit"))
    (problem,) = plans.validate(mixed)
    assert str(problem).startswith('model.python is "train.py:fit_2": the data are those of fit')
    others = replace(plan.data, python="other.py:load")
    assert not plans.validate(replace(plan, data=others, training=plans.Training()))


def test_that_another_call_is_chosen_in_all_parts_of_a_plan_at_once(tmp_path: Path) -> None:
    path = file_with(tmp_path, PHASES)
    first, second = (call_at(path, path.read_bytes(), number) for number in (1, 2))
    assert first is not None
    assert second is not None
    plan = with_script(Plan(), "train.py", first)
    changed = with_call(plan, "model.python", second)
    assert changed == with_script(Plan(), "train.py", second)
    assert with_call(changed, "data.python", first) == plan
    # What is no other call changes nothing else.
    edited = replace(plan, training=replace(plan.training, epochs=50))
    assert with_call(edited, "model.python", first) == edited


def test_that_of_a_call_typed_letter_by_letter_the_other_part_follows(tmp_path: Path) -> None:
    path = file_with(tmp_path, PHASES)
    second = call_at(path, path.read_bytes(), 2)
    assert second is not None
    plan = plans.load(path)
    half = replace(plan, data=replace(plan.data, python="train.py:fit_"))
    assert with_call(half, "data.python", second).model.python == "train.py:fit_2"


def test_that_it_is_said_how_the_next_call_is_trained(tmp_path: Path) -> None:
    first = call(tmp_path, PHASES, "fit")
    assert first is not None
    text, why = again("train.py", first)
    assert text == "train.py calls fit again in line 5: only what call 1 is given is trained."
    assert "let model and data be train.py:fit_2 (--fit 2 with the script)" in why
    assert "training.phases" in why
    loop = call(tmp_path, FOLDS, "fit")
    assert loop is not None
    assert "training.epochs" in again("train.py", loop)[1]
