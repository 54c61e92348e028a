"""The script of a plan: formatted, free of mistakes, and nothing in a plan becomes code in it."""

from __future__ import annotations

import ast
import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path
from textwrap import indent
from types import SimpleNamespace
from typing import Any

import pytest
from export_plans import SETTINGS, plan_of, token_file
from exported_scripts import RUFF
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from made_images import two_classes
from plan_samples import TWO_CARDS
from training_runs import small_plan

from gpu_studio.export import ExportError, UnseenError, files_beside, python_script
from gpu_studio.export.keras_objects import LOSS_CLASSES, METRIC_CLASSES
from gpu_studio.export.stopping import stopping_at_end_of_epoch
from gpu_studio.export.strategies import WRITTEN
from gpu_studio.placement.plan_facts import DataFacts, Learnt, ModelFacts
from gpu_studio.plan import (
    Distribution,
    EarlyStopping,
    Machine,
    Named,
    Placed,
    Plan,
    strategy_named,
    validate,
)
from gpu_studio.plan.catalogue import OPTIMIZERS
from gpu_studio.plan.keras_objects import LOSSES_OF, METRICS_OF

HERE = Path("/nowhere")


LOOKED_AT = {
    task: (DataFacts("it", task, classes, 90), ModelFacts(learnt=Learnt(task, True, loss, ())))
    for task, classes, loss in (
        ("classes", 10, "sparse_categorical_crossentropy"),
        ("values", None, "mean_squared_error"),
    )
}


def script(*settings_: str, machine: Machine | None = None) -> str:
    return python_script(small_plan(*settings_), machine, HERE)


def shape(source: str) -> str:
    """The script's structure, with every text in it taken for the same."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = ""
    return ast.dump(tree)


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A script of every plan in `export_plans`, and some with files and folders."""
    folder = tmp_path_factory.mktemp("scripts")
    for name in SETTINGS:
        (folder / f"{name}.py").write_text(python_script(plan_of(name), None, HERE))
    model = (
        "model.name=transformer",
        f"data.file={token_file(folder)}",
        "distribution.strategy=central_storage",
    )
    (folder / "tokens.py").write_text(script(*model))
    (folder / "file.py").write_text(
        script("model.file=mine.keras", "distribution.strategy=mirrored")
    )
    for kind, options in (("images", ""), ("grey images", '{ size = [30, 40], colours = "grey" }')):
        two_classes(folder / kind / "train", 1)
        two_classes(folder / kind / ("test" if options else "train"), 1)
        settings_ = ("model.name=cnn", f"data.folder={folder / kind}", f"data.options={options}")
        (folder / f"{kind}.py").write_text(script(*settings_))
    own = (
        "model.python=nets/m.py:build",
        "model.options={ units = [8, 4], name = 'x' }",
        "data.name=regression",
    )
    (folder / "own.py").write_text(script(*own))
    (folder / "own of tokens.py").write_text(
        script("model.python=m.py:f", f"data.file={token_file(folder)}")
    )
    return folder


@pytest.mark.slow
def test_that_scripts_are_formatted_as_ruff_formats(scripts):
    ended = subprocess.run(
        [*RUFF, "format", "--isolated", "--diff", "."], cwd=scripts, capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stdout


def test_that_ruff_finds_nothing_in_scripts(scripts):
    command = [*RUFF, "check", "--isolated", "--no-cache", "--output-format", "concise", "."]
    ended = subprocess.run(command, cwd=scripts, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout


@pytest.mark.slow
def test_that_scripts_compile_and_import_nothing_of_gpu_studio(scripts):
    for path in scripts.glob("*.py"):
        tree = ast.parse(path.read_text(), str(path))
        compile(tree, str(path), "exec")
        imported = {
            alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.Import)
            for alias in node.names
        }
        modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        modules -= {"tensorflow.python.distribute"}
        more = {"importlib.util", "inspect", "sys"} if path.name.startswith("own") else set()
        more |= {"io", "json", "signal"} if path.name.startswith("workers") else set()
        if path.name.startswith("servers"):
            more |= {"io", "json", "signal", "socket", "time"}
            modules -= {"concurrent.futures", "contextlib", "collections.abc"}
        more |= {"ctypes", "sysconfig"} if "CUDA_LIBRARIES" in path.read_text() else set()
        assert imported == {"argparse", "os", "keras", "numpy", "tensorflow"} | more, path.name
        assert modules <= {"pathlib"}


def test_that_no_line_of_a_script_is_too_long_to_read(scripts):
    long = [
        line
        for path in scripts.glob("*.py")
        for line in path.read_text().splitlines()
        if len(line) > 88
    ]
    assert [line for line in long if str(scripts) not in line] == []


def test_that_every_function_of_a_script_says_what_it_does(scripts):
    for path in scripts.glob("*.py"):
        functions = [
            node for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)
        ]
        assert functions
        assert all(ast.get_docstring(function) for function in functions), path.name


