from __future__ import annotations

import zipfile
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from made_images import put
from real_runs import PLAN

from gpu_studio.plan import Data, ModelSettings, with_absolute_files
from gpu_studio.runs.sources import file_problems

NUMBERS = {"x": np.zeros((4, 2), np.float32), "y": np.arange(4)}


def advice(folder, *, data=None, model=None, images=None):
    chosen = Data(file=data) if data else Data(folder=images) if images else PLAN.data
    plan = replace(PLAN, data=chosen, model=ModelSettings(file=model) if model else PLAN.model)
    found = file_problems(plan, with_absolute_files(plan, folder))
    return [f"{problem.field}: {problem.advice}" for problem in found]


def test_that_a_plan_of_built_ins_has_no_files_to_go_wrong(tmp_path):
    assert file_problems(PLAN, with_absolute_files(PLAN, tmp_path)) == []


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_that_arrays_of_numbers_are_fine(tmp_path, save):
    save(tmp_path / "data.npz", **NUMBERS)
    assert (
        advice(tmp_path, data="data.npz") == advice(tmp_path, data=str(tmp_path / "data.npz")) == []
    )


def test_that_pickles_are_refused_by_the_name_of_the_array(tmp_path):
    np.savez(tmp_path / "data.npz", x=np.array([{"run": "me"}], dtype=object), y=np.arange(1))
    [problem] = advice(tmp_path, data="data.npz")
    assert problem.startswith("data.file: x holds pickled Python objects")


def test_that_a_name_in_an_archive_is_told_in_short_and_harmless_and_too_many_are_refused(tmp_path):
    np.savez(tmp_path / "data.npz", **{"\x1b[31m" + "k" * 30_000: np.array([{}], dtype=object)})
    (problem,) = advice(tmp_path, data="data.npz")
    assert problem.isprintable()
    assert len(problem) < 400
    with zipfile.ZipFile(tmp_path / "data.npz", "w") as archive:
        for number in range(10_001):
            archive.writestr(f"m{number}.npy", b"")
    (problem,) = advice(tmp_path, data="data.npz")
    assert "it holds 10,001 arrays, and 10,000 are the most" in problem


def test_that_missing_files_are_told_all_at_once_with_where_they_were_looked_for(tmp_path):
    problems = advice(tmp_path, data="data.npz", model="model.keras")
    assert [problem.partition(":")[0] for problem in problems] == ["model.file", "data.file"]
    assert f"{tmp_path}/model.keras is where" in problems[0]


def test_that_a_name_too_long_for_the_file_system_is_refused(tmp_path):
    assert "cannot be read" in advice(tmp_path, data="x" * 5000 + ".npz")[0]


def test_that_a_folder_is_no_file(tmp_path):
    (tmp_path / "data.npz").mkdir()
    assert "no such file" in advice(tmp_path, data="data.npz")[0]


def test_that_a_folder_of_images_is_fine_without_a_look_at_them(tmp_path):
    put(tmp_path / "pets", {"cats/1.png": b"no image", "dogs/1.png": b""})
    assert advice(tmp_path, images="pets/") == advice(tmp_path, images=str(tmp_path / "pets")) == []


def test_that_a_missing_folder_is_told_with_the_one_that_may_be_meant(tmp_path):
    (tmp_path / "pets").mkdir()
    [problem] = advice(tmp_path, images="pet/")
    assert problem.startswith(
        f"data.folder: there is no such folder: {tmp_path}/pet is where it was looked for"
    )
    assert problem.endswith(f"; did you mean {tmp_path}/pets?")


def test_that_a_folder_without_classes_is_told_what_it_lacks(tmp_path):
    put(tmp_path / "pets", {"1.png": b""})
    assert advice(tmp_path, images="pets")[0].startswith(
        "data.folder: it holds images, but no folder for each class: "
    )
    assert "no such folder" in advice(tmp_path, images="pets/1.png")[0]
    assert "cannot be read" in advice(tmp_path, images="x" * 5000)[0]


@pytest.mark.parametrize("part", [0.0, 0.3, 0.9])
def test_that_a_file_which_is_cut_off_is_refused(tmp_path, part):
    np.savez(tmp_path / "data.npz", **NUMBERS)
    whole = (tmp_path / "data.npz").read_bytes()
    (tmp_path / "data.npz").write_bytes(whole[: int(len(whole) * part)])
    assert "cut off" in advice(tmp_path, data="data.npz")[0]


def test_that_a_keras_file_without_its_parts_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "model.keras", "w") as archive:
        archive.writestr("config.json", "{}")
    assert "it lacks model.weights.h5" in advice(tmp_path, model="model.keras")[0]
    with zipfile.ZipFile(tmp_path / "model.keras", "a") as archive:
        archive.writestr("model.weights.h5", "")
    assert advice(tmp_path, model="model.keras") == []


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 10_000), st.binary(min_size=1, max_size=20))
def test_that_no_damage_brings_more_than_advice(tmp_path, position, damage):
    np.savez(tmp_path / "data.npz", **NUMBERS)
    content = bytearray((tmp_path / "data.npz").read_bytes())
    start = position % len(content)
    content[start : start + len(damage)] = damage
    (tmp_path / "data.npz").write_bytes(content)
    assert len(advice(tmp_path, data="data.npz")) <= 1


def advice_of_table(folder, content, **options):
    (folder / "homes.csv").write_text(content)
    data = Data(table="homes.csv", options={"targets": ["price"], **options})
    plan = replace(PLAN, data=data)
    found = file_problems(plan, with_absolute_files(plan, folder))
    return [f"{problem.field}: {problem.advice}" for problem in found]


def test_that_the_columns_of_a_table_are_held_against_its_header(tmp_path):
    assert advice_of_table(tmp_path, "size,price\n") == []
    assert advice_of_table(tmp_path, "size,price\n", inputs=["sise"]) == [
        "data.options.inputs: there is no column sise: did you mean size? There are size and price"
    ]
    assert advice_of_table(tmp_path, "") == [
        "data.table: it is empty: a table has a line with the names of its columns first"
    ]
