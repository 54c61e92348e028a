"""Functions of a user's own: what they are given, whence they import, and what remains of them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from written_code import Written

from gpu_studio.plan import ModelSettings, Plan
from gpu_studio.trainer.errors import UserCodeError
from gpu_studio.trainer.user_code import give, under_way

OFFERED = {"input_shape": (8,), "outputs": 3, "classes": 3, "seed": 7}
TELL = "def build({}): return dict(sorted(locals().items()))\n"


def called(path: Path, /, function: str = "build", **options: object) -> object:
    return give("model", f"{path}:{function}", options, OFFERED, Path())[1]


def refused(path: Path, /, function: str = "build", **options: object) -> UserCodeError:
    with pytest.raises(UserCodeError) as caught:
        called(path, function, **options)
    return caught.value


@pytest.mark.parametrize(
    ("signature", "options", "given"),
    [
        ("", {}, {}),
        ("outputs, seed", {}, {"outputs": 3, "seed": 7}),
        ("outputs, *, units=4", {"units": 5}, {"outputs": 3, "units": 5}),
        ("outputs", {"outputs": 9}, {"outputs": 9}),
        ("seed=1", {}, {"seed": 7}),
        ("*args, **more", {"units": 5}, {"args": (), "more": {"units": 5}}),
        ("x=2, /", {}, {"x": 2}),
    ],
)
def test_that_a_function_is_given_options_and_what_it_names(
    written, signature, options, given
) -> None:
    assert called(written(TELL.format(signature)), **options) == given


@pytest.mark.parametrize(
    ("signature", "options", "message", "first"),
    [
        (
            "width",
            {},
            "own.py:build wants width, which nobody gives it.",
            "Set model.options.width, or give it a default",
        ),
        (
            "width=1",
            {"widht": 2},
            "own.py:build takes no widht, which model.options gives it.",
            "Did you mean width?",
        ),
        (
            "",
            {"units": 2},
            "own.py:build takes no units, which model.options gives it.",
            "It takes nothing.",
        ),
        (
            "seed, /",
            {},
            "own.py:build wants seed by its place and not by its name, which nobody gives it.",
            "",
        ),
    ],
)
def test_that_what_nobody_gives_and_what_is_not_taken_are_told_by_name(
    written, signature, options, message, first
) -> None:
    error = refused(written("\n" + TELL.format(signature)), **options)
    assert error.message == message
    assert error.suggestions[0].startswith(first)
    assert "line 2 of " in "".join(error.suggestions)


def test_that_a_class_is_a_function_that_returns_one_of_it(written: Written) -> None:
    path = written(
        "class Net:\n    def __init__(self, outputs, units=1):\n      "
        "  self.found = outputs, units\n"
    )
    made = called(path, "Net", units=2)
    assert made.found == (3, 2)  # type: ignore[attr-defined]


def test_that_a_function_that_tells_nothing_of_what_it_takes_is_given_the_options(
    written: Written,
) -> None:
    assert called(written("build = dict\n"), units=2) == {"units": 2}


def test_that_what_is_no_function_is_told(written: Written) -> None:
    path = written("build = 3\ndef build_model(): ...\n")
    assert refused(path).message == "build in own.py is no function: it is of type int."
    missing = refused(path, "build_modl")
    assert missing.message == "own.py has no build_modl."
    assert missing.suggestions == ("Did you mean build_model?",)


def test_that_a_file_is_executed_once_however_many_of_its_functions_are_called(
    written: Written,
) -> None:
    path = written("found = []\ndef build(): return found\ndef load(): found.append(1)\n")
    called(path, "load")
    assert called(path) == [1]


def test_that_what_stands_beside_a_file_is_found_by_its_name(
    written: Written, tmp_path: Path
) -> None:
    written("N = 5\n", "own_helpers.py")
    written("K = 6\n", "own_late_helpers.py")
    (tmp_path / "numbers.txt").write_text("7")
    path = written(
        "import own_helpers\n"
        "def build():\n"
        "    import own_late_helpers\n"
        "    return own_helpers.N, own_late_helpers.K, open('numbers.txt').read()\n"
    )
    before = Path.cwd()
    assert called(path) == (5, 6, "7")
    assert Path.cwd() == before
    assert sys.path[-1] == str(tmp_path)
    assert str(tmp_path) not in sys.path[:-1]
    assert not (tmp_path / "__pycache__").exists()


def test_that_a_file_hides_no_module_that_is_there_already(written: Written) -> None:
    path = written(
        "import numpy as np\ndef build(): return __name__, np.zeros(1).shape\n", "json.py"
    )
    import json

    assert called(path) == ("_gpu_studio_json", (1,))
    assert sys.modules["json"] is json
    assert called(written("def build(): return __name__\n", "own_net.py")) == "own_net"


def test_that_a_file_that_failed_leaves_no_module_behind(written: Written) -> None:
    refused(written("1 / 0\n", "own_failing.py"))
    assert "own_failing" not in sys.modules


def test_that_a_stop_waits_for_what_returns_soon_as_a_rule_until_its_patience_is_over(
    written: Written,
) -> None:
    function, _ = give("model", f"{written('def build(): ...')}:build", {}, {}, Path())
    asked = lambda: [under_way(waited) for waited in (0.0, 4.9, 5.0)]  # noqa: E731
    assert function.guarded(asked, "in on_epoch_end", 5.0) == [False, False, True]
    assert function.guarded(asked) == [True, True, True]


def test_that_ending_the_program_in_a_hook_is_told_with_what_ends_the_training(
    written: Written,
) -> None:
    path = written("def build():\n    return lambda: exit(1)")
    function, leave = give("model", f"{path}:build", {}, {}, Path())
    with pytest.raises(UserCodeError) as caught:
        function.guarded(leave, "in on_epoch_end")
    assert caught.value.message == (
        "own.py ended the program in on_epoch_end in line 2, with sys.exit or exit."
    )
    assert "self.model.stop_training = True" in caught.value.suggestions[0]


def test_that_code_is_under_way_only_while_it_is(written: Written) -> None:
    assert not under_way()
    seen = written(
        "from gpu_studio.trainer.user_code import under_way\n"
        "before = under_way()\n"
        "def build(): return before, under_way()\n",
        "own_looking.py",
    )
    assert called(seen) == (True, True)
    refused(written("def build(): 1 / 0\n", "own_raising.py"))
    assert not under_way()


@pytest.mark.slow
@pytest.mark.parametrize("cards", [2, 0])
def test_that_a_strategy_is_said_to_be_made_only_where_it_is(written: Written, cards: int) -> None:
    from gpu_studio.trainer.user_code.scripts import as_given_to_fit  # it imports TensorFlow

    path = written(
        "import keras, tensorflow as tf\n"
        f"cards = {cards}\n"
        "many = tf.distribute.MirroredStrategy() if cards > 1 else tf.distribute.get_strategy()\n"
        "with many.scope():\n"
        "    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])\n"
        "    model.compile('sgd', 'mse')\n"
        "model.fit(tf.zeros((4, 3)), tf.zeros((4, 1)), epochs=2)\n"
    )
    give("model", f"{path}:fit", {}, {}, Path())
    notes = as_given_to_fit(Plan(model=ModelSettings(python=f"{path}:fit")))
    assert [each.name == "the script makes a strategy" for each in notes] == [True] * (cards > 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("loop", "advised"), [("for epoch in range(3): ", "training.epochs"), ("", "training.phases")]
)
def test_that_a_loop_around_fit_is_told_from_a_second_phase(
    written: Written, loop: str, advised: str
) -> None:
    from gpu_studio.trainer.user_code.scripts import as_given_to_fit  # it imports TensorFlow

    fit = "model.fit(np.zeros((4, 3)), np.zeros((4, 1)), epochs=1)\n"
    path = written(
        "import keras, numpy as np\n"
        "model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])\n"
        "model.compile('sgd', 'mse')\n" + loop + fit + ("" if loop else fit)
    )
    give("model", f"{path}:fit", {}, {}, Path())
    (note,) = as_given_to_fit(Plan(model=ModelSettings(python=f"{path}:fit")))
    assert note.name == "fit is called again"
    assert advised in note.why
