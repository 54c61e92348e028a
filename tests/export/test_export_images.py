"""A script reads a folder of images byte for byte as a run does, to the same losses."""

from __future__ import annotations

import csv
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from exported_scripts import run_script, write_script
from made_images import JPEG, bmp, gif, plain, png, put, two_classes
from training_runs import small_plan, trained

from gpu_studio.contract import events
from gpu_studio.export import data_sets, python_script
from gpu_studio.export.script_data import source_of
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
