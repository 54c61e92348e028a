"""Scripts that call `fit`, read as text: what a plan takes from the call, and what it leaves."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest

from gpu_studio import plan as plans
from gpu_studio.plan import Callback, Data, Plan, PlanError
from gpu_studio.plan.edits.change import with_value
from gpu_studio.plan.edits.sources import set_source, with_script
from gpu_studio.plan.edits.training import leave_to_script, set_training
from gpu_studio.plan.scripts import OF_PLANS, FitCall, as_in_plan, call_in, fit_in, plan_of
from gpu_studio.plan.values import Named, Phase


def read(text: str) -> FitCall | None:
    return fit_in(dedent(text).encode())


OF_PLACES = {"batch_size": 8, "epochs": 5, "shuffle": False}


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("model.fit(x, y, epochs=5, batch_size=64)", {"epochs": 5, "batch_size": 64}),
        ("model.fit(x, y, 64, 5)", {"epochs": 5, "batch_size": 64}),
        ("m.fit(x, y, 8, 5, 2, None, 0.2, None, False, None)", OF_PLACES),
        ("EPOCHS = 5\nmodel.fit(x, y, epochs=EPOCHS)", {"epochs": 5}),
        ("batch = 16 * 4\nmodel.fit(x, batch_size=batch)", {"batch_size": 64}),
        ("c = {'epochs': 5, 'rate': rate()}\nmodel.fit(x, epochs=c['epochs'])", {"epochs": 5}),
        ("class C:\n  epochs: int = 5\nc = C()\nmodel.fit(x, epochs=c.epochs)", {"epochs": 5}),
        (
            "p.add_argument('-n', '--n-epochs', type=int, default=5)\nm.fit(x, epochs=a.n_epochs)",
            {"epochs": 5},
        ),
        ("m.fit(x, class_weight={0: 1, 1: 2.5})", {"class_weight": {"0": 1.0, "1": 2.5}}),
        ("m.fit(x, epochs=None, steps_per_epoch=7)", {"steps_per_epoch": 7}),
        ("m.fit(x, epochs=7, initial_epoch=3)", {"epochs": 7, "initial_epoch": 3}),
        ("m.fit(x, shuffle=False, validation_freq=2)", {"shuffle": False, "validation_freq": 2}),
        ("def main():\n  if True:\n    m.fit(x, epochs=5)\nmain()", {"epochs": 5}),
        ("scaler.fit(x)\nmodel.fit(x, epochs=5)", {"epochs": 5}),
        ("def fit(m):\n  m.fit(x, epochs=5)\nfit(model)", {"epochs": 5}),
    ],
)
def test_that_what_the_text_says_is_known(text: str, known: dict[str, object]) -> None:
    found = read(text)
    assert found is not None
    assert (found.known, found.unknown) == (known, ())


def test_that_what_is_unpacked_may_be_any_argument_but_those_before_it() -> None:
    found = read("m.fit(x, y, 8, *more, epochs=5)")
    assert found is not None
    assert found.known == {"batch_size": 8, "epochs": 5}
    assert {"shuffle", "steps_per_epoch", "class_weight"} <= {*found.unknown}


@pytest.mark.parametrize(
    "text",
    [
        "m.fit(x, epochs=int(input()))",
        "m.fit(x, epochs=e)",
        "e = 1\ne = 2\nm.fit(x, epochs=e)",
        "e = 1\ne += 1\nm.fit(x, epochs=e)",
        "for e in (1, 2): pass\nm.fit(x, epochs=e)",
        "def main(e=1):\n  m.fit(x, epochs=e)",
        "c = {'e': 1}\nc['e'] = 2\nm.fit(x, epochs=c['e'])",
        "class C:\n  e: int = 1\nC.e = 2\nm.fit(x, epochs=C.e)",
        "a, b = 1, 2\nm.fit(x, epochs=a)",
        "a = a\nm.fit(x, epochs=a)",
        "m.fit(x, epochs=True * 'x')",
        "m.fit(x, epochs=9 ** 9 ** 9)",
        "m.fit(x, epochs=-1)",
        "m.fit(x, epochs=2.5)",
        "m.fit(x, epochs={}['e'])",
        "c = {'e': 1}\nc.update(e=2)\nm.fit(x, epochs=c['e'])",
    ],
)
def test_that_what_the_text_does_not_say_for_sure_is_unknown(text: str) -> None:
    found = read(text)
    assert found is not None
    assert (found.known, found.unknown) == ({}, ("epochs",))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "print('fit')",
        "def fit(model): model.fit(x, epochs=1)",
        "model.fit(",
        "(" * 5000,
        "\0",
        "model.train_on_batch(x, y)",
    ],
)
def test_that_a_file_without_such_a_call_is_no_script(text: str) -> None:
    assert read(text) is None


LOOP = b"def train():\n  model.fit(x, epochs=2)\n  model.fit(x, epochs=3)\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with modules, of which `loops.py` and `nets/run.py` call `fit`."""
    (tmp_path / "nets").mkdir()
    (tmp_path / "loops.py").write_bytes(LOOP)
    (tmp_path / "nets" / "run.py").write_bytes(LOOP)
    (tmp_path / "layers.py").write_text("def block(): ...")
    (tmp_path / "by_way.py").write_text("def go():\n  from loops import train\n  train()")
    return tmp_path


