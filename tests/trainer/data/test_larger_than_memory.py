"""Tables and folders that do not fit into memory give the same batches as those that do."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from long_proofs import in_short
from made_images import png, put

from gpu_studio.plan import Data
from gpu_studio.trainer.answers import data as data_answers
from gpu_studio.trainer.answers.data import facts_of, image_facts
from gpu_studio.trainer.data import Dataset, free_memory, image_folder, load_data, on_disk, table
from gpu_studio.trainer.data.fingerprints import fingerprints
from gpu_studio.trainer.data.in_files import FilesAsArray
from gpu_studio.trainer.data.trees import flat
from gpu_studio.trainer.errors import DataError

ROWS, BATCH, SEED = 90, 7, 3
random = np.random.default_rng(5)
COLUMNS: dict[str, Any] = {
    "a": random.integers(-9, 9, ROWS).tolist(),
    "b": np.float32(random.normal(size=ROWS)).tolist(),
    "wide": (random.integers(0, 9, ROWS) + 2**40).tolist(),
    "word": [f"w{'x' * (n % 5)}{n}" for n in range(ROWS)],
    "kind": [["dog", "cat", "emu"][n % 3] for n in range(ROWS)],
    "price": np.float32(random.uniform(1, 9, ROWS)).tolist(),
    "score": random.integers(0, 9_000, ROWS).tolist(),
    "weight": np.float32(random.uniform(1, 2, ROWS)).tolist(),
    "group": [f"g{n // 9}" for n in range(ROWS)],
    "file": [f"{n % 10}.png" for n in range(ROWS)],
}
MATRIX = {"inputs": ["b", "a"], "targets": ["kind"], "weight": "weight"}
VALUES = {"inputs": ["a", "b"], "targets": ["score", "kind"], "values": ["a", "score"]}
MIXED = {"inputs": ["a", "wide", "word", "b"], "targets": ["price", "kind"], "weight": "weight"}
PICTURES = {"inputs": ["b"], "targets": ["kind"], "images": "file", "size": [4, 5]}


def csv(path: Path) -> None:
    rows = zip(*COLUMNS.values(), strict=True)
    lines = [",".join(COLUMNS), *(",".join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines))


def jsonl(path: Path) -> None:
    rows = zip(*COLUMNS.values(), strict=True)
    path.write_text("\n".join(json.dumps(dict(zip(COLUMNS, row, strict=True))) for row in rows))


def parquet(path: Path) -> None:
    pq.write_table(pa.table(COLUMNS), path, row_group_size=25)


def images(folder: Path, names: list[str], values: int = 256) -> None:
    draw = np.random.default_rng(11)
    put(folder, {name: png(draw.integers(0, values, (6, 7, 3), np.uint8)) for name in names})


WRITTEN: dict[str, Callable[[Path], None]] = {"t.csv": csv, "t.jsonl": jsonl, "t.parquet": parquet}


def table_data(folder: Path, name: str, options: dict[str, Any], **more: Any) -> Data:
    WRITTEN[name](folder / name)
    return Data(table=str(folder / name), options=options, **more)


def made(folder: Path, case: str) -> Data:
    """The data of a case, in `folder`."""
    if case == "images":
        images(folder, [f"{kind}/{n}.png" for kind in "ab" for n in range(20)])
        return Data(folder=str(folder), options={"size": [4, 5]})
    if case == "masks":
        images(folder, [f"images/{n}.png" for n in range(20)])
        draw = np.random.default_rng(12)
        classes = (255 * draw.integers(0, 2, (20, 6, 7, 1))).astype(np.uint8)
        put(folder, {f"masks/{n}.png": png(each) for n, each in enumerate(classes)})
        return Data(folder=str(folder), options={"holds": "masks", "size": [4, 5]})
    if case == "texts":
        files = {f"{kind}/{n}.txt": b"w " * n + kind.encode() for kind in "ab" for n in range(20)}
        put(folder, files)
        return Data(folder=str(folder), options={"holds": "texts"})
    name, _, what = case.partition(" ")
    if what == "pictures":
        images(folder, COLUMNS["file"][:10])
        return table_data(folder, name, PICTURES)
    grouped = {"split": "grouped", "groups": "group"} if what == "grouped" else {}
    options = {"mixed": MIXED, "values": VALUES | {"form": "columns"}}.get(what, MATRIX)
    return table_data(folder, name, options, **grouped)


CASES = [
    *("images", "masks", "texts", "t.csv", "t.csv mixed", "t.jsonl mixed", "t.parquet mixed"),
    *("t.parquet", "t.csv pictures", "t.parquet grouped"),
]
SHORT = ("images", "texts", "t.csv mixed", "t.parquet")


@pytest.fixture
def no_room(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Lets nothing fit into memory; returns the folder of unnamed files."""
    shelves = tmp_path_factory.mktemp("shelves")
    monkeypatch.setattr(on_disk, "user_cache_path", lambda _name: shelves)
    for module in (table, image_folder, data_answers):
        monkeypatch.setattr(module, "bytes_for_data", lambda: 0)
    return shelves


