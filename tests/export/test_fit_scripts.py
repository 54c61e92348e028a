"""Scripts that hand the user's own model and data to Keras' `fit`.

Programs of the zoo, with what a look at their data and models finds, train as scripts to the losses
of their own `fit`; one always, others unless they were proven (`proven.py`).
"""

from __future__ import annotations

import ast
import inspect
import itertools
import subprocess
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest
import tomli_w
import zoo_runs
import zoo_scripts
from exported_scripts import RUFF, check_scripts
from zoo_facts import ARRAYS, COMPILED, FACTS, NESTED, OWN_STEPS, SECTIONS, graph, script, sources
from zoo_table import programs

from gpu_studio import plan as plans
from gpu_studio.export import ExportError, UnseenError, python_script
from gpu_studio.placement.compiled_steps import XlaFacts
from gpu_studio.placement.plan_facts import (
    UNKNOWN_LENGTH,
    ArrayFacts,
    DataFacts,
    Learnt,
    ModelFacts,
    PlanFacts,
)

WAYS = {
    "rare_fault": "mirrored",
    "headlines": "placed, 2 parts",
    "ratings": "central_storage",
    "plateau": "multi_worker",
}
"""Of the last batches of two of them, a part has no sample or other rows of a table than one; the
last is the only worker."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("trained", "always"),
    [(["rare_fault"], True), (["ticker", "two_tasks", "headlines", "ratings", "plateau"], False)],
    ids=["always", "unless proven"],
)
def test_that_a_script_trains_as_fit_trains(tmp_path, trained, always, proof):
    named = programs()
    texts = [script(name, WAYS.get(name, "none")) for name in trained]
    if proof.holds([*texts, *sources(trained)], tmp_path, "zoo_facts") and not always:
        return
    references = zoo_runs.fitted(trained, tmp_path)
    for name in trained:
        way, wanted = WAYS.get(name, "none"), references[name]
        wanted.weights = []  # a script prints the measures only
        mine = zoo_scripts.scripted(named[name], way, FACTS[name], tmp_path / name)
        verdict = zoo_runs.verdict(named[name], way, mine, wanted)
        assert verdict.word == "equal", f"{name}: {verdict}\n{mine.trace}"
    proof.keep()


OWN_PARTS = """
version = 1
name = "of own parts"
model.python = "m.py:build"
data.python = "m.py:load"
[training]
loss = "m.py:loss"
metrics = ["m.py:metric", "mae"]
callbacks = [
    { name = "m.py:make" },
    { name = "learning_rate_scheduler", options = { schedule = "m.py:rate" } },
]
"""


def of_own_parts(folder: Path) -> dict[str, str]:
    """Scripts that name functions in a folder, of one output, own steps, and several outputs."""
    plan, learnt = plans.loads(OWN_PARTS), replace(SECTIONS, kind="values", compiled=False)
    alone = ModelFacts(learnt=learnt)
    named = TWO.replace('"mae"', '"m.py:loss"').replace("metrics = []", 'metrics = ["m.py:metric"]')
    return {
        "one": python_script(plan, None, folder, ARRAYS, alone),
        "own": python_script(plan, None, folder, ARRAYS, replace(alone, own_steps=("test_step",))),
        "two": python_script(plans.loads(named), None, folder, SIX, THREE_OUTPUTS),
    }


@pytest.mark.slow
def test_that_these_scripts_are_formatted_and_free_of_mistakes(tmp_path):
    for name in FACTS:
        ways = ["none", "one_device", "mirrored", "central_storage"]
        if FACTS[name].graph is not None:
            ways += ["placed", "placed, 2 parts"]
        for way in ways:
            (tmp_path / f"{name} {way}.py").write_text(script(name, way))
    for folder in ("zoo" * 10, "zoo" * 12 + "s", "zoo" * 30):
        for name, text in of_own_parts(Path("/", folder)).items():
            (tmp_path / f"{folder} {name}.py").write_text(text)
    check_scripts(tmp_path, "zoo")


@pytest.mark.parametrize(
    ("way", "asked", "setting", "written", "gives_way"),
    [
        ("none", None, "auto", None, True),
        ("none", None, "false", "False", False),
        ("none", None, "true", "True", False),
        ("none", True, "false", "False", False),
        ("none", True, "auto", None, True),
        ("one_device", None, "auto", 'bool(tf.config.list_logical_devices("GPU"))', True),
        ("on the CPU", None, "auto", None, False),
        ("on the CPU", True, "auto", None, True),
        ("one_device", False, "auto", None, False),
        ("one_device", True, "auto", None, True),
        ("mirrored", None, "auto", None, False),
        ("mirrored", None, "false", None, False),
    ],
)
def test_that_xla_compiles_the_steps_of_a_script_as_those_of_its_run(
    way, asked, setting, written, gives_way
):
    found = FACTS["plateau"]
    model = replace(found.model, xla=XlaFacts(asked))
    settings = [f"training.jit_compile={setting}"]
    if way in ("one_device", "on the CPU"):
        device = "GPU:0" if way == "one_device" else "CPU:1"
        settings += ["distribution.strategy=one_device", f"distribution.devices=['{device}']"]
        way = "none"
    text = script("plateau", way, replace(found, model=model), *settings)
    lines = [line.strip() for line in text[text.index("def build_model(") :].splitlines()]
    named = [line for line in lines if "jit_compile" in line]
    assert named == ([] if written is None else [f"model.jit_compile = {written}"])
    assert ("go_on_without_xla(model)" in lines) is ("or_without_xla" in text) is gives_way
    varying = replace(found, data=replace(found.data, varies=True))
    assert "model.jit_compile = False" in script("plateau", "none", varying)


@pytest.mark.slow
def test_that_an_optimizer_is_made_for_all_weights_before_fit_or_by_fit():
    import keras

    class Halfway(keras.Model):
        def build(self, shape):
            self.inner = keras.layers.Dense(1)  # whose weights are made when it is called

        def call(self, inputs):
            return self.inner(inputs)

    text = script("plateau")
    lines = text[text.index("    if all(layer.built") : text.index("    def tell(")]
    whole, halfway = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)]), Halfway()
    halfway.build((None, 2))
    assert halfway.built
    for model, made in ((whole, True), (halfway, False)):
        model.compile("sgd", "mse")
        exec(textwrap.dedent(lines), {"model": model})
        assert model.optimizer.built is made


def test_that_what_only_a_look_at_the_model_tells_is_asked_for():
    with pytest.raises(UnseenError, match="allow the files"):
        script("two_tasks", facts=PlanFacts(NESTED, None))


def test_that_the_layers_of_a_model_of_ones_own_are_placed_as_in_its_run():
    placed = script("plateau", "placed")
    assert 'PLACES = {\n    "CPU:0": ["dense"],\n    "CPU:1": ["dense_1"],\n}' in placed
    assert "MICRO_BATCHES" not in placed
    assert "MICRO_BATCHES = 2" in script("plateau", "placed, 2 parts")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"own_steps": ("train_step",)}, "only Keras' own can be placed"),
        ({"graph": graph("dense", "dense#2")}, "Two layers of the model have the same name"),
        ({"learnt": replace(SECTIONS, masked=True)}, "their number is not known in time"),
    ],
)
def test_that_what_no_script_places_is_said(changed, said):
    facts = PlanFacts(ARRAYS, replace(FACTS["plateau"].model, **changed))
    with pytest.raises(ExportError, match=said):
        script("plateau", "placed, 2 parts", facts)


@pytest.mark.parametrize("way", ["mirrored", "central_storage"])
def test_that_replicas_count_what_a_mask_leaves_of_the_whole_batch(way):
    learnt = replace(SECTIONS, masked=True)
    written = script("plateau", way, PlanFacts(ARRAYS, replace(COMPILED, learnt=learnt)))
    assert "reductions.apply_mask = masking(reductions.apply_mask)" in written


def test_that_replicas_do_not_compute_in_place_on_what_a_generator_gives():
    """A part shares memory with the whole, and that with an array that begins at 64 bytes."""
    copied = """
    training, validation, test = (
        each.map(copied) if isinstance(each, tf.data.Dataset) else each
        for each in (training, validation, test)
    )