def started(folder: Path, text: str) -> FitCall | None:
    """The call that a script with this text comes to."""
    script = folder / "start.py"
    script.write_text(text)
    return call_in(script, script.read_bytes())


@pytest.mark.parametrize(
    ("text", "line", "module"),
    [
        ("from loops import train\ntrain()", 2, "loops.py"),
        ("import loops\n\nif __name__ == '__main__':\n  loops.train()", 4, "loops.py"),
        ("import loops as l\nsys.exit(l.train())", 2, "loops.py"),
        ("from nets import run\nrun.train()", 2, "run.py"),
        ("import nets.run\nnets.run.train()", 2, "run.py"),
        ("from by_way import go\ngo()", 2, "loops.py"),
        ("def main():\n  import loops\n  loops.train()\nmain()", 4, "loops.py"),
        ("class App:\n  def go(self):\n    from loops import train\napp.run(App)", 4, "loops.py"),
    ],
)
def test_that_the_call_may_stand_in_a_module_beside(
    project: Path, text: str, line: int, module: str
) -> None:
    found = started(project, text)
    assert found is not None
    assert (found.line, found.module, found.place) == (line, module, f"in {module}")
    assert (found.known, found.unknown, found.callbacks) == ({}, OF_PLANS, True)
    assert found.later == 3


@pytest.mark.parametrize(
    "text",
    [
        "import loops",
        "from layers import block\nblock()",
        "import loops\nkeras.utils.set_random_seed(1)\ndef build(): loops.train()",
        "from loops import train\ndef fit(): train()\nfit()",
        "import no_such\nno_such.train()",
        "from .. import loops\nloops.train()",
        "from loops import train\ntrain(",
    ],
)
def test_that_a_file_that_does_not_go_there_is_no_script(project: Path, text: str) -> None:
    assert started(project, text) is None


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("model.fit(x, epochs=2)", 2),
        ("def main():\n  model.fit(x, epochs=2)\nmain()", 2),
        ("def main():\n  model.fit(x, epochs=2)\nif __name__ == '__main__':\n  main()", 0),
        ("scaler.fit(x)", 0),
    ],
)
def test_that_a_script_may_import_what_trains_at_once(
    project: Path, module: str, line: int
) -> None:
    (project / "nets" / "now.py").write_text(module)
    for text in (
        "import os\nimport nets.now",
        "import os\nfrom nets import now",
        "\nimport nets.now",
    ):
        found = started(project, text)
        assert (found.line if found else 0) == line
        assert found is None or (found.module, found.unknown) == ("now.py", OF_PLANS)


