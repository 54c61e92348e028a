"""What a Python file defines, without running it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_studio.contract.user_files import Reading, read_as_text

FILE = b"""
import helpers as h, os.path
from nets import big
small = shrink(big)
if small:
    def build(input_shape):
        inner = 3
        def hidden(): ...
        return inner
else:
    class Net: ...
async def load(): ...
"""


@pytest.mark.parametrize("name", ["build", "Net", "load", "h", "os", "big", "small"])
def test_that_what_stands_at_the_top_level_may_be_named(name: str) -> None:
    assert read_as_text(FILE).lacks(name) == ""


@pytest.mark.parametrize("name", ["inner", "hidden", "helpers", "path", "shrink", "input_shape"])
def test_that_what_only_a_function_knows_may_not(name: str) -> None:
    assert read_as_text(FILE).lacks(name).startswith(f"the file defines no {name}: ")


def test_that_the_nearest_function_is_told() -> None:
    found = read_as_text(b"def build_model(): ...\ndef load(): ...\n")
    assert found.lacks("build_modl") == (
        "the file defines no build_modl: did you mean build_model? There are build_model and load"
    )
    assert (
        read_as_text(b"def build(): ...\n").lacks("load")
        == "the file defines no load: did you mean build?"
    )
    assert (
        read_as_text(b"x = 1\n").lacks("load") == "the file defines no load, nor any other function"
    )


@pytest.mark.parametrize("code", [b"from nets import *\n", b"def __getattr__(name): ...\n"])
def test_that_a_file_whose_names_cannot_be_read_is_taken_at_its_word(code: bytes) -> None:
    assert read_as_text(code).lacks("anything") == ""


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (b"x = 1\ndef f(:\n", "line 2 is no Python (invalid syntax): def f(:"),
        (b"  x = 1", "line 1 is no Python (unexpected indent): x = 1"),
        (b"x = 1\0", "it is no Python: source code string cannot contain null bytes"),
        (b"(" * 10_000, "line 1 is no Python (too many nested parentheses)"),
    ],
)
def test_that_what_is_no_python_is_told_with_its_line(code: bytes, said: str) -> None:
    assert read_as_text(code).problem.startswith(said)


def test_that_what_is_no_text_is_told() -> None:
    assert "'utf-8' codec can't decode" in read_as_text(b"x = 'caf\xe9'\n").problem
    assert (
        read_as_text(b"# -*- coding: latin-1 -*-\nx = 'caf\xe9'\ndef f(): ...\n").lacks("f") == ""
    )


def test_that_code_nested_too_deeply_to_be_read_is_left_to_python() -> None:
    assert read_as_text(b"x = " + b"+".join([b"1"] * 20_000)) == Reading(open=True)


def test_that_the_style_of_a_file_is_nobody_s_affair(recwarn: pytest.WarningsRecorder) -> None:
    assert read_as_text(b"x = '\\d' is 1\n").problem == ""
    assert not recwarn.list


@given(st.binary(max_size=200))
def test_that_nothing_that_a_file_may_hold_breaks_the_reading(code: bytes) -> None:
    found = read_as_text(code)
    assert found.problem.isprintable() or "\ufffd" in found.problem


@pytest.mark.parametrize(
    "code",
    [
        "model.fit(x, y, epochs=3)",
        "history = build().fit(data, validation_data=held)",
        "if True:\n    model.fit(x, y, epochs=3)",
        "def main():\n    build().fit(x, epochs=3)\nmain()",
        "if __name__ != '__main__':\n    model.fit(x, epochs=3)",
    ],
)
def test_that_code_which_trains_when_it_is_imported_is_seen(code: str) -> None:
    assert read_as_text(code.encode()).trains == code.count("\n") + 1


@pytest.mark.parametrize(
    "code",
    [
        'if __name__ == "__main__":\n    model.fit(x, y, epochs=3)',
        "def main():\n    build().fit(x, epochs=3)\nif '__main__' == __name__:\n    main()",
        "def train(model):\n    model.fit(x, epochs=3)",
        "def train():\n    model.fit(x, epochs=3)\nif __name__ == '__main__' and x:\n    train()",
        "def train():\n    model.fit(x, epochs=3)\ntrain() if __name__ == '__main__' else None",
        "def make():\n    def train():\n        model.fit(x, epochs=3)\n    return train\nmake()",
        "scaler = Scaler().fit(x)",
        "tokenizer.fit(texts, vocabulary=100)",
        f"if {'+'.join('a' * 900)}:\n    pass",
    ],
)
def test_that_code_which_trains_only_as_a_program_is_left_alone(code: str) -> None:
    assert read_as_text(code.encode()).trains == 0