def batches(data: Dataset) -> list[Any]:
    """Every number of two passes over the training samples, and of one over the others."""
    import tensorflow as tf

    from gpu_studio.trainer.batches import Cut, evaluation_stream, training_stream

    cut = Cut(len(data.train), BATCH, 2)
    streams = [training_stream(data.train, cut, SEED, 0, BATCH).take(4 * cut.steps())]
    for split in data.splits[1:]:
        held = Cut(len(split), BATCH, 2)
        streams.append(evaluation_stream(split, held).take(2 * held.steps()))
    parts = [part for stream in streams for part in stream]
    return [np.asarray(each) for part in parts for each in tf.nest.flatten(part)]


@pytest.mark.slow
@pytest.mark.parametrize("case", in_short(CASES, SHORT, __file__))
def test_that_what_does_not_fit_into_memory_gives_the_same_batches(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    data = made(tmp_path, case)
    held = load_data(data, SEED, tmp_path)
    shelves = request.getfixturevalue("no_room")
    streamed = load_data(data, SEED, tmp_path)
    assert not any(split.streamed for split in held.splits)
    assert all(split.streamed for split in streamed.splits)
    assert fingerprints(streamed) == fingerprints(held)
    assert (streamed.target, streamed.class_names) == (held.target, held.class_names)
    for mine, wanted in zip(batches(streamed), batches(held), strict=True):
        assert mine.dtype == wanted.dtype
        np.testing.assert_array_equal(mine, wanted)
    assert not list(shelves.iterdir())  # nothing has a name there, and nothing stays
    assert facts_of(held).in_memory
    assert not facts_of(streamed).in_memory
    assert any("does not fit" in said or "do not fit" in said for said in streamed.notes)


@pytest.mark.parametrize("name", WRITTEN)
def test_that_values_are_floats_in_a_table_on_disk_too(
    name: str, tmp_path: Path, no_room: Path
) -> None:
    data = made(tmp_path, f"{name} values")
    train = load_data(replace(data, split="random", test_fraction=0.0), SEED, tmp_path).train
    assert train.streamed
    seen, wanted, _ = train.given(slice(None))
    assert seen["a"].dtype == wanted["score"].dtype == np.float32
    assert wanted["kind"].dtype == np.int32
    places = np.arange(ROWS) if train.rows is None else train.rows
    assert wanted["score"].tolist() == np.array(COLUMNS["score"])[places].tolist()


@pytest.mark.slow
def test_that_the_page_says_that_images_stay_in_their_files(tmp_path: Path, no_room: Path) -> None:
    data = made(tmp_path, "images")
    facts = image_facts(data, SEED)
    assert not facts.in_memory
    assert facts.notes[0] == (
        "The 40 images take 2.3 KiB, which does not fit into the memory that is free: they stay "
        "in their files, and each batch is decoded anew in every epoch. Order, shuffling and "
        "resuming are as in memory."
    )


@pytest.mark.parametrize("case", ["images", "t.csv pictures"])
def test_that_a_file_that_is_no_picture_is_refused_before_the_run(
    case: str, tmp_path: Path, no_room: Path
) -> None:
    data = made(tmp_path, case)
    lost = sorted(tmp_path.rglob("7.png"))[0]
    lost.write_bytes(b"no picture")
    with pytest.raises(DataError, match=re.escape(str(lost))):
        load_data(data, SEED, tmp_path)


@pytest.mark.slow
def test_that_a_picture_that_is_damaged_meanwhile_is_named(tmp_path: Path, no_room: Path) -> None:
    import tensorflow as tf

    from gpu_studio.trainer.batches import Cut, evaluation_stream

    data = load_data(made(tmp_path, "images"), SEED, tmp_path)
    stream = evaluation_stream(data.train, Cut(len(data.train), BATCH, 1))
    lost = next(each for each in data.train.arrays if isinstance(each, FilesAsArray)).paths[5]
    Path(lost).write_bytes(Path(lost).read_bytes()[:60])
    with pytest.raises(tf.errors.OpError) as stopped:
        list(stream.take(6))
    with pytest.raises(DataError, match=re.escape(lost)):
        data.train.blame(stopped.value)


def test_that_numbers_that_fit_neither_into_memory_nor_onto_the_disk_are_refused(
    tmp_path: Path, no_room: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = made(tmp_path, "t.csv")
    monkeypatch.setattr(table, "free_bytes", lambda: 1 << 30)
    monkeypatch.setattr(on_disk.shutil, "disk_usage", lambda _: type("D", (), {"free": 5})())
    with pytest.raises(DataError) as refused:
        load_data(data, SEED, tmp_path)
    assert "more than the 1 GiB of memory that are free, and than the 5 B on the disk" in (
        refused.value.message
    )


def test_that_the_room_is_what_a_limit_of_the_process_or_its_group_leaves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in {
        "memory.max": str(3 << 30),
        "memory.current": str(2 << 30),
        "memory.stat": f"anon 5\ninactive_file {1 << 29}\nactive_file 0\n",
    }.items():
        (tmp_path / name).write_text(text)
    (left,) = free_memory.left_in_group(tmp_path)
    assert left == (1 << 30) + (1 << 29)
    (tmp_path / "memory.max").write_text("max\n")
    assert free_memory.left_in_group(tmp_path) == []
    limit = (8 << 30, -1)
    monkeypatch.setattr(free_memory.resource, "getrlimit", lambda _: limit)
    (left,) = free_memory.left_in_process()
    assert 0 < left < 8 << 30
    assert 0 < free_memory.free_bytes() < 8 << 30


def test_that_a_system_without_the_newer_control_groups_sets_no_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    groups = tmp_path / "cgroup"
    groups.write_text("12:memory:/user.slice\n1:name=systemd:/user.slice\n")
    monkeypatch.setattr(free_memory, "_OWN_GROUPS", groups)
    assert free_memory.left_in_groups() == []
    assert free_memory.bytes_for_data() > 0


def test_that_pieces_of_a_table_on_disk_take_no_descriptor_each(no_room: Path) -> None:
    shelf, descriptors = on_disk.Shelf(), Path("/proc/self/fd")
    before = len(list(descriptors.iterdir()))
    kept = [shelf.put(np.full(3, number)) for number in range(50)]
    assert len(list(descriptors.iterdir())) == before
    assert [each.read().tolist() for each in kept] == [[number] * 3 for number in range(50)]


def test_that_nothing_is_copied_where_rows_are_asked_for(tmp_path: Path, no_room: Path) -> None:
    """All of a sample lies side by side: what is asked for is views of the file alone."""
    found = load_data(made(tmp_path, "t.parquet mixed"), SEED, tmp_path)
    for array in flat(found.train.x):
        assert isinstance(array, np.ndarray)
        assert not array.flags.owndata
        assert array.strides[0] > array.itemsize
    assert not list(no_room.iterdir())
