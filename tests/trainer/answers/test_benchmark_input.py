"""Reading the data of plans, alone: every kind of source, as training gets them."""

from __future__ import annotations

import json
import subprocess

import numpy as np
import pytest
import warm_python

from gpu_studio import plan as plans
from gpu_studio.contract.consent import allow_file
from gpu_studio.plan import Carve, Data, DeviceSettings, Distribution, Placed, Plan, Training

CODE = """
import keras
import numpy as np
import tensorflow as tf

def batch(number, rows=16):
    return np.full((rows, 8), number, np.float32), np.zeros((rows,), np.int32)

def again():
    def gen():
        for number in range(40):
            yield batch(number)
    return gen

def once():
    return map(batch, range(3))

def uneven():
    x, y = batch(0, 100)
    return tf.data.Dataset.from_tensor_slices((x, y)).batch(32)

class Pages(keras.utils.PyDataset):
    def __len__(self):
        return 5
    def __getitem__(self, number):
        return batch(number)

def pages():
    return Pages()

def breaks():
    def gen():
        yield from map(batch, range(4))
        raise RuntimeError("my disk is gone")
    return gen
"""
PROGRAM = """
import json, os, sys
from gpu_studio import plan as plans
from gpu_studio.trainer.answers import benchmark_input, benchmark_timing, benchmarks
from gpu_studio.trainer.devices import set_up
benchmark_input.LEAST_S, benchmark_timing.REPEATS = 0.001, 2
found, logical = {}, None
for name, text in json.load(open(sys.argv[1])).items():
    plan = plans.loads(text)
    logical = logical or set_up(plan)
    rows, said = [], ""
    try:
        rows += benchmarks._explained(benchmark_input.read_alone(plan, logical, lambda told: None))
    except Exception as error:
        said = str(error)
    found[name] = [rows, said]
os.write(1, b"\\n" + json.dumps(found).encode() + b"\\n")
"""
TWO = DeviceSettings(carve=(Carve("CPU:0", (0, 0)),))
EACH = Training(batch_size=16, epochs=1)


@pytest.fixture(scope="module")
def read(tmp_path_factory):
    """What the trainer says of each plan, by its name: the rows, and how it ended."""
    folder = tmp_path_factory.mktemp("data")
    code = folder / "data.py"
    code.write_text(CODE)
    allow_file(code, code.read_bytes())
    table = folder / "table.csv"
    rows = [f"{n},{n * 2},{n % 2}" for n in range(64)]
    table.write_text("\n".join(["a,b,label", *rows]))
    np.savez(folder / "arrays.npz", x=np.zeros((48, 3), np.float32), y=np.arange(48) % 2)
    mirrored = Distribution("mirrored")
    placed = Distribution("placed", placed=Placed(micro_batches=4))
    of = {
        "digits": (Data(name="digits"), Distribution(), EACH),
        "mirrored": (Data(name="digits"), mirrored, EACH),
        "placed": (Data(name="digits"), placed, EACH),
        "file": (Data(file=str(folder / "arrays.npz")), Distribution(), EACH),
        "table": (
            Data(table=str(table), options={"inputs": ["a", "b"], "targets": ["label"]}),
            Distribution(),
            EACH,
        ),
        **{
            name: (Data(python=f"{code}:{name}"), Distribution(), EACH)
            for name in ("again", "once", "uneven", "pages", "breaks")
        },
        "uneven, mirrored": (Data(python=f"{code}:uneven"), mirrored, EACH),
    }
    file = folder / "asked.json"
    texts = {
        name: plans.dumps(
            Plan(name="p", devices=TWO, data=data, distribution=spread, training=training)
        )
        for name, (data, spread, training) in of.items()
    }
    file.write_text(json.dumps(texts))
    done = subprocess.run(
        [*warm_python.command("-c"), PROGRAM, str(file)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.strip().splitlines()[-1])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["digits", "mirrored", "placed", "file", "table"])
def test_that_data_in_memory_are_loaded_once_and_read_by_the_batch(read, name):
    (loaded, batches), said = read[name]
    assert not said
    assert loaded["samples"] == {"file": 48, "table": 64}.get(name, 1797)
    assert len(loaded["seconds"]) == 1
    assert batches["size"] == 16
    rest = {"file": 7, "table": 4}.get(name, 15)  # a pass: 39, 52 or 1455 samples
    assert (16 + rest) / 2 <= batches["samples"] <= 16  # never the last one alone: two are read
    assert len(batches["seconds"]) == 2
    assert batches["devices"] == (["CPU:0", "CPU:1"] if name == "mirrored" else ["CPU:0"])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["again", "uneven", "pages", "uneven, mirrored"])
def test_that_streams_are_read_pass_after_pass(read, name):
    (opened, batches), said = read[name]
    assert not said
    assert opened["samples"] == 0
    assert len(batches["seconds"]) == 2
    whole = {"again": 16, "pages": 16}.get(name, 25)  # 32, 32, 32 and 4
    assert batches["samples"] == pytest.approx(whole, abs=0 if whole == 16 else 7)


@pytest.mark.slow
def test_that_a_generator_that_can_be_read_once_says_if_it_ended_too_soon(read):
    (_, batches), said = read["once"]
    assert not said
    assert "ended before they were timed" in batches["why_not"]


@pytest.mark.slow
def test_that_code_that_fails_is_told_in_plain_words_and_what_was_measured_stays(read):
    rows, said = read["breaks"]
    assert [row["what"] for row in rows] == ["load"]
    assert "data.py stopped in line" in said
    assert "my disk is gone" in said
