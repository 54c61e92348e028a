"""A Python file as shown before it is allowed, and its functions, read without running it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gpu_studio.contract.consent import Standing, allow_file
from gpu_studio.ui.plan.python_files import (
    GIVEN,
    LONGEST_LINE,
    MOST_LINES,
    Parameter,
    PythonFunction,
    callables_in,
    choices_in,
    functions_in,
    read_code_file,
    script_in,
)

MARKER = "executed"
HOSTILE = f"""
import pathlib
pathlib.Path(__file__).with_name("{MARKER}").touch()

def build_model(input_shape, outputs, *, units=8, seed=None):
    '''Layers, \u202eand a surprise.

    More.
    '''

async def later(): ...
class NotAFunction: ...
def _private(): ...
other = build_model
if True:
    def inside(): ...
def second(width, *rest, **more): ...
"""


def written(folder: Path, code: str | bytes, name: str = "models.py") -> Path:
    path = folder / name
    path.write_bytes(code.encode() if isinstance(code, str) else code)
    return path


def test_that_a_file_is_shown_whole_and_nothing_of_it_is_run(tmp_path: Path) -> None:
    path = written(tmp_path, HOSTILE, "Größe der Netze.py")
    shown = read_code_file(path)
    assert (shown.code, shown.cut, shown.standing) == (HOSTILE.encode(), "", Standing.NEW)
    assert shown.text.count("\n") == HOSTILE.count("\n")
    functions_in(path)
    assert list(tmp_path.iterdir()) == [path]


def test_that_the_fit_of_a_script_stands_before_its_functions(tmp_path: Path) -> None:
    path = written(tmp_path, "def build(): ...\n\nbuild().fit(x, epochs=2)\n")
    assert [each.name for each in functions_in(path)] == ["fit", "build"]
    assert [each.name for each in callables_in(path)] == ["build"]
    assert functions_in(path)[0].hint == "what fit is given in line 3"


TWICE = "model.fit(x, epochs=2)\nmodel.fit(x, epochs=3)\n\ndef build(): ...\n"
LOOP = "for fold in folds:\n    model.fit(fold, epochs=2)\n"


def test_that_the_calls_of_fit_of_a_script_are_offered_by_their_lines(tmp_path: Path) -> None:
    path = written(tmp_path, TWICE)
    found = choices_in(path, "fit")
    assert [each.name for each in found] == ["fit", "fit_2", "build"]
    assert found[1].hint == "what fit is given in line 2, once 1 call has trained"
    # What names a file, and no function, goes by its first call.
    assert [each.name for each in functions_in(path)] == ["fit", "build"]
    assert script_in(path) == found[0].script


def test_that_of_a_loop_some_calls_are_offered_and_the_one_that_is_named(tmp_path: Path) -> None:
    path = written(tmp_path, LOOP)
    names = ["fit", "fit_2", "fit_3", "fit_4", "fit_5"]
    assert [each.name for each in choices_in(path, "fit_3")] == names
    found = choices_in(path, "fit_9")
    assert [each.name for each in found] == [*names, "fit_9"]
    assert found[-1].hint == "what fit is given in call 9, once 8 calls have trained"
    assert choices_in(tmp_path / "missing.py", "fit_2") == ()


def test_that_letters_that_nobody_can_see_are_shown_as_escapes(tmp_path: Path) -> None:
    shown = read_code_file(written(tmp_path, "a = 1\u202e # x\tkept\u200b\rb = 2\r\nc\x0c = 3"))
    assert shown.text == "a = 1\\u202e # x\tkept\\u200b\nb = 2\nc\\x0c = 3"


def test_that_a_file_is_read_in_the_encoding_in_which_python_reads_it(tmp_path: Path) -> None:
    assert read_code_file(written(tmp_path, "# coding: utf-7\n# +AAo-import os")).text.endswith(
        "# \nimport os"
    )
    assert (
        "größe"
        in read_code_file(written(tmp_path, "# coding: latin-1\n# größe".encode("latin-1"))).text
    )
    assert "\\xff" in read_code_file(written(tmp_path, b"# \xff")).text
    assert "x = 1" in read_code_file(written(tmp_path, "# coding: klingon\nx = 1")).text


def test_that_what_is_not_shown_of_a_long_file_is_said(tmp_path: Path) -> None:
    many = read_code_file(written(tmp_path, "x = 1\n" * 20_000))
    assert many.text.count("\n") == MOST_LINES - 1
    assert f"first {MOST_LINES:,} of its 20,001 lines" in many.cut
    wide = read_code_file(written(tmp_path, f"x = '{'y' * 500_000}'\nz = 1"))
    assert len(wide.text) < LONGEST_LINE + 100
    assert "more letters)\nz = 1" in wide.text
    assert wide.cut.startswith("1 of its lines is cut")


def test_that_five_megabytes_are_no_program_and_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "def build(): ...\n" * 300_000)
    with pytest.raises(OSError, match="larger than"):
        read_code_file(path)
    assert functions_in(path) == ()


def test_that_whether_it_was_allowed_is_told(tmp_path: Path) -> None:
    path = written(tmp_path, "x = 1")
    allow_file(path, b"x = 1")
    assert read_code_file(path).standing is Standing.ALLOWED
    written(tmp_path, "x = 2")
    assert read_code_file(path).standing is Standing.CHANGED


def test_that_the_functions_of_the_top_level_are_read_with_hint_and_options(tmp_path: Path) -> None:
    found = functions_in(written(tmp_path, HOSTILE))
    units = Parameter("units", 8, "8")
    given = Parameter("input_shape"), Parameter("outputs"), units, Parameter("seed", None, "None")
    assert found[0].options_besides(GIVEN) == (units,)
    assert found == (
        PythonFunction("build_model", "Layers, \\u202eand a surprise.", given),
        PythonFunction("second", "", (Parameter("width"),), takes_more=True),
    )


def test_that_parameters_are_read_with_their_defaults_and_none_of_them_is_computed(
    tmp_path: Path,
) -> None:
    code = """
def build(first, /, outputs, rate=0.1, wide=(64, 32), name="relu", pick=None, deep=1/0,
          *, units: int, bias=True): ...
"""
    (found,) = functions_in(written(tmp_path, code))
    assert {each.name: (each.default, each.hint) for each in found.options_besides(GIVEN)} == {
        "rate": (0.1, ""),
        "wide": ([64, 32], ""),
        "name": ("relu", ""),
        "pick": (None, "default None"),
        "deep": (None, "default 1 / 0"),
        "units": (None, "has no default: give it a value"),
        "bias": (True, ""),
    }
    assert not found.takes_more


def test_that_a_file_that_has_changed_is_read_anew(tmp_path: Path) -> None:
    path = written(tmp_path, "def one(): ...")
    assert [each.name for each in functions_in(path)] == ["one"]
    written(tmp_path, "def two_now(): ...")
    assert [each.name for each in functions_in(path)] == ["two_now"]


@pytest.mark.parametrize(
    "code",
    [b"def broken(:", b"\0", b"\xff\xfe", b"-" * 200_000 + b"1", b"x = " + b"1+" * 99_999 + b"1"],
)
def test_that_what_is_no_python_has_no_functions(tmp_path: Path, code: bytes) -> None:
    assert functions_in(written(tmp_path, code)) == ()


def test_that_no_file_a_folder_and_a_pipe_have_no_functions_and_are_not_waited_for(
    tmp_path: Path,
) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    for path in (tmp_path / "none.py", tmp_path, tmp_path / "pipe.py"):
        assert functions_in(path) == ()
        with pytest.raises(OSError):
            read_code_file(path)
