"""A folder of texts with a folder for each class."""

from __future__ import annotations

from dataclasses import replace

import pytest
from made_images import put

from gpu_studio.export import ExportError, python_script
from gpu_studio.plan import Data, ModelSettings, Plan, validate
from gpu_studio.runs.sources import file_problems
from gpu_studio.trainer.answers.data import facts_of
from gpu_studio.trainer.data import load_data
from gpu_studio.trainer.data.image_folder import read_texts
from gpu_studio.trainer.errors import DataError

TEXTS = {"holds": "texts"}


def test_that_each_folder_is_a_class_and_texts_stay_as_they_are(tmp_path):
    files = {"neg/2.txt": b"no \xff", "neg/1.TXT": b"", "pos/a.txt": "grüß\n dich ".encode()}
    put(tmp_path, {**files, "pos/.b.txt": b"hidden", "pos/notes.md": b"", "neg/urls.dat": b""})
    found = read_texts(tmp_path)
    assert found.train.x.tolist() == [b"", b"no \xff", "grüß\n dich ".encode()]
    assert found.train.y.tolist() == [0, 0, 1]
    assert found.class_names == ("neg", "pos")


def test_that_train_and_test_are_kept_apart_and_told_with_how_they_begin(tmp_path):
    put(
        tmp_path,
        {f"train/{kind}/{n}.txt": f"{kind}  {n}".encode() for kind in "ab" for n in range(10)},
    )
    put(tmp_path, {"test/b/1.txt": b"much longer than the others"})
    plan = Plan(data=Data(folder=str(tmp_path), options=TEXTS))
    facts = facts_of(load_data(plan.data, 1, tmp_path))
    assert (facts.train, facts.validation, facts.test) == (18, 2, 1)
    assert facts.inputs[0].dtype == "string"
    shown = [[value.text for value in sample.values] for sample in facts.preview]
    assert {label for _, label in shown} == {"a", "b"}
    assert all(text.startswith(f"{label} ") for text, label in shown)


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"a/1.txt": b"x", "b/1.md": b""}, "The class b has no texts"),
        ({"a/1.txt": b"x", "b/c/1.txt": b""}, "holds texts within the folder of a class"),
        ({"1.txt": b"x"}, "holds texts, but no folder for each class"),
    ],
)
def test_that_a_folder_without_texts_is_refused(tmp_path, files, said):
    put(tmp_path, files)
    with pytest.raises(DataError, match=said):
        read_texts(tmp_path)


def test_that_texts_are_not_asked_to_become_images(tmp_path):
    from gpu_studio.trainer.data.image_folder import read_folder

    put(tmp_path, {f"{kind}/{n}.txt": b"x" for kind in "ab" for n in range(3)})
    with pytest.raises(DataError, match="The class a has no images") as refused:
        read_folder(tmp_path, {})
    assert 'Or learn from texts: data.options = { holds = "texts" }.' in refused.value.suggestions
    put(tmp_path, {f"a/{n}.webp": b"" for n in range(3)})
    with pytest.raises(DataError, match="The class a has no images") as refused:
        read_folder(tmp_path, {})
    assert not any("texts" in each for each in refused.value.suggestions)


def test_that_a_plan_says_what_its_folder_holds(tmp_path):
    put(tmp_path, {"1.txt": b"x"})
    plan = Plan(data=Data(folder=str(tmp_path), options=TEXTS))
    assert [each for each in validate(plan) if each.field.startswith("data")] == []
    [problem] = file_problems(plan, plan)
    assert "holds texts, but no folder for each class" in problem.advice
    plan = replace(plan, model=ModelSettings("mlp"))
    with pytest.raises(ExportError, match="how mlp learns are known once they were looked at"):
        python_script(plan, None, tmp_path)
    wrong = replace(plan, data=replace(plan.data, options={**TEXTS, "size": [8, 8]}))
    assert any(each.field == "data.options.size" for each in validate(wrong))