def test_that_the_model_stands_there_as_keras_calls_and_with_the_values_of_the_plan():
    assert 'x = mlp(inputs, hidden=[32], activation="relu", dropout=0.0)' in script()
    lenet = script("model.name=lenet", "model.options={ dropout = 0.25 }")
    assert 'x = keras.layers.Conv2D(20, 5, activation="relu", name="conv1")(x)' in lenet
    assert "x = lenet(inputs, dropout=0.25)" in lenet


def test_that_what_a_plan_does_not_need_is_not_in_its_script():
    without = ("training.metrics=[]", "training.checkpoint.every_epochs=0")
    simple = script(*without, "training.jit_compile=false")
    for needless in (
        "strategy",
        "StatelessScope",
        "mixed_precision",
        "tensor_float_32",
        "jit_compile",
        "metric",
        'Path("trained")',
        "best",
        "seeds",
    ):
        assert needless not in simple, needless


def test_that_options_stand_there_as_literals():
    text = script("training.optimizer=sgd", "training.options={ momentum = 0.9, nesterov = true }")
    assert "keras.optimizers.SGD(learning_rate=0.001, momentum=0.9, nesterov=True)" in text


def test_that_metrics_of_two_classes_are_those_of_class_1():
    metrics = 'training.metrics=["auc", "recall", { name = "precision", class_id = 0 }]'
    of_two, of_three = (
        script("data.name=synthetic", f"data.options={{ classes = {classes} }}", metrics)
        for classes in (2, 3)
    )
    assert 'keras.metrics.Recall(class_id=1, name="recall")' in of_two
    assert 'keras.metrics.Precision(class_id=0, name="precision")' in of_two
    assert "of_1 = labels[:, 1:2], probabilities[:, 1:2]" in of_two
    assert "metrics[0].update_state(*of_1, sample_weight=weight)" in of_two
    assert 'keras.metrics.Recall(name="recall")' in of_three
    assert "metrics[0].update_state(labels, probabilities, sample_weight=weight)" in of_three


def test_that_a_plan_on_any_machine_gives_the_same_script_but_for_the_cards():
    settings_ = ("devices.carve=", 'devices.visible=["GPU:1"]')
    assert '"CUDA_VISIBLE_DEVICES"] = "1"' in script(*settings_)
    assert '"CUDA_VISIBLE_DEVICES"] = "GPU-5d1e"' in script(*settings_, machine=TWO_CARDS)
    assert '"CUDA_VISIBLE_DEVICES"] = "1"' in script(
        *settings_, machine=replace(TWO_CARDS, simulated=True)
    )
    assert script(machine=TWO_CARDS) == script()


def test_that_the_digits_go_with_a_script_and_other_data_do_not():
    (name, source), *more = files_beside(small_plan()).items()
    assert (name, source.is_file(), more) == ("digits.npz", True, [])
    assert files_beside(small_plan("data.name=mnist")) == {}


ODD_NAMES = (
    '"""',
    "'''\nimport os",
    "a\nimport os",
    "# $about",
    "\\",
    "naïve “plan” 数",
    "x" * 200,
    "\u2028import os",
    "threading.Lock and Iterable",
    "\0",
)


@pytest.mark.slow
@given(st.text(min_size=1, max_size=40))
@settings(max_examples=50)
def test_that_any_name_of_a_plan_stays_in_its_comment(name):
    assert_in_its_comment(name)


@pytest.mark.parametrize("name", ODD_NAMES)
def test_that_an_odd_name_of_a_plan_stays_in_its_comment(name):
    assert_in_its_comment(name)


def assert_in_its_comment(name):
    """Of a script of a plan with this name."""
    plan = replace(small_plan(), name=name)
    if validate(plan):
        with pytest.raises(ExportError, match="name"):
            python_script(plan, None, HERE)
    else:
        assert shape(python_script(plan, None, HERE)) == shape(script())


# What can be printed: a plan with another path is not valid.
SHOWN = st.characters(
    categories=("L", "M", "N", "P", "S"), include_characters=" ", exclude_characters="/"
)
FILES = st.text(SHOWN, min_size=1, max_size=30)


@pytest.mark.slow
@given(FILES)
@settings(max_examples=30)
def test_that_the_path_of_a_file_is_a_text_in_the_script(name):
    plan = small_plan("model.file=a.keras")
    plan = replace(plan, model=replace(plan.model, file=f"{name}.keras"))
    assume(not validate(plan) and not name.startswith("~"))
    source = python_script(plan, None, HERE)
    assert shape(source) == shape(script("model.file=a.keras"))
    texts = [node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant)]
    assert str(HERE / f"{name}.keras") in texts


