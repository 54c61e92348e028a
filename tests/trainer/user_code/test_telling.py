"""What stopped a user's code, explained with the file, the line and what to do."""

from __future__ import annotations

import io
import sys
from functools import partial
from pathlib import Path
from unittest.mock import Mock

import pytest
from written_code import Written

from gpu_studio.plan import Data, ModelSettings, Plan
from gpu_studio.trainer.errors import UserCodeError
from gpu_studio.trainer.failures import explain
from gpu_studio.trainer.user_code import give
from gpu_studio.trainer.user_code.telling import as_user_error


def failed(path: Path) -> UserCodeError:
    with pytest.raises(UserCodeError) as caught:
        give("model", f"{path}:build", {}, {}, Path())
    return caught.value


def test_that_a_module_that_is_not_installed_is_told_with_how_to_install_it(
    written: Written,
) -> None:
    error = failed(written("import os\nimport nowhere_to_be_found\n"))
    assert error.message == (
        "own.py needs the module nowhere_to_be_found (line 2), which is "
        f"not installed for {sys.executable}."
    )
    assert error.suggestions == (
        f"If its name is right, install it: {sys.executable} -m pip install nowhere_to_be_found",
    )


def test_that_the_module_beside_the_file_that_is_meant_is_told(written: Written) -> None:
    written("", "own_layers.py", allowed=False)
    error = failed(written("def build():\n    import own_layer\n"))
    assert "(line 2)" in error.message
    assert (
        error.suggestions[0] == "If you meant own_layers, which stands beside own.py, mend line 2."
    )


def test_that_a_package_of_another_name_than_its_module_is_installed_by_that(
    written: Written,
) -> None:
    error = failed(written("import skimage.morphology\n"))
    assert error.suggestions[0].endswith("-m pip install scikit-image")


def test_that_a_part_that_an_installed_package_lacks_is_no_reason_to_install_it(
    written: Written,
) -> None:
    error = failed(written("import json.nothing\n"))
    assert (
        error.message == "own.py needs the module json.nothing (line 1), which json does not have."
    )
    assert "version of json" in error.suggestions[0]


def test_that_a_helper_s_missing_module_is_told_by_the_helper_s_line(written: Written) -> None:
    written("\n\nimport nowhere_to_be_found\n", "own_needy.py")
    assert failed(written("import own_needy\n")).message.startswith(
        "own_needy.py needs the module nowhere_to_be_found (line 3)"
    )


def test_that_a_helper_that_is_no_python_is_told_by_its_line(written: Written) -> None:
    written("x = 1\ndef f(:\n", "own_broken.py")
    told = failed(written("import own_broken\n")).message
    assert told == "own_broken.py: line 2 is no Python (invalid syntax): def f(:."


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("raise ValueError('bad\\n units')", "own.py stopped in line 3 with ValueError: bad units"),
        ("raise RuntimeError", "own.py stopped in line 3 with RuntimeError."),
        ("import sys; sys.exit(3)", "own.py ended the program in line 3, with sys.exit or exit."),
        ("raise SystemExit('bye')", "own.py ended the program in line 3, with sys.exit or exit."),
        ("raise KeyboardInterrupt", "own.py stopped in line 3 with KeyboardInterrupt."),
        (
            "build()",
            "own.py stopped in line 3 with RecursionError: maximum recursion depth exceeded",
        ),
        ("eval('1 +')", "own.py stopped in line 3 with SyntaxError: invalid syntax"),
        (
            "from json import nothing",
            "own.py stopped in line 3 with ImportError: cannot import name 'nothing'",
        ),
        ("from . import x", "own.py stopped in line 3 with ImportError: attempted relative import"),
        (
            "open('nowhere.csv')",
            "own.py stopped in line 3 with FileNotFoundError: [Errno 2] No such file or directory",
        ),
    ],
)
def test_that_whatever_a_function_raises_names_its_line(
    written: Written, body: str, message: str
) -> None:
    error = failed(written(f"\ndef build():\n    {body}\n"))
    assert error.message.startswith(message)
    assert error.suggestions


def test_that_the_last_line_of_the_user_s_own_is_told_and_not_a_library_s(written: Written) -> None:
    error = failed(
        written("import json\n\ndef inner():\n    json.loads('{')\n\ndef build():\n    inner()\n")
    )
    assert error.message.startswith("own.py stopped in line 4 with JSONDecodeError")


