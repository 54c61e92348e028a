"""A script leaves at its `fit` for good, and what it opens later lies where it has gone.

So it is in a run and in an exported script.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import script_jobs
import zoo_runs

from gpu_studio import plan as plans
from gpu_studio.contract.consent import allow_folder
from gpu_studio.export import python_script
from gpu_studio.placement.plan_facts import DataFacts, Learnt, ModelFacts
from gpu_studio.trainer.user_code.leaving import compiled

pytestmark = [pytest.mark.slow, pytest.mark.processes, pytest.mark.timeout(600)]

MODEL = """
import keras
import numpy as np

x = np.ones((8, 2), "float32")
model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
"""
SAVING = f"""{MODEL}
import atexit

from keeping import Keeping, kept

@atexit.register
def at_exit():
    model.save("at exit.keras")

while True:
    try:
        with Keeping(model), kept(model):
            history = model.fit(x, x[:, :1], batch_size=8, epochs=2)
        break
    except KeyboardInterrupt:
        pass
    except:
        print("once more")
    finally:
        model.save("last.keras")
print(history.history)
"""
KEEPING = """
from contextlib import contextmanager

class Keeping:
    def __init__(self, model):
        self.model = model

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        self.model.save("exit.keras")

@contextmanager
def kept(model):
    try:
        yield
    finally:
        model.save("kept.keras")
"""
ELSEWHERE = f"""{MODEL}
import os
import tensorflow as tf

os.makedirs("data", exist_ok=True)
os.chdir("data")
np.save("x.npy", x)

def rows():
    for row in np.load("x.npy"):
        yield row, row[:1]

of_rows = (tf.TensorSpec((2,)), tf.TensorSpec((1,)))
batches = tf.data.Dataset.from_generator(rows, output_signature=of_rows).batch(4)
model.fit(batches, epochs=2, callbacks=[keras.callbacks.CSVLogger("epochs.csv")])
"""
BY_STEPS = f"""{MODEL}
held = {{"validation_data": (x, x[:, :1]), "validation_steps": 2}}
model.fit(x, x[:, :1], batch_size=4, epochs=1, validation_batch_size=3, **held)
"""
OPEN = f"""{MODEL}
import tempfile

np.savetxt("rows.txt", x)
with tempfile.TemporaryDirectory() as folder, open("rows.txt") as file:
    np.save(folder + "/x.npy", x)

    def batches():
        while True:
            file.seek(0)
            rows = [[float(each) for each in line.split()] for line in file]
            yield np.array(rows, "float32") + np.load(folder + "/x.npy"), x[:, :1]

    model.fit(batches(), steps_per_epoch=2, epochs=2)
    model.save("open.keras")
"""
IN_THREAD = f"""{MODEL}
import threading

def train():
    try:
        history.append(model.fit(x, x[:, :1], batch_size=8, epochs=2))
    finally:
        model.save("thread.keras")

history = []
thread = threading.Thread(target=train)
thread.start()
thread.join()
model.save("joined.keras")
print(history[0].history)
"""
SIGNALS = f"""{MODEL}
import signal

signal.signal(signal.SIGTERM, signal.SIG_IGN)