"""
    assert copied in script("ticker", "mirrored")
    assert "copied" not in script("ticker")
    assert "some = taken(x, first," in script("plateau", "placed, 2 parts")


OF_GENERATORS = """
import keras
import numpy as np

drawn = []

def batches(who):
    while True:
        drawn.append(who)
        yield np.full((2, 1), len(drawn)), np.ones(2)

model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(batches("t"), steps_per_epoch=3, validation_data=batches("v"), validation_steps=2)
"""


def test_that_what_validates_is_looked_at_after_what_trains(tmp_path):
    """They may draw from the same random numbers, which a run draws in that order."""
    (tmp_path / "own.py").write_text(OF_GENERATORS)
    plan = plans.load(tmp_path / "own.py")
    facts = FACTS["ticker"]
    text = python_script(plan, None, tmp_path, facts.data, facts.model)
    begin = text.index("    if inspect.isgenerator(validation):\n")
    lines = textwrap.dedent(text[begin : text.index("next_ones(validation, 2)\n", begin)])
    drawn = []

    def batches(who):
        while True:
            drawn.append(who)
            yield len(drawn)

    names = {"inspect": inspect, "itertools": itertools}
    names |= {"training": batches("t"), "validation": batches("v")}
    exec(f"{lines}[*itertools.islice(validation, 2)]", names)
    assert "".join(drawn) == "ttvv"
    assert [*itertools.islice(names["training"], 3)] == [1, 2, 5], "none is lost"


def test_that_optimizers_change_what_replicas_share_once_for_all_under_central_storage():
    written = script("plateau", "central_storage")
    assert "update_by_sums(optimizer, model.distribute_strategy)" in written
    for name in ("update_by_sums", "update_for_all", "joined_once"):
        assert written.count(f"def {name}(") == 1
    assert "update_by_sums" not in script("plateau", "mirrored")


def test_that_a_model_whose_layers_add_its_losses_is_left_as_it_was_compiled():
    written = script("plateau", facts=PlanFacts(replace(NESTED, targets=()), ModelFacts()))
    assert "    if not model.compiled:\n        model.compile(make_optimizer())\n" in written


TWO = """
version = 1
name = "two"
model.python = "own.py:build"
data.python = "own.py:load"
[training]
epochs = 2
batch_size = 16
[training.outputs.light]
loss = "mae"
loss_weight = 0.5
metrics = []
[training.outputs.hint]
loss = "none"
"""
THREE_OUTPUTS = ModelFacts(
    outputs=tuple(ArrayFacts(name=name) for name in ("digit", "light", "hint")),
    learners={
        "digit": Learnt("classes", True, "sparse_categorical_crossentropy", ("accuracy",)),
        "light": Learnt("values", True, "mean_squared_error", ("mean_absolute_error",)),
    },
)
SIX = replace(NESTED, streamed="6 batches of 16")


def two(more: str = "", data: DataFacts = SIX) -> str:
    plan = plans.loads(TWO + more)
    return python_script(plan, None, Path("/nowhere"), data, THREE_OUTPUTS)


def test_that_outputs_learn_by_what_the_plan_says_of_each(tmp_path):
    (tmp_path / "two.py").write_text(two())
    wanted = """\
        loss={
            "digit": keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            "light": keras.losses.MeanAbsoluteError(),
            "hint": None,
        },
        loss_weights={"digit": 1.0, "light": 0.5, "hint": 1.0},
