"""The question about a plan's data: shapes, counts and a few samples, or a sentence.

Nothing is downloaded for it.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_images import put, two_classes
from patience import PATIENCE_S

from gpu_studio.common.shown_values import PREVIEWED
from gpu_studio.placement.plan_facts import DataFacts, PlanFacts, decoded
from gpu_studio.plan import Data, Plan, with_absolute_files
from gpu_studio.runs.questions.ask import ask
from gpu_studio.runs.questions.plan_question import data_question
from gpu_studio.trainer.answers.data import announced, arrays_of, facts_of, previewed, values_of
from gpu_studio.trainer.data import Split, load_data

pytestmark = pytest.mark.processes


def told(data: Data, base: Path) -> PlanFacts:
    plan = with_absolute_files(Plan(data=data), base)
    return decoded(ask("data", about=data_question(plan), timeout=PATIENCE_S).value)


def facts(data: Data, base: Path) -> DataFacts:
    found = told(data, base).data
    assert found is not None
    return found


def test_that_the_digits_are_told_with_a_picture_of_each_class(tmp_path) -> None:
    digits = facts(Data(name="digits"), tmp_path)
    assert (digits.train, digits.validation, digits.test) == (1455, 162, 180)
    assert (digits.x_shape, digits.x_dtype, digits.classes) == ((28, 28, 1), "float32", 10)
    assert (digits.lowest, digits.highest) == (0, 1)
    assert {sample.label for sample in digits.preview} == {str(label) for label in range(10)}
    first = digits.preview[0]
    assert first.image is not None
    assert len(first.image) == first.height * first.width * first.channels == 784
    assert max(first.image) > 128


def test_that_a_file_of_tokens_tells_its_largest(tmp_path) -> None:
    x = np.tile(np.arange(6), (20, 1)) + np.array([[4]])
    np.savez(tmp_path / "tokens.npz", x=x, y=np.arange(20) % 2)
    tokens = facts(Data(file="tokens.npz", test_fraction=0.2), tmp_path)
    assert (tokens.name, tokens.x_dtype, tokens.largest_token) == ("tokens.npz", "int64", 9)
    assert not tokens.pixels
    assert [value.text for value in tokens.preview[0].values] == ["4 5 6 7 8 9", "0"]


def test_that_values_are_told_as_values(tmp_path) -> None:
    line = facts(Data(name="regression"), tmp_path)
    assert (line.task, line.classes, line.y_shape) == ("values", None, (1,))
    assert line.largest_token is None


@pytest.mark.slow
@pytest.mark.usefixtures("warm_asker")
def test_that_a_folder_of_images_is_told_by_its_classes_and_counted_as_training_gets_it(
    tmp_path,
) -> None:
    folder = two_classes(tmp_path / "shades", 40)
    asked = Data(
        folder="shades/", options={"size": [6, 4]}, test_fraction=0.13, validation_fraction=0.07
    )
    whole = facts_of(load_data(asked, 0, tmp_path))
    put(
        folder, {"light/39.png": b"no image"}
    )  # not shown: whether it can be decoded, the run finds out
    shades = facts(asked, tmp_path)
    seen = {"lowest": shades.lowest, "highest": shades.highest}
    assert shades == replace(whole, preview=shades.preview, **seen)
    assert shades.pixels
    assert 0 <= shades.lowest < shades.highest <= 1
    assert (shades.class_names, shades.x_shape, shades.samples) == (
        ("dark", "light"),
        (6, 4, 3),
        80,
    )
    assert [sample.label for sample in shades.preview] == ["dark", "light"] * (PREVIEWED // 2)
    first, second = (sample.image for sample in shades.preview[:2])
    assert first is not None
    assert second is not None
    assert (len(first), max(first) < 40, min(second) > 200) == (6 * 4 * 3, True, True)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (Data(folder="nowhere"), "The folder of images"),
        (Data(file="nowhere.npz"), "There is no data file"),
        (Data(python="data.py:load"), "There is no Python file"),
        (Data(), "an empty data part"),
    ],
)
def test_that_data_that_cannot_be_had_are_a_sentence_with_advice(tmp_path, data, words) -> None:
    found = told(data, tmp_path)
    assert found.data is None
    assert words in found.data_error
    assert found.advice


@pytest.mark.parametrize(
    ("name", "train", "shape"), [("mnist", 54_000, (28, 28, 1)), ("cifar10", 45_000, (32, 32, 3))]
)
def test_that_data_that_are_not_here_are_announced_and_not_downloaded(
    name, train, shape, tmp_path, monkeypatch
):
    monkeypatch.setenv("KERAS_HOME", str(tmp_path / "keras"))
    found = facts(Data(name=name), tmp_path)
    assert not found.here
    assert (found.train, found.validation, found.test) == (train, train // 9, 10_000)
    assert (found.x_shape, found.classes, found.preview) == (shape, 10, ())
    assert not (tmp_path / "keras").exists()


@pytest.mark.parametrize("samples", [9_999, 20_000])
def test_that_as_many_samples_are_told_as_training_gets(tmp_path, samples) -> None:
    asked = Data(
        name="regression",
        options={"samples": samples},
        test_fraction=0.13,
        validation_fraction=0.07,
    )
    whole = load_data(asked, 0, tmp_path)
    line = facts(asked, tmp_path)
    assert whole.validation is not None
    assert whole.test is not None
    assert (line.train, line.validation, line.test) == (
        len(whole.train),
        len(whole.validation),
        len(whole.test),
    )
    assert line.bytes == 8 * samples


def test_that_a_look_at_endless_data_takes_no_endless_memory(tmp_path) -> None:
    endless = facts(Data(name="synthetic", options={"samples": 10**9, "classes": 3}), tmp_path)
    assert (endless.samples, endless.classes) == (10**9, 3)
    assert {sample.label for sample in endless.preview} == {"0", "1", "2"}


def test_that_data_too_large_for_the_memory_are_said_to_be(tmp_path) -> None:
    shape = [100_000, 100_000]
    found = told(Data(name="synthetic", options={"samples": 10, "shape": shape}), tmp_path)
    assert "do not fit into memory" in found.data_error


@given(st.floats(0, 0.9))
def test_that_what_is_announced_adds_up(fraction) -> None:
    cifar = announced(Data(name="cifar10", validation_fraction=fraction))
    assert cifar.samples == 60_000


def test_that_large_pictures_are_thinned_out_and_keep_their_colours() -> None:
    image = np.zeros((1, 400, 200, 3), np.float32)
    image[..., 2] = 1.0
    (sample,) = previewed(Split(image, np.zeros(1, np.int32)))
    assert (sample.height, sample.width) == (80, 40)
    assert sample.image is not None
    assert sample.image[:3] == b"\x00\x00\xff"


def test_that_pictures_with_numbers_outside_of_0_to_1_are_scaled_together() -> None:
    images = np.stack([np.full((4, 4, 1), value, np.float32) for value in (-1.0, 1.0, 3.0)])
    shown = [sample.image for sample in previewed(Split(images, np.arange(3, dtype=np.int32)))]
    assert [image[0] for image in shown if image] == [0, 128, 255]


@given(st.integers(1, 40), st.integers(1, 30))
def test_that_as_many_classes_are_shown_as_there_is_room_for(samples, classes) -> None:
    y = (np.arange(samples) % classes).astype(np.int32)
    shown = previewed(Split(np.zeros((samples, 3), np.float32), y))
    labels = [sample.values[1].text for sample in shown]
    assert len(labels) == min(samples, PREVIEWED)
    assert len(set(labels)) == min(samples, classes, PREVIEWED)


def test_that_the_weights_of_plain_samples_are_shown_beside_them() -> None:
    x, weights = np.ones((12, 3), np.float32), np.linspace(0.5, 6, 12, dtype=np.float32)
    shown = previewed(Split(x, np.ones(12, np.float32), weights=weights))
    assert [value.text for value in shown[-1].values] == ["1 1 1", "1", "6"]


def test_that_every_array_of_a_structure_is_shown_in_its_own_way() -> None:
    steps = np.stack([np.linspace(0, size, 20, dtype=np.float32) for size in (1, 2)])
    x = {
        "film": np.zeros((2, 8, 8, 3), np.uint8),
        "pulse": steps,
        "words": np.array(["a", "b\x1b"]),
    }
    y = {"mask": np.ones((2, 8, 8), np.int32), "price": np.array([1.5, 2.0], np.float32)}
    shown = previewed(Split(x, y, weights=np.ones(2, np.float32)))
    film, pulse, words, mask, price, weight = shown[1].values
    names = [value.name for value in shown[1].values]
    assert names == ["x/film", "x/pulse", "x/words", "y/mask", "y/price", "sample_weight"]
    assert (film.channels, mask.channels, set(mask.pixels)) == (3, 1, {255})
    assert [max(sample.values[1].curves[0]) for sample in shown] == [128, 255]
    assert len(pulse.curves) == 1
    assert (words.text, price.text, weight.text) == ("b ", "2", "1")
    dataset: Any = SimpleNamespace(train=Split(x, ()), targets=())
    assert [each.scaled for each in arrays_of(dataset)[0]] == [True, False, False]


def test_that_a_picture_whose_target_is_a_mask_is_shown_beside_it() -> None:
    pictures = np.zeros((2, 8, 8, 1), np.float32)
    (first, _) = previewed(Split(pictures, np.ones((2, 8, 8, 1), np.int32)))
    assert [bool(value.pixels) for value in first.values] == [True, True]


@pytest.mark.parametrize(
    ("shape", "drawn"),
    [
        ((28, 28), "pixels"),
        ((60, 10), "curves"),
        ((60, 2), "curves"),
        ((24,), "curves"),
        ((16,), ""),
        ((4, 4), ""),
        ((12, 12, 6), "pixels"),
    ],
)
def test_that_what_is_a_picture_and_what_a_sequence_is_told_by_the_shape(
    shape: tuple[int, ...], drawn: str
) -> None:
    (value,) = values_of(np.ones((1, *shape), np.float32))
    assert [kind for kind in ("pixels", "curves") if getattr(value, kind)] == [drawn] * bool(drawn)


def test_that_no_module_of_tensorflow_is_needed(tmp_path) -> None:
    asked = {"plan": data_question(Plan(data=Data(name="digits")))["plan"]}
    program = (
        f"from gpu_studio.trainer.answers.data import answer; answer({asked!r}, print); import sys"
    )
    assert ask(
        "data", about=asked, command=_program(tmp_path, program), timeout=PATIENCE_S
    ).value == {"heavy": []}


def _program(folder: Path, program: str) -> list[str]:
    """A process that runs the program, and tells which heavy modules it has imported."""
    path = folder / "program.py"
    tell = "import json, os\nheavy = sorted({'tensorflow', 'keras'} & set(sys.modules))\n"
    tell += (
        "os.write(int(sys.argv[-1]), json.dumps({'answer': {'heavy': heavy}}).encode() + b'\\n')\n"
    )
    path.write_text(f"{program}\n{tell}")
    return [sys.executable, str(path)]


def test_that_new_images_of_a_table_are_asked_about_anew(tmp_path) -> None:
    put(tmp_path, {"ages.csv": b"photo,age\n1.png,2\n", "of/1.png": b""})
    options = {"images": "photo", "folder": "of", "targets": ["age"]}
    plan = with_absolute_files(Plan(data=Data(table="ages.csv", options=options)), tmp_path)
    before = data_question(plan)
    assert data_question(plan) == before
    put(tmp_path, {"of/2.png": b""})
    assert data_question(plan) != before