class Looking(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        logs["ignored"] = float(signal.getsignal(signal.SIGTERM) == signal.SIG_IGN)

model.fit(x, x[:, :1], batch_size=8, epochs=1, callbacks=[Looking()])
"""


def test_that_a_script_does_nothing_more_at_its_fit_and_is_found_where_it_went(
    tmp_path: Path,
) -> None:
    (tmp_path / "saving.py").write_text(SAVING)
    (tmp_path / "keeping.py").write_text(KEEPING)
    (tmp_path / "elsewhere.py").write_text(ELSEWHERE)
    (tmp_path / "by_steps.py").write_text(BY_STEPS)
    (tmp_path / "signals.py").write_text(SIGNALS)
    (tmp_path / "in_thread.py").write_text(IN_THREAD)
    (tmp_path / "open.py").write_text(OPEN)
    allow_folder(tmp_path)
    made = {
        name: plans.with_absolute_files(plans.load(tmp_path / f"{name}.py"), tmp_path)
        for name in ("saving", "elsewhere", "by_steps", "signals", "in_thread", "open")
    }
    runs = zoo_runs.trained_plans(made, tmp_path)
    assert [len(each.epochs) for each in runs.values()] == [2, 2, 1, 1, 2, 2]
    assert runs["signals"].epochs[0]["ignored"] == 0, "a stop would be ignored"
    assert not list(tmp_path.glob("*.keras")), "a model that is not trained was saved"
    assert (tmp_path / "data" / "epochs.csv").read_text().startswith("epoch,")
    assert not (tmp_path / "epochs.csv").exists()
    assert [
        any("validation_batch_size=3" in said for said in each.warned) for each in runs.values()
    ] == [
        False,
        False,
        True,
        False,
        False,
        False,
    ]


def test_that_an_exported_script_does_nothing_more_of_the_script_at_its_fit(
    tmp_path: Path,
) -> None:
    (tmp_path / "saving.py").write_text(SAVING)
    (tmp_path / "keeping.py").write_text(KEEPING)
    (tmp_path / "in_thread.py").write_text(IN_THREAD)
    shapes = {"x_shape": (2,), "y_shape": (1,)}
    model = ModelFacts(learnt=Learnt("values", True, "mse", (), compiled=True))
    exported = []
    for name in ("saving", "in_thread"):
        plan = plans.load(tmp_path / f"{name}.py")
        data = DataFacts(f"{name}.py", "values", None, 8, arrays=("x", "y"), **shapes)
        exported.append(tmp_path / f"exported {name}.py")
        exported[-1].write_text(python_script(plan, None, tmp_path, data, model))
    for said in script_jobs.printed_by(exported, tmp_path):
        assert "epoch 2/2" in said, said[-3000:]
        assert "once more" not in said
    assert not list(tmp_path.glob("*.keras")), "a model that is not trained was saved"


CLOSING = b"""
def read(path):
    with open(path) as one, open(path) as other:
        text = one.read() + other.read()
    return text, one.closed and other.closed
"""


def test_that_files_are_closed_otherwise(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    found: dict[str, object] = {}
    exec(compiled(CLOSING, "closing.py"), found)
    read = found["read"]
    assert callable(read)
    assert read(tmp_path / "a.txt") == ("aa", True)
    with pytest.raises(FileNotFoundError) as raised:
        read(tmp_path / "b.txt")
    assert [each.lineno + 1 for each in raised.traceback if each.name == "read"] == [3]


BLOCKS = b"""
def tried(work):
    done = []
    try:
        try:
            work()
        except ValueError as error:
            done.append(f"handled {error}")
    finally:
        done.append("finally")
    return done
"""


def test_that_blocks_of_the_user_s_code_do_otherwise_what_they_did() -> None:
    found: dict[str, object] = {}
    exec(compiled(BLOCKS, "blocks.py"), found)
    tried = found["tried"]
    assert callable(tried)
    assert tried(lambda: None) == ["finally"]
    assert tried(lambda: int("x"))[1:] == ["finally"]
    with pytest.raises(ZeroDivisionError) as raised:
        tried(lambda: 1 // 0)
    (line,) = [each.lineno + 1 for each in raised.traceback if each.name == "tried"]
    assert line == 6, "what is put into the blocks moves no line"


@pytest.mark.parametrize("future", ["", "from __future__ import annotations\n"])
@pytest.mark.parametrize("docstring", ["", '"""Train."""\n'])
def test_that_a_module_of_a_package_keeps_its_docstring_and_its_lines(
    docstring: str, future: str
) -> None:
    text = f"{docstring}{future}here = __package__\nraise ValueError"
    found: dict[str, object] = {}
    with pytest.raises(ValueError) as raised:
        exec(compiled(text.encode(), "train.py", "lab.nets"), found)
    assert (found["here"], found.get("__doc__")) == ("lab.nets", "Train." if docstring else None)
    assert raised.traceback[-1].lineno + 1 == text.count("\n") + 1