KEYS = st.text(max_size=12) | st.sampled_from(
    [
        "momentum",
        "a=1)",
        "class",
        "x: int",
        "lambda",
        "name",
        "é",
        "e\u0301",
        "ﬁ",
        "__debug__",
        "match",
    ]
)
GIVEN = (
    st.integers()
    | st.floats()
    | st.booleans()
    | st.text(max_size=12)
    | st.lists(st.text(max_size=4), max_size=2)
)


@given(st.dictionaries(KEYS, GIVEN, max_size=3))
def test_that_options_become_keyword_arguments_or_are_refused(options):
    plan = small_plan("training.optimizer=sgd")
    plan = replace(plan, training=replace(plan.training, options=options))
    try:
        source = python_script(plan, None, HERE)
    except ExportError:
        return
    compile(source, "train.py", "exec")
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    (made,) = [each for each in calls if ast.unparse(each.func) == "keras.optimizers.SGD"]
    assert {keyword.arg for keyword in made.keywords} == {"learning_rate", *options}
    assert not any(
        isinstance(node, ast.Attribute) for each in made.keywords for node in ast.walk(each.value)
    )


@pytest.mark.slow
@given(st.data())
@settings(max_examples=60)
def test_that_any_valid_plan_has_a_script_that_compiles(data):
    task = data.draw(st.sampled_from(["classes", "values"]))
    where = {
        "classes": small_plan(),
        "values": small_plan("model.name=linear", "data.name=regression"),
    }[task]
    training = replace(
        where.training,
        optimizer=data.draw(st.sampled_from(OPTIMIZERS)),
        loss=Named(
            data.draw(st.sampled_from(["auto", *filter(LOSS_CLASSES.get, LOSSES_OF[task])]))
        ),
        metrics=tuple(
            map(
                Named,
                data.draw(
                    st.lists(
                        st.sampled_from(
                            [each for each in METRICS_OF[task] if each in METRIC_CLASSES]
                        ),
                        unique=True,
                        max_size=4,
                    )
                ),
            )
        ),
        learning_rate=data.draw(st.floats(1e-9, 10)),
        seed=data.draw(st.integers(0, 2**32 - 1)),
        mixed_precision=data.draw(st.booleans()),
        tf32=data.draw(st.booleans()),
    )
    strategy = data.draw(st.sampled_from(tuple(WRITTEN)))
    if strategy_named(strategy).compiles_steps:
        training = replace(training, jit_compile=data.draw(st.sampled_from([True, False, "auto"])))
    placed = (
        Placed(data.draw(st.integers(1, 5)), {"outputs": ("CPU:1",)})
        if strategy == "placed"
        else None
    )
    plan: Plan = replace(
        where, training=training, distribution=Distribution(strategy=strategy, placed=placed)
    )
    assume(not validate(plan))
    facts: tuple[DataFacts | None, ModelFacts | None] = None, None
    if strategy == "central_storage" and training.optimizer in ("nadam", "muon"):
        with pytest.raises(UnseenError):
            python_script(plan, None, HERE)
        facts = LOOKED_AT[task]
    compile(python_script(plan, None, HERE, *facts), "train.py", "exec")


def test_that_the_name_of_what_is_monitored_becomes_no_line_of_the_script() -> None:
    def watching(monitor: str) -> str:
        plan = small_plan("training.early_stopping.patience=2")
        rule = EarlyStopping(monitor=monitor, patience=2)
        watched = replace(plan, training=replace(plan.training, early_stopping=rule))
        lines = stopping_at_end_of_epoch(SimpleNamespace(plan=watched, clusters=False))
        return f"while True:\n{indent(lines, '    ')}"

    assert shape(watching("a_loss\nimport os\n#")) == shape(watching("a_loss"))


TASK = {"type": "worker", "index": 0}
SERVING = {"chief": ["a:1"], "worker": ["b:1"], "ps": ["c:1"]}


@pytest.mark.parametrize(
    ("config", "lacks"),
    [
        ({"cluster": {**SERVING, "chief": []}, "task": TASK}, "no chief"),
        ({"cluster": {"worker": ["b:1"]}, "task": TASK}, "no chief and no ps"),
        ({"task": TASK}, "no chief and no worker and no ps"),
        ({"cluster": SERVING}, "no task"),
        ({"cluster": SERVING, "task": TASK}, None),
    ],
)
def test_that_a_script_with_servers_says_what_tf_config_lacks(
    config: dict[str, Any], lacks: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = script("distribution.strategy=parameter_server", "devices.carve=")
    body = ast.parse(text).body
    functions = [each for each in body if isinstance(each, ast.FunctionDef)]
    (named,) = [each for each in functions if each.name == "cluster_named"]
    known: dict[str, Any] = {"json": json, "os": os}
    exec(compile(ast.unparse(named), "script", "exec"), known)
    monkeypatch.setenv("TF_CONFIG", json.dumps(config))
    if lacks is None:
        assert known["cluster_named"]() == (SERVING, TASK)
        return
    with pytest.raises(SystemExit, match=f"^TF_CONFIG has {lacks}: "):
        known["cluster_named"]()
