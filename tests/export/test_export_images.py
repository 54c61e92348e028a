"""A script reads a folder of images byte for byte as a run does, to the same losses."""

from __future__ import annotations

import csv
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from exported_scripts import run_script, write_script
from made_images import JPEG, bmp, gif, plain, png, put, two_classes
from training_runs import small_plan, trained

from gpu_studio.contract import events
from gpu_studio.export import data_sets, python_script
from gpu_studio.export.data import data as script_data_of
from gpu_studio.export.facts import ScriptFacts
from gpu_studio.export.fit_data import loading
from gpu_studio.export.fitted import FittedPlan
from gpu_studio.export.script_data import source_of, stay_in_files
from gpu_studio.placement.plan_facts import DataFacts, Learnt, ModelFacts
from gpu_studio.plan import Data, Plan
from gpu_studio.trainer.answers.data import facts_of
from gpu_studio.trainer.data import Split, load_data
from gpu_studio.trainer.data.values import Array

pytestmark = pytest.mark.slow

CLOSE = 1e-5
LOADING = "    parts = load_data()\n"
SAVING = '    np.savez("read.npz", *[each for part in parts for each in part])\n'


def some_images(folder: Path) -> Path:
    """Images in every format, among files that are none, with a test split."""
    noise = np.random.default_rng(0).integers(0, 256, (40, 30, 3), np.uint8)
    two_classes(folder / "train")
    put(
        folder / "train",
        {"dark/a.JPG": JPEG, "light/b.bmp": bmp(noise), "light/c.gif": gif((9, 8, 7), (0, 0, 0))},
    )
    put(folder / "train", {"dark/Thumbs.db": b"", "dark/.hidden.png": b"", ".git/x": b""})
    return put(
        folder,
        {"test/light/d.png": png(noise), "test/light/e.png": png(plain(250, 9)), "readme.txt": b""},
    )


def test_that_a_script_reads_and_trains_what_the_run_does(tmp_path: Path) -> None:
    folder = some_images(tmp_path / "images")
    options = 'data.options={ size = [12, 10], colours = "grey" }'
    plan = small_plan("model.name=cnn", f"data.folder={folder}", options, "training.batch_size=7")
    script = write_script(plan, tmp_path)
    script.write_text(script.read_text().replace(LOADING, LOADING + SAVING))
    with ThreadPoolExecutor(2) as pool:
        printing, running = (
            pool.submit(run_script, script, dict(os.environ)),
            pool.submit(trained, plan, tmp_path),
        )
        printed, run = printing.result(), running.result()
    assert printed.code == 0, printed.output
    assert run.code == 0, run.log
    told = [*run.epochs, run.one(events.Finished).metrics]
    for mine, theirs in zip([*printed.epochs, printed.test], told, strict=True):
        assert mine == pytest.approx(theirs, rel=CLOSE, abs=CLOSE)
    dataset = load_data(plan.data, plan.training.seed, tmp_path)
    splits = [
        split for split in (dataset.train, dataset.validation, dataset.test) if split is not None
    ]
    with np.load(tmp_path / "read.npz") as read:
        mine, theirs = (
            [read[name] for name in read.files],
            [each for split in splits for each in held(split)],
        )
    for one, other in zip(mine, theirs, strict=True):
        np.testing.assert_array_equal(one, other)


def test_that_images_too_many_for_memory_stay_in_their_files_and_are_the_same(
    tmp_path: Path,
) -> None:
    import tensorflow as tf

    images = some_images(tmp_path / "images")
    (tmp_path / "ages.csv").write_text("photo,age\na.JPG,2.5\ndark/a.JPG,1\nlight/b.bmp,3\n")
    put(images / "train", {"a.JPG": JPEG})
    ages = {"images": "photo", "folder": "images/train", "targets": ["age"], "size": [5, 4]}
    put(tmp_path, {f"classes/{path}": JPEG for path in ("a/1.jpg", "a/2.jpg", "b/1.jpg")})
    folder = {"size": [6, 7], "colours": "grey"}
    for data in (
        Data(folder=str(tmp_path / "classes"), options=folder, test_fraction=0.4),
        Data(table=str(tmp_path / "ages.csv"), options=ages),
    ):
        plan, seen = Plan(data=data), facts_of(load_data(data, 0, tmp_path))
        read = []
        for facts in (seen, replace(seen, in_memory=False)):
            defined = {"np": np, "tf": tf, "os": os, "csv": csv, "Path": Path, "SEED": 3}
            text = script_data_of(ScriptFacts.of(plan, None, tmp_path, facts))
            assert ("def pictures(" in text) == (not facts.in_memory)
            exec(text, defined)
            training, *_ = defined["load_data"]()
            order = defined["order_of"](len(training[0]), 1)
            read.append([*defined["batches"](training, 2, order).as_numpy_iterator()])
        assert training[0].dtype.kind == "S"
        for one, other in zip(*read, strict=True):
            np.testing.assert_array_equal(one[0], other[0])
            np.testing.assert_array_equal(one[1], other[1])