"""
    assert wanted in two()
    command = [*RUFF, "format", "--isolated", "--diff", "."]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout


@pytest.mark.slow
def test_that_lists_and_targets_that_are_none_are_made_what_tf_data_takes() -> None:
    import keras
    import numpy as np

    several = (ArrayFacts((0,)), ArrayFacts((1,)))
    text = two(data=replace(NESTED, inputs=several, arrays=("x/0", "x/1", "y/depth", "y/edge")))
    assert "        name: in_tuples(filled(array))\n" in text
    wanted = ("as_given", "filled", "in_tuples")
    lines = [ast.get_source_segment(text, each) or "" for each in ast.parse(text).body]
    made = {"np": np, "keras": keras}
    for each in lines:
        if each.startswith(tuple(f"def {name}(" for name in wanted)):
            exec(each, made)
    found = made["in_tuples"](
        made["filled"]([np.ones((3, 2)), {"hint": None, "edge": np.arange(3)}])
    )
    assert isinstance(found, tuple)
    assert (found[0].dtype, found[1]["hint"].tolist()) == (np.float32, [0.0] * 3)


def test_that_a_schedule_by_the_epoch_needs_to_know_how_long_a_stream_is():
    schedule = '[training.schedule]\nname = "own.py:rate"\n'
    assert "    steps_per_epoch = len(training)\n" in two(schedule)
    unknown = replace(SIX, streamed=f"batches of 16, {UNKNOWN_LENGTH}")
    with pytest.raises(ExportError, match="is told the steps of an epoch"):
        two(schedule, unknown)


def test_that_no_phase_begins_beside_a_models_own_steps():
    facts = PlanFacts(NESTED, OWN_STEPS)
    document = programs()["two_tasks"].document(phases=[{"after": 1, "learning_rate": 0.1}])
    plan = plans.loads(tomli_w.dumps(document))
    with pytest.raises(ExportError, match="has its own compute_loss"):
        python_script(plan, None, Path("/nowhere"), facts.data, facts.model)