def test_that_a_call_of_its_own_comes_before_that_of_a_module(project: Path) -> None:
    found = started(project, "import loops\nloops.train()\nmodel.fit(x, epochs=5)")
    assert found is not None
    assert (found.line, found.module, found.known) == (3, "", {"epochs": 5})
    # It may be a `fit` of the module's own, which gives another one more.
    assert set(found.unknown) == {*OF_PLANS} - {"epochs"}
    alone = started(project, "from layers import block\nmodel.fit(block(), epochs=5)")
    assert alone is not None
    assert (alone.unknown, alone.callbacks) == ((), False)


def test_that_all_is_left_to_a_script_whose_call_stands_in_a_module(project: Path) -> None:
    script = project / "start.py"
    script.write_text("from loops import train\ntrain()")
    plan = plans.load(script)
    assert (plan.model.python, plan.data.python) == ("start.py:fit", "start.py:fit")
    assert plan.training.as_in_script == OF_PLANS
    assert plan.training.callbacks == (Callback("start.py:fit"),)


@pytest.mark.parametrize(
    ("text", "strategy"),
    [
        ("s = tf.distribute.MirroredStrategy()\nm.fit(x)", "mirrored"),
        ("s = tf.distribute.experimental.CentralStorageStrategy()\nm.fit(x)", "central_storage"),
        ("s = MultiWorkerMirroredStrategy()\nm.fit(x)", "multi_worker"),
        ("s = tf.distribute.ParameterServerStrategy(r)\nm.fit(x)", "parameter_server"),
        ("s = tf.distribute.OneDeviceStrategy('GPU:0')\nm.fit(x)", ""),
        ("s = tf.distribute.get_strategy()\nm.fit(x)", ""),
        ("s = tf.distribute.TPUStrategy(r)\nm.fit(x)", ""),
        ("s = Mirrored()\nm.fit(x)", ""),
        ("m.fit(x)", ""),
    ],
)
def test_that_a_strategy_over_replicas_is_known(text: str, strategy: str) -> None:
    found = read(text)
    assert found is not None
    assert found.strategy == strategy


@pytest.mark.parametrize(
    ("argument", "callbacks"),
    [
        ("", False),
        ("callbacks=None", False),
        ("callbacks=[]", False),
        ("callbacks=none", False),
        ("callbacks=[Stop()]", True),
        ("callbacks=some", True),
        ("**more", True),
    ],
)
def test_that_a_plan_has_callbacks_where_the_script_may_give_some(
    tmp_path: Path, argument: str, callbacks: bool
) -> None:
    script = tmp_path / "train.py"
    script.write_text(f"none = []\nsome = []\nsome.append(1)\nmodel.fit(x, y, {argument})")
    assert plans.load(script).training.callbacks == (
        (Callback("train.py:fit"),) if callbacks else ()
    )


def test_that_a_script_is_read_as_the_plan_that_trains_it(tmp_path: Path) -> None:
    script = tmp_path / "churn.py"
    script.write_text("model.fit(x, y, epochs=7, class_weight={0: 1, 1: 2})")
    plan = plans.load(script)
    assert (plan.name, plan.model.python, plan.data.python) == (
        "churn",
        "churn.py:fit",
        "churn.py:fit",
    )
    assert plan.data.validation_fraction == plan.data.test_fraction == 0
    assert (plan.training.epochs, plan.training.batch_size) == (7, 32)
    assert plan.training.class_weight == {"0": 1.0, "1": 2.0}
    assert not plans.validate(plan)
    assert plans.loads(plans.dumps(plan)) == plan


LEFT = FitCall(1, {"batch_size": 8}, ("epochs", "class_weight"))