def test_that_a_script_for_fit_leaves_images_and_texts_in_their_files_as_well(
    tmp_path: Path,
) -> None:
    import keras
    import tensorflow as tf

    put(tmp_path, {f"images/{path}.jpg": JPEG for path in ("a/1", "a/2", "b/1")})
    put(tmp_path, {f"texts/{path}.txt": path.encode() for path in ("a/1", "a/2", "b/1", "b/22")})
    built = ModelFacts(learnt=Learnt("classes", False, "", ("accuracy",), compiled=True))
    for name, options in (("images", {"size": [6, 7]}), ("texts", {"holds": "texts"})):
        plan = Plan(data=Data(folder=str(tmp_path / name), options=options, test_fraction=0.0))
        seen, read = facts_of(load_data(plan.data, 0, tmp_path)), []
        for facts in (seen, replace(seen, in_memory=False)):
            defined = {"np": np, "tf": tf, "os": os, "keras": keras, "Path": Path}
            defined |= {"SEED": 3, "BATCH_SIZE": 2}
            exec(loading(FittedPlan(plan, None, tmp_path, facts, built)), defined)
            training, *_ = defined["load_data"]()
            rows = len(training[0])
            order = partial(defined["order_of"], rows)
            read.append([*defined["batches"](training, order, 2).as_numpy_iterator()])
        assert training[0][0].endswith((b".jpg", b".txt"))
        assert len(read[0]) == 2 * -(-rows // 2)
        for one, other in zip(*read, strict=True):
            np.testing.assert_array_equal(one[0], other[0])
            np.testing.assert_array_equal(one[1], other[1])


@pytest.mark.parametrize(("many", "in_files"), [(1 << 30, False), ((1 << 30) + 1, True)])
def test_that_a_script_reads_images_by_batches_where_they_are_more_than_a_gibibyte(
    many: int, in_files: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = DataFacts("images", "classes", 2, 80, bytes=many)
    assert stay_in_files(seen) is in_files
    assert stay_in_files(None, many) is in_files
    put(tmp_path, {"a/1.jpg": JPEG, "b/1.jpg": JPEG, "b/2.txt": b""})
    data = Data(folder=str(tmp_path), options={"size": [6, 7]})
    # Nobody has seen these two images.
    monkeypatch.setattr("gpu_studio.export.script_data.HELD", 2 * 6 * 7 * 3 - in_files)
    assert source_of(data, tmp_path).in_files is in_files


def held(split: Split) -> tuple[Array, Array]:
    """The samples and targets of a split as they are in memory."""
    rows = slice(None) if split.rows is None else split.rows
    return split.x[rows], split.y[rows]


@pytest.mark.parametrize(
    ("scale", "given"), [("auto", "cast(x, tf.float32) / 255"), ("none", "cast(x, tf.float32)")]
)
def test_that_images_are_scaled_as_the_plan_says(scale: str, given: str, tmp_path: Path) -> None:
    folder = some_images(tmp_path / "images")
    plan = small_plan("model.name=cnn", f"data.folder={folder}", f"data.options.scale={scale}")
    assert f"lambda x, y: (tf.{given}, y)" in python_script(plan, None, tmp_path)
    _, highest = load_data(plan.data, plan.training.seed, tmp_path).train.range()
    assert 0.5 < highest / (1 if scale == "auto" else 255) <= 1


def test_that_images_with_masks_and_those_of_a_table_are_read_alike(tmp_path: Path) -> None:
    import tensorflow as tf

    numbers = np.random.default_rng(0)
    for name in ("10", "9", "b"):
        picture = numbers.integers(0, 256, (9, 11, 3), np.uint8)
        classes = numbers.integers(0, 2, (9, 11, 1), np.uint8) * 255
        put(tmp_path, {f"of/{name}.bmp": bmp(picture), f"masks/{name}.png": png(classes)})
    (tmp_path / "ages.csv").write_text("photo,age\nb.bmp,2.5\n9.bmp,1\n10.bmp,3\n")
    size = {"size": [6, 7], "colours": "grey"}
    masks = {"holds": "masks", "images": "of", **size}
    ages = {"images": "photo", "folder": "of", "targets": ["age"], **size}
    for data in (
        Data(folder=str(tmp_path), options=masks),
        Data(table=str(tmp_path / "ages.csv"), options=ages),
    ):
        dataset = load_data(data, 0, tmp_path)
        source = source_of(data, tmp_path, facts_of(dataset))
        head, load = data_sets.loading(SimpleNamespace(source=source, plan=Plan(data=data)))
        defined = {"np": np, "tf": tf, "os": os, "csv": csv, "Path": Path}
        exec(head + load, defined)
        np.testing.assert_array_equal(defined["x"], dataset.train.x)
        np.testing.assert_array_equal(defined["y"], dataset.train.y)