def test_that_the_traceback_begins_at_the_user_s_own_code_with_the_lines_that_ran(
    written: Written,
) -> None:
    path = written("def build():\n    raise ValueError('bad units')\n")
    with pytest.raises(UserCodeError) as caught:
        _, _ = give("model", f"{path}:build", {}, {}, Path())
    told = explain(caught.value)
    assert told.kind == "user_code"
    assert told.traceback == (
        "Traceback (most recent call last):\n"
        f'  File "{path}", line 2, in build\n'
        "    raise ValueError('bad units')\n"
        "ValueError: bad units\n"
    )


def test_that_an_exception_that_cannot_even_say_what_it_is_is_told(written: Written) -> None:
    path = written(
        "class Odd(ModuleNotFoundError):\n"
        "    name = 3\n"
        "    def __str__(self): raise ValueError\n"
        "def build(): raise Odd\n"
    )
    error = failed(path)
    assert error.message == "own.py stopped in line 4 with Odd."
    assert "own.py" in error.trace


def test_that_want_of_memory_is_told_as_what_it_is(written: Written) -> None:
    class ResourceExhaustedError(Exception):
        """As TensorFlow calls it."""

    error = UserCodeError("own.py stopped")
    error.__cause__ = ResourceExhaustedError(
        "OOM when allocating tensor with shape[4,4] and type float on CPU:0"
    )
    assert explain(error).kind == "out_of_memory"


def failing(path: Path) -> Exception:
    """What a function of the user's raises when something else calls it."""
    _, function = give("model", f"{path}:build", {}, {}, Path())
    with pytest.raises(KeyError) as caught:
        function()
    return caught.value


def test_that_what_stops_in_the_user_s_code_while_it_trains_is_told_by_its_line(
    written: Written,
) -> None:
    path = written("def loss():\n    raise KeyError('depth')\n\ndef build():\n    return loss\n")
    told = explain(failing(path))
    assert (told.kind, told.message) == (
        "user_code",
        "own.py stopped in line 2 with KeyError: 'depth'",
    )
    assert told.traceback.startswith(f'Traceback (most recent call last):\n  File "{path}", line 2')
    assert f"Look at line 2 of {path}." in told.suggestions


def test_that_an_operation_that_fails_is_told_by_the_user_s_line_that_made_it(
    written: Written,
) -> None:
    path = written("def build(): return 1\n")
    give("model", f"{path}:build", {}, {}, Path())
    stack = f'File "{path}", line 7, in call\n\n  File "/usr/lib/keras/ops.py", line 3, in take'
    words = f"Graph execution error:\n\nDetected at node a defined at:\n  {stack}\n\n"
    told = explain(ValueError(f"{words}indices[0,2] = 99 is not in [0, 77)\n\t [[{{{{node a}}}}]]"))
    assert told.message == (
        "own.py stopped in line 7 with ValueError: indices[0,2] = 99 is not in [0, 77)"
    )
    assert told.suggestions[0].endswith("input_dim of an Embedding is the largest id + 1.")


STOPPED = "Exception encountered when calling Clip.call().\n\n"
NOT_TRIED = "\x1b[1mCould not infer the output shape. Error encountered:\n\n"
ARGUMENTS = "\n\nArguments received by Clip.call():\n  • x=tf.Tensor(shape=(1, 5))"


@pytest.mark.parametrize(
    ("said", "told", "advice"),
    [
        (
            STOPPED + NOT_TRIED + "'SymbolicTensor' object has no attribute 'numpy'" + ARGUMENTS,
            "'SymbolicTensor' object has no attribute 'numpy'",
            "compute with keras.ops there",
        ),
        (
            STOPPED + "{{function_node a}} Incompatible: [1,3], [1,5] [Op:MatMul]" + ARGUMENTS,
            "Incompatible: [1,3], [1,5]",
            "Look at line",
        ),
        (
            "setting an array element with a sequence. It has an inhomogeneous shape.",
            "setting an array element with a sequence. It has an inhomogeneous shape.",
            "keras.utils.pad_sequences",
        ),
        ("Invalid dtype: str160", "Invalid dtype: str160", "tf.constant(texts)"),
        ("too large: [1]\n\t [[{{node a/Assert}}]]", "too large: [1]", "Look at line"),
    ],
)
def test_that_words_around_the_reason_are_left_out_and_what_helps_comes_first(
    written: Written, said: str, told: str, advice: str
) -> None:
    error = failed(written(f"def build():\n    raise ValueError({said!r})\n"))
    assert error.message == f"own.py stopped in line 2 with ValueError: {told}"
    assert advice in error.suggestions[0]