def test_that_a_plan_leaves_to_the_script_what_its_text_does_not_say(tmp_path: Path) -> None:
    plan = plan_of("train.py", LEFT)
    assert plan.training.as_in_script == ("epochs", "class_weight")
    assert not plans.validate(plan)
    text = plans.dumps(plan)
    assert "\nepochs =" not in text
    assert "class_weight =" not in text
    assert plans.loads(text) == plan
    given = plan.completed({"epochs": 7, "batch_size": 9, "shuffle": False})
    assert (given.training.epochs, given.training.batch_size, given.training.shuffle) == (
        7,
        8,
        True,
    )
    assert given.training.as_in_script == ("class_weight",)
    unpacked = read("m.fit(x, epochs=2, **more)")
    assert unpacked is not None
    assert unpacked.known == {"epochs": 2}
    assert set(unpacked.unknown) == {*OF_PLANS} - {"epochs"}


@pytest.mark.parametrize("epochs", [1, 5])  # 1 is the default
def test_that_what_a_plan_says_counts_for_more_than_its_script(epochs: int) -> None:
    plan, field = plan_of("train.py", LEFT), "training.epochs"
    written = plans.dumps(plan).replace("[training]", f"[training]\nepochs = {epochs}")
    said = [
        plans.loads(written),
        plans.with_settings(plan, [f"{field}={epochs}"]),
        with_value(plan, field, epochs),
    ]
    for each in said:
        assert each.training.epochs == epochs
        assert each.training.as_in_script == ("class_weight",)
        assert each.completed({"epochs": 7}) == each
    assert replace(plan.training, epochs=5).as_in_script == ("class_weight",)
    again = leave_to_script(said[0], ("epochs",))
    assert again.training.as_in_script == ("epochs",)
    assert again.completed({"epochs": 7}).training.epochs == 7


def test_that_nothing_is_held_against_epochs_that_only_the_script_says() -> None:
    phases = (Phase(3, 0.1), Phase(6, 0.1))
    warm = Named("cosine", {"warmup_epochs": 4})
    plan = set_training(plan_of("train.py", LEFT), phases=phases, schedule=warm)
    assert not plans.validate(plan)
    fields = ["training.schedule.options.warmup_epochs", "training.phases[1].after"]
    found = plans.validate(plan.completed({"epochs": 4}))
    assert sorted(each.field for each in found) == sorted(fields)
    (problem,) = plans.validate(set_training(plan, phases=phases[::-1]))
    assert "give 7 or more" in str(problem)


def test_that_only_a_script_that_gives_the_data_can_be_left_something() -> None:
    plan = plan_of("train.py", LEFT)
    assert set_source(plan, "data", "name", "digits").training.as_in_script == ()
    others = replace(plan, data=Data("digits"))
    (problem,) = plans.validate(others)
    assert "only a script says them" in str(problem)
    (problem,) = plans.validate(leave_to_script(plan, ("epoch",)))
    assert "did you mean epochs?" in str(problem)


@pytest.mark.parametrize(
    ("name", "given", "of_plan"),
    [
        ("epochs", np.int64(3), 3),
        ("epochs", 2.0, None),
        ("steps_per_epoch", np.ceil(2.5), 3),
        ("steps_per_epoch", 2.5, None),
        ("validation_steps", 2.0, 2),
        ("epochs", 0, 0),
        ("initial_epoch", 3, 3),
        ("initial_epoch", -1, None),
        ("batch_size", 0, None),
        ("shuffle", False, False),
        ("shuffle", "batch", None),
        ("validation_freq", [1, 4], None),
        ("class_weight", {np.int64(1): np.float32(0.5)}, {"1": 0.5}),
        ("class_weight", [0.5], None),
        ("class_weight", {0: 10**400}, None),
    ],
)
def test_that_what_fit_gets_is_in_a_plan_if_it_can_be(
    name: str, given: object, of_plan: object
) -> None:
    assert as_in_plan(name, given) == of_plan


def test_that_code_without_fit_is_refused_with_what_could_be_given(tmp_path: Path) -> None:
    script = tmp_path / "models.py"
    script.write_text("def build(): ...")
    with pytest.raises(PlanError, match=r"a script that calls a model's fit can be given"):
        plans.load(script)


