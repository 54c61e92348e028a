"""Plan files: unreadable ones are reported, and written ones are complete."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from plan_samples import NO_CARDS

from gpu_studio.plan import Plan, PlanError, dumps, load, loads, save, starter
from gpu_studio.plan.files import LARGEST_BYTES, read_text

STARTER = starter(NO_CARDS)


def refusal_of(path: Path) -> str:
    with pytest.raises(PlanError) as refusal:
        load(path)
    assert len(refusal.value.problems) == 1
    assert refusal.value.source == str(path)
    return str(refusal.value.problems[0])


def written(folder: Path, content: bytes) -> Path:
    path = folder / "a.plan.toml"
    path.write_bytes(content)
    return path


def test_that_a_saved_plan_is_loaded(tmp_path):
    save(STARTER, tmp_path / "a.plan.toml")

    assert load(tmp_path / "a.plan.toml") == STARTER


def test_that_a_plan_file_is_for_its_owner_only(tmp_path):
    save(STARTER, tmp_path / "a.plan.toml")

    assert stat.S_IMODE((tmp_path / "a.plan.toml").stat().st_mode) == 0o600


def test_that_saving_over_a_plan_leaves_nothing_else_behind(tmp_path):
    save(Plan(name="old"), tmp_path / "a.plan.toml")
    save(STARTER, tmp_path / "a.plan.toml")

    assert [each.name for each in tmp_path.iterdir()] == ["a.plan.toml"]
    assert load(tmp_path / "a.plan.toml") == STARTER


def test_that_a_failing_save_leaves_the_old_plan_and_no_rubbish(tmp_path, monkeypatch):
    save(STARTER, tmp_path / "a.plan.toml")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        save(Plan(name="new"), tmp_path / "a.plan.toml")

    assert [each.name for each in tmp_path.iterdir()] == ["a.plan.toml"]
    assert load(tmp_path / "a.plan.toml") == STARTER


def test_that_saving_through_a_link_keeps_the_link(tmp_path):
    save(Plan(name="old"), tmp_path / "real.toml")
    (tmp_path / "link.toml").symlink_to("real.toml")

    save(STARTER, tmp_path / "link.toml")

    assert (tmp_path / "link.toml").is_symlink()
    assert load(tmp_path / "real.toml") == STARTER


def test_that_a_missing_file_is_told(tmp_path):
    assert refusal_of(tmp_path / "none.toml") == (
        f"{tmp_path}/none.toml is missing: check the name, or write a plan "
        "there with the command `starter`."
    )


def test_that_a_python_program_is_not_taken_for_a_plan_with_a_mistake(tmp_path):
    (tmp_path / "train.py").write_text("import keras\n", encoding="utf-8")

    assert refusal_of(tmp_path / "train.py") == (
        f"{tmp_path}/train.py is Python code, and no plan: a script that calls a model's fit can "
        "be given in place of a plan. Else a plan is a file of its own that names functions in "
        "train.py, under model.python and data.python; `gpu-studio guide own-code` shows how."
    )
    with pytest.raises(PlanError, match="is Python code"):  # nor mended as a plan's text
        read_text(tmp_path / "train.py")


def test_that_a_notebook_is_told_how_it_becomes_a_script(tmp_path):
    (tmp_path / "my flowers.ipynb").write_text('{"cells": []}')
    assert refusal_of(tmp_path / "my flowers.ipynb") == (
        f"{tmp_path}/my flowers.ipynb is a notebook, and no plan: `jupyter nbconvert --to script "
        "'my flowers.ipynb'` writes its cells into a Python file, which can be given in place of a "
        "plan if it calls a model's fit."
    )
    with pytest.raises(PlanError, match="is a notebook"):  # nor mended as a plan's text
        read_text(tmp_path / "my flowers.ipynb")


@pytest.mark.parametrize("line", ["model.train_on_batch(x, y)", "with tf.GradientTape() as t:"])
def test_that_a_script_that_trains_by_hand_is_told_what_would_be_taken_over(tmp_path, line):
    (tmp_path / "models.py").write_text("def build_model():\n    pass\n")
    (tmp_path / "train.py").write_text(f"for x, y in data:\n    {line.replace(':', ': pass')}\n")

    by_hand = "put a step into the train_step of a keras.Model, and call its fit."
    assert refusal_of(tmp_path / "train.py").endswith(by_hand)
    assert by_hand not in refusal_of(tmp_path / "models.py")


def test_that_a_folder_is_told(tmp_path):
    assert refusal_of(tmp_path) == f"{tmp_path} is a folder: name the plan file in it."


def test_that_a_pipe_is_told_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")

    assert "is not readable (this is no file, but a pipe)" in refusal_of(tmp_path / "pipe")


def test_that_a_file_that_cannot_be_read_is_told_with_the_reason():
    # Nobody, root included, can read a process' memory at address 0.
    assert "is not readable (input/output error): check its name and permissions." in refusal_of(
        Path("/proc/self/mem")
    )


def test_that_a_name_that_no_file_can_have_is_told():
    with pytest.raises(PlanError, match="is not readable"):
        load(Path("a\0b"))


def test_that_a_name_of_odd_bytes_is_told_in_letters_that_can_be_printed(tmp_path):
    with pytest.raises(PlanError) as refusal:
        load(tmp_path / os.fsdecode(b"plan-\xff.toml"))

    assert str(refusal.value).encode("utf-8")


def test_that_a_file_in_another_encoding_is_told_with_its_line(tmp_path):
    path = written(tmp_path, b'# one\nname = "caf\xe9"\n')

    assert refusal_of(path).startswith(f"{path}, line 2, is not UTF-8 text")


def test_that_a_byte_order_mark_does_no_harm(tmp_path):
    assert load(written(tmp_path, b"\xef\xbb\xbfname = 'x'")).name == "x"


def test_that_a_huge_file_is_not_read_as_a_plan(tmp_path):
    path = written(tmp_path, b"#" * (LARGEST_BYTES + 1))

    assert "is larger than 1 MiB" in refusal_of(path)


@pytest.mark.parametrize("content", [b"", b" \n\n"])
def test_that_an_empty_file_is_told(tmp_path, content):
    assert "is empty: it was cut off, or never written" in refusal_of(written(tmp_path, content))


def test_that_a_syntax_error_is_told_with_its_line(tmp_path):
    path = written(tmp_path, b"name = 'x'\nepochs == 3\n")

    assert refusal_of(path).startswith(f"{path}, line 2, column ")


def test_that_a_file_cut_off_within_a_line_is_told(tmp_path):
    path = written(tmp_path, dumps(STARTER).encode().partition(b"0, 0]")[0])

    assert f"{path}, at its end, is cut off" in refusal_of(path)


def test_that_brackets_without_end_are_told_and_do_not_exhaust_the_stack():
    with pytest.raises(PlanError, match="nested too deeply"):
        loads("a = " + "[" * 100_000)


def test_that_a_number_without_end_is_told():
    with pytest.raises(PlanError, match="is not TOML"):
        loads("epochs = " + "9" * 10_000)


def test_that_a_text_that_no_file_can_hold_is_told():
    with pytest.raises(PlanError, match="not UTF-8"):
        loads("name = '\udcff'")


@pytest.mark.parametrize("words", [["a"] * 100_000, ["' '", '"b"'] * 50_000, ['"\\""'] * 100_000])
@pytest.mark.parametrize("line", ["{} = 1", "[{}]", "a = {{ {} = 1 }}", "a . {} = 1"])
def test_that_a_key_of_very_many_words_is_refused_before_it_takes_all_memory(words, line):
    with pytest.raises(PlanError, match="nested too deeply"):
        loads(line.format(".".join(words)) + "\n")


@pytest.mark.parametrize("deep", [100, 470])
def test_that_no_nesting_ends_in_a_traceback(deep):
    for text in (
        f"version = {'[' * deep}{']' * deep}",
        "name = " + "{ a = " * deep + "1" + " }" * deep,
    ):
        with pytest.raises(PlanError, match="nested too deeply"):
            loads(text)


@pytest.mark.parametrize("quotes", ['"', "'", '"""', "'''"])
def test_that_words_with_dots_in_a_text_or_a_comment_are_no_key(quotes):
    words = ".".join(["one"] * 1000)
    plan = loads(f"name = {quotes}{words}{quotes}  # {words}\n")
    assert plan.name == words


@pytest.mark.parametrize(
    "number", ["0x" + "f" * 5000, "9" * 5000, "-" + "9" * 4001, "0b" + "1" * 20000]
)
def test_that_a_number_that_python_cannot_write_is_refused_in_words(number: str) -> None:
    with pytest.raises(PlanError, match="a whole number has more than 4,000 digits"):
        loads(f"[training]\nepochs = [[{number}]]\n")


def test_that_a_number_that_is_only_too_large_is_named() -> None:
    with pytest.raises(PlanError, match=r"training\.seed"):
        loads("[training]\nseed = [0xffffffffffffffffff]\n")
