"""What a script loads is what a run loads, number for number; tried without TensorFlow."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from export_plans import token_file
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_archives import TEST, TRAIN, cifar_archive, cifar_records, images, labels
from training_runs import small_plan

from gpu_studio.contract.consent import allow_file
from gpu_studio.export import data_sets, files_beside, python_script
from gpu_studio.export.learning import ExportError
from gpu_studio.placement.plan_facts import DataFacts
from gpu_studio.plan import Plan
from gpu_studio.plan.data import SPLITS
from gpu_studio.trainer.answers.data import facts_of
from gpu_studio.trainer.data import load_data
from gpu_studio.trainer.data.built_in import keras_home


def functions_of(
    plan: Plan, folder: Path, keras: Any = None, seen: DataFacts | None = None
) -> Mapping[str, Any]:
    """What a plan's script defines, with stand-ins for Keras and TensorFlow.

    Loading data uses neither.
    """
    path = folder / "train.py"
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "keras", keras or SimpleNamespace())
        patch.setitem(sys.modules, "tensorflow", SimpleNamespace())
        patch.setenv("KERAS_BACKEND", "")
        patch.setenv("CUDA_DEVICE_ORDER", "")
        patch.setenv("TF_CPP_MIN_LOG_LEVEL", "3")
        defined: dict[str, Any] = {"__name__": "script", "__file__": str(path)}
        exec(compile(python_script(plan, None, folder, seen), str(path), "exec"), defined)
    return defined


def check(plan: Plan, folder: Path, keras: Any = None) -> None:
    """The splits of the script are those of the trainer."""
    dataset = load_data(plan.data, plan.training.seed, folder)
    seen = facts_of(dataset) if plan.data.python or plan.data.table else None
    loaded = functions_of(plan, folder, keras, seen)["load_data"]()
    wanted = [
        split for split in (dataset.train, dataset.validation, dataset.test) if split is not None
    ]
    assert len(loaded) == len(wanted)
    for (x, y), split in zip(loaded, wanted, strict=True):
        for mine, theirs in ((x, split.seen(slice(None))), (y, split.wanted(slice(None)))):
            assert mine.dtype == theirs.dtype
            np.testing.assert_array_equal(mine, theirs)


def test_that_digits_are_read_where_gpu_studio_has_them(tmp_path):
    check(small_plan(), tmp_path)


def test_that_a_script_elsewhere_reads_the_digits_beside_it_or_says_how_they_come_there(
    tmp_path, monkeypatch
):
    plan = small_plan()
    beside = files_beside(plan)
    monkeypatch.setattr(data_sets, "digits_file", lambda: tmp_path / "another machine's.npz")
    with pytest.raises(SystemExit, match=r"gpu-studio export PLAN --to train\.py"):
        functions_of(plan, tmp_path)["load_data"]()
    for name, source in beside.items():
        shutil.copyfile(source, tmp_path / name)
    check(plan, tmp_path)


@given(
    st.sampled_from([0.0, 0.1, 0.34, 0.5]),
    st.sampled_from([0.0, 0.001, 0.15, 0.5]),
    st.integers(0, 2**32 - 1),
    st.integers(10, 70),
)
@settings(max_examples=40)
def test_that_splits_are_cut_as_the_trainer_cuts_them(
    tmp_path_factory, test, validation, seed, samples
):
    plan = small_plan(
        "data.name=synthetic",
        f"data.options={{ shape = [3, 2], classes = 3, samples = {samples}, seed = {seed} }}",
        f"data.test_fraction={test}",
        f"data.validation_fraction={validation}",
        f"training.seed={seed}",
    )
    check(plan, tmp_path_factory.getbasetemp())


def test_that_made_up_data_are_made_in_one_piece_as_in_many(tmp_path):
    # The trainer makes them in pieces of 4 million numbers.
    check(
        small_plan("data.name=synthetic", "data.options={ shape = [100000], samples = 50 }"),
        tmp_path,
    )


@pytest.mark.parametrize(
    "options", ["", "{ slope = -2.5, intercept = -1, noise = 0.5, samples = 77, seed = 9 }"]
)
def test_that_a_line_with_noise_is_the_same_line(tmp_path, options):
    check(
        small_plan("model.name=linear", "data.name=regression", f"data.options={options}"), tmp_path
    )


def test_that_downloaded_pictures_are_scaled_alike(tmp_path):
    arrays = (images(TRAIN), labels(TRAIN)), (images(TEST), labels(TEST))
    folder = keras_home() / "datasets"
    folder.mkdir(parents=True)
    (x, y), (x_test, y_test) = arrays
    np.savez(folder / "mnist.npz", x_train=x, y_train=y, x_test=x_test, y_test=y_test)
    keras = SimpleNamespace(
        datasets=SimpleNamespace(mnist=SimpleNamespace(load_data=lambda: arrays))
    )
    check(small_plan("data.name=mnist"), tmp_path, keras)


def test_that_colour_pictures_are_scaled_alike(tmp_path):
    batches = [cifar_records(TRAIN, seed) for seed in range(1, 7)]
    members = {f"data_batch_{number}.bin": batches[number - 1][0] for number in range(1, 6)}
    folder = keras_home() / "datasets"
    folder.mkdir(parents=True)
    (folder / "cifar-10-binary.tar.gz").write_bytes(
        cifar_archive(members | {"test_batch.bin": batches[5][0]})
    )
    # As `keras.datasets` gives them: one column of classes.
    train = (
        np.concatenate([each[1] for each in batches[:5]]),
        np.concatenate([each[2] for each in batches[:5]]),
    )
    arrays = (train[0], train[1][:, None]), (batches[5][1], batches[5][2][:, None])
    keras = SimpleNamespace(
        datasets=SimpleNamespace(cifar10=SimpleNamespace(load_data=lambda: arrays))
    )
    check(small_plan("data.name=cifar10", "model.name=resnet20"), tmp_path, keras)


FILES = {
    "grey images of bytes": {"x": images(20), "y": labels(20)},
    "colour images of bytes": {"x": np.ones((9, 4, 4, 3), np.uint8), "y": np.arange(9) % 3},
    "bytes of categories": {
        "x": np.arange(90, dtype=np.uint8).reshape(15, 6),
        "y": np.arange(15) % 3,
    },
    "bytes of short rows": {
        "x": np.arange(90, dtype=np.uint8).reshape(15, 3, 2),
        "y": np.arange(15) % 3,
    },
    "numbers": {
        "x": np.random.default_rng(0).normal(size=(30, 5)),
        "y": (np.arange(30) % 2).reshape(-1, 1),
    },
    "values": {"x": np.arange(60, dtype=np.int16).reshape(15, 2, 2), "y": np.linspace(0, 1, 15)},
}


@pytest.mark.parametrize("scale", ["auto", "unit", "none"])
@pytest.mark.parametrize("kind", FILES)
def test_that_files_of_ones_own_are_read_alike(kind, scale, tmp_path):
    np.savez(tmp_path / "mine.npz", **FILES[kind])
    check(small_plan("data.file=mine.npz", f"data.options.scale={scale}"), tmp_path)


def test_that_tokens_and_a_test_split_of_their_own_are_read_alike(tmp_path):
    check(small_plan(f"data.file={token_file(tmp_path)}", "model.name=transformer"), tmp_path)


def test_that_a_script_refuses_pickled_objects_as_the_trainer_does(tmp_path):
    np.savez(tmp_path / "mine.npz", x=np.zeros((9, 2)), y=np.zeros(9))
    plan = small_plan("data.file=mine.npz")
    load = functions_of(plan, tmp_path)["load_data"]
    np.savez(tmp_path / "mine.npz", x=np.array([{}] * 9, object), y=np.zeros(9))
    with pytest.raises(ValueError, match="allow_pickle"):
        load()


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize(("test", "validation"), [(0.2, 0.2), (0, 0.3), (0.3, 0), (0, 0)])
def test_that_samples_are_kept_aside_in_the_same_way(split, test, validation, tmp_path):
    rng = np.random.default_rng(0)
    np.savez(
        tmp_path / "own.npz",
        x=rng.random((90, 2)),
        y=rng.integers(0, 4, 90) ** 2,
        who=rng.integers(0, 20, 90),
    )
    settings = [
        f"data.split={split}",
        f"data.test_fraction={test}",
        f"data.validation_fraction={validation}",
    ]
    settings += ["data.groups=who"] if split == "grouped" else []
    for seed in range(3):
        check(small_plan("data.file=own.npz", *settings, f"training.seed={seed}"), tmp_path)


def test_that_a_validation_split_of_the_file_is_read_alike(tmp_path):
    x, y = np.arange(60.0).reshape(20, 3), np.arange(20) % 3
    whole = ({"x": x, "y": y}, {"x_train": x, "y_train": y, "x_test": x[3:5], "y_test": y[3:5]})
    for names, called in zip(whole, ("val", "validation"), strict=True):
        np.savez(tmp_path / "own.npz", **names, **{f"x_{called}": x[:7], f"y_{called}": y[:7]})
        check(small_plan("data.file=own.npz"), tmp_path)


def test_that_few_groups_are_shared_out_alike_and_may_be_the_classes(tmp_path):
    sizes = np.repeat(np.arange(4), [37, 1, 1, 1])
    np.savez(
        tmp_path / "own.npz", x=np.arange(80.0).reshape(40, 2), y=np.arange(40) % 4, sizes=sizes
    )
    for groups in ("sizes", "y"):
        check(
            small_plan("data.file=own.npz", "data.split=grouped", f"data.groups={groups}"), tmp_path
        )


def test_that_arrays_of_objects_that_nobody_reads_keep_no_script_from_being_written(tmp_path):
    np.savez(
        tmp_path / "own.npz",
        x=np.eye(9),
        y=np.arange(9) % 3,
        names=np.array(list("abcdefghi"), object),
    )
    check(small_plan("data.file=own.npz"), tmp_path)


def test_that_no_script_is_written_for_groups_that_the_file_has_not(tmp_path):
    np.savez(tmp_path / "own.npz", x=np.eye(9), y=np.arange(9) % 3)
    with pytest.raises(ExportError, match="has no array groups"):
        python_script(small_plan("data.file=own.npz", "data.split=grouped"), None, tmp_path)


OWN_DATA = """
import numpy as np
from beside import LENGTH