@pytest.mark.parametrize(
    ("code", "given", "line", "helps"),
    [
        ("def batches(size):\n    pass\n\ndef build():\n    return batches", (), 1, "a default"),
        (
            (
                "class Own:\n    def call(self, y_pred):\n        pass\n\n"
                "def build():\n    return Own().call"
            ),
            (1, 2),
            2,
            "y_true and y_pred",
        ),
        (
            (
                "class Own:\n    def on_epoch_end(self):\n        pass\n\n"
                "def build():\n    return Own().on_epoch_end"
            ),
            (1, {}),
            2,
            "and logs",
        ),
    ],
)
def test_that_what_is_called_with_other_arguments_is_told_by_the_line_where_it_begins(
    written: Written, code: str, given: tuple[object, ...], line: int, helps: str
) -> None:
    path = written(code)
    function, made = give("model", f"{path}:build", {}, {}, Path())
    with pytest.raises(UserCodeError) as caught:
        function.guarded(partial(made, *given))
    assert any(f"line {line} of {path}" in each for each in caught.value.suggestions)
    assert helps in caught.value.suggestions[0]


def test_that_where_no_line_was_running_the_function_s_beginning_is_told(written: Written) -> None:
    path = written("import os\n\ndef build():\n    return 3")
    function, _ = give("model", f"{path}:build", {}, {}, Path())

    def stop() -> None:
        raise ValueError("Could not interpret loss identifier: mze")

    with pytest.raises(UserCodeError) as caught:
        function.guarded(stop)
    assert f"the function begins in line 3 of {path}" in caught.value.suggestions[-2]


def test_that_what_is_wrong_with_what_a_script_gives_fit_is_told_by_that_line(
    written: Written,
) -> None:
    path = written("import os\n\nmodel.fit(x, y, epochs=2)\n")
    error = as_user_error(ValueError("Could not interpret loss"), path, begins=3)
    assert "It stopped at what own.py gives fit in line 3, in no" in error.suggestions[-2]


def test_that_code_that_asks_at_the_keyboard_is_told_that_a_run_has_none(
    written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    error = failed(written("def build():\n    return int(input('How many? '))\n"))
    assert error.message.startswith("own.py stopped in line 2 with EOFError")
    assert "no keyboard" in error.suggestions[0]


def test_that_an_import_from_its_package_is_told_that_there_is_none(written: Written) -> None:
    error = failed(written("from .helpers import number\n"))
    assert error.message.startswith("own.py stopped in line 1 with ImportError")
    assert "without the dot" in error.suggestions[0]


@pytest.mark.slow
@pytest.mark.parametrize(("compiles", "told"), [("", 1), ("model.compile('sgd', 'mse')\n", 0)])
def test_that_a_script_whose_model_is_not_compiled_is_told_that_fit_would_refuse_it(
    written: Written, compiles: str, told: int
) -> None:
    from gpu_studio.trainer.models.own_models import notes_on

    path = written(
        "import keras\n"
        "model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])\n"
        f"{compiles}model.fit([[0.0]], [[1.0]])\n"
    )
    script = f"{path}:fit"
    _, model = give("model", script, {}, {}, Path())
    plan = Plan("own", model=ModelSettings(python=script), data=Data(python=script))
    said = notes_on(plan, model, Mock(), (0, 1), whole=False)
    found = [each.text for each in said if each.name == "fit without compile"]
    assert len(found) == told
    assert all("own.py calls fit in line 3, but the model is not" in each for each in found)


def test_that_data_that_cannot_be_downloaded_are_said_to_go_where_keras_looks_for_them(
    written: Written,
) -> None:
    words = "URL fetch failure on https://storage.googleapis.com/tensorflow/tf-keras-datasets/a.npz"
    error = failed(written(f"raise Exception({words!r})\n"))
    assert error.suggestions[0] == (
        "It wants to download data: bring that file to ~/.keras/datasets."
    )