@pytest.mark.parametrize(
    "text",
    [
        "import keras_tuner as kt\ntuner = kt.Hyperband(build)\ntuner.search(x, epochs=2)\n",
        "from keras_tuner.tuners import X\n\ntuner.search(x)\nm.fit(x, epochs=3)",
    ],
)
def test_that_a_search_of_kerastuner_is_refused_with_its_line(tmp_path: Path, text: str) -> None:
    script = tmp_path / "tune.py"
    script.write_text(text)
    with pytest.raises(PlanError, match="search in line 3 trains many models, and a run trains"):
        plans.load(script)
    assert read("import re\nre.search(a, b)\nm.fit(x, epochs=3)") is not None


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("model.compile()\nmodel.fit_generator(gen, epochs=2)\n", "in line 2 is of"),
        ("from loops import go\ngo()\n", "in line 3 of loops.py is of"),
    ],
)
def test_that_a_program_of_keras_2_is_refused_with_the_line_of_its_fit_generator(
    tmp_path: Path, text: str, place: str
) -> None:
    script = tmp_path / "start.py"
    script.write_text(text)
    module = "def go():\n    model = build()\n    model.fit_generator(gen, epochs=2)\n"
    (tmp_path / "loops.py").write_text(module)
    with pytest.raises(PlanError, match=f"{place} Keras 2, .* call fit, which takes the generator"):
        plans.load(script)


FITS = "\nmodel.fit(x, y, epochs=3)\n"


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("from tf_keras.models import Sequential", "tf_keras in line 1"),
        ("import os\nimport tf_keras as keras", "tf_keras in line 2"),
        ('import os\nos.environ["TF_USE_LEGACY_KERAS"] = "1"', "TF_USE_LEGACY_KERAS in line 2"),
        ('import os\nos.environ.setdefault("TF_USE_LEGACY_KERAS", "True")', "in line 2"),
        ("import older", "tf_keras in line 2 of older.py"),
    ],
)
def test_that_a_program_whose_models_are_of_keras_2_is_refused_with_the_line(
    tmp_path: Path, text: str, asks: str
) -> None:
    script = tmp_path / "start.py"
    script.write_text(text + FITS)
    (tmp_path / "older.py").write_text("import os\nimport tf_keras\n")
    with pytest.raises(PlanError, match=f"{asks} asks for Keras 2, and Keras 3 is what trains"):
        plans.load(script)


@pytest.mark.parametrize(
    "text",
    [
        "try:\n    import tf_keras as keras\nexcept ImportError:\n    import keras",
        'import os\nos.environ["TF_USE_LEGACY_KERAS"] = "0"',
        'import os\n# os.environ["TF_USE_LEGACY_KERAS"] = "1"',
        "import keras  # no longer tf_keras",
    ],
)
def test_that_a_program_that_can_do_without_keras_2_trains(tmp_path: Path, text: str) -> None:
    script = tmp_path / "start.py"
    script.write_text(text + FITS)
    assert plans.load(script).training.epochs == 3


def test_that_a_plan_takes_a_script_and_keeps_its_devices() -> None:
    before = plans.loads("[distribution]\nstrategy = 'mirrored'\n[training]\nseed = 4")
    after = with_script(before, "../train.py", FitCall(1, {"epochs": 3}))
    assert after.distribution == before.distribution
    assert (after.model.python, after.training.epochs) == ("../train.py:fit", 3)
    assert after == Plan(
        "train", before.devices, after.model, after.data, after.training, before.distribution
    )


def test_that_a_script_which_this_python_cannot_read_is_told_with_the_line(tmp_path: Path) -> None:
    script = tmp_path / "newer.py"
    script.write_text("import keras\nmodel = = keras.Model()\nmodel.fit(x, epochs=2)\n")
    with pytest.raises(PlanError, match=r"no code that Python 3\.\d+ can read: line 2: "):
        plans.load(script)