def pair(samples, seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(samples, LENGTH)), rng.integers(0, 3, (samples, 1))

def values(samples=20):
    x = np.linspace(0, 1, samples * 2).reshape(samples, 2)
    return (x, x[:, 0]), (x[:5], x[:5, 1])

def lists():
    return [[[1, 2], [3, 4], [5, 6]] * 4, [0, 1, 2] * 4]

def three():
    x, y = np.arange(96 * 4, dtype=np.uint8).reshape(6, 8, 8), np.arange(6) % 3
    return (np.tile(x, (4, 1, 1)), np.tile(y, 4)), (x, y), (x[::-1], y[::-1])

def named():
    x, y = np.arange(60).reshape(20, 3), np.arange(20) % 3
    valid = {"x_valid": x[:6], "y_valid": y[:6]}
    return {"x_train": x, "y_train": y, **valid, "who": np.arange(20) // 3, "more": None}
"""


@pytest.mark.parametrize(
    ("function", "settings"),
    [
        ("pair", ["data.options={ samples = 50 }", "data.split=stratified"]),
        ("values", ["model.name=linear"]),
        ("lists", []),
        ("three", ["model.name=cnn"]),
        ("named", ["data.split=grouped", "data.groups=who", "model.name=transformer"]),
    ],
)
def test_that_what_a_function_of_ones_own_returns_is_taken_alike(
    function, settings, tmp_path, monkeypatch
):
    monkeypatch.setattr(sys, "path", [*sys.path])
    for name, text in (("own_loading.py", OWN_DATA), ("beside.py", "LENGTH = 5")):
        (tmp_path / name).write_text(text)
        allow_file(tmp_path / name, text.encode())
    check(small_plan(f"data.python=own_loading.py:{function}", *settings), tmp_path)


TABLE = """id;size;rooms;kind;price;who
1;"3,5";2;flat;100,5;a
2;4;3;house;-7;b
""" + "".join(
    f"{n};{n},25;{n % 5};{'flat' if n % 3 else 'house'};{n},75;{n % 7}\n" for n in range(40)
)


def _value(cell: str) -> float | str:
    try:
        return float(cell.strip('"').replace(",", "."))
    except ValueError:
        return cell


@pytest.mark.parametrize(
    "settings",
    [
        ["data.options.targets=['kind']", "data.split=stratified"],
        ["data.options.targets=['price']", "model.name=linear"],
        [
            "data.options.targets=['id']",
            "data.options.values=['id']",
            "data.options.inputs=['size']",
        ],
        ["data.options.targets=['rooms']", "data.split=grouped", "data.groups=who"],
    ],
)
def test_that_a_table_is_read_alike(settings, tmp_path):
    names, *rows = (line.split(";") for line in TABLE.splitlines())
    lines = (
        json.dumps({name: _value(cell) for name, cell in zip(names, row, strict=True)})
        for row in rows
    )
    (tmp_path / "homes.jsonl").write_text("\n".join(lines))
    as_lines = small_plan("data.table=homes.jsonl", "data.options.inputs=['size', 'id']", *settings)
    check(as_lines, tmp_path)
    (tmp_path / "homes.csv").write_bytes(TABLE.replace("\n", "\r\n").encode("utf-8-sig"))
    inputs = "data.options.inputs=['size', 'id']"
    plan = small_plan("data.table=homes.csv", "data.options.decimal=comma", inputs, *settings)
    check(plan, tmp_path)
    columns = {
        name: pa.array(
            [row[place] if name in ("kind", "who") else _value(row[place]) for row in rows]
        )
        for place, name in enumerate(names)
    }
    columns["kind"] = columns["kind"].dictionary_encode()
    columns["rooms"] = columns["rooms"].cast("int64")
    pq.write_table(pa.table(columns), tmp_path / "homes.parquet")
    check(replace(as_lines, data=replace(as_lines.data, table="homes.parquet")), tmp_path)
