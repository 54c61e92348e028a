"""The question about layers' times, asked of a real TensorFlow process."""

from __future__ import annotations

import pytest

from gpu_studio.contract.consent import allow_file
from gpu_studio.placement.correction import held_in
from gpu_studio.placement.work import links_in, times_in
from gpu_studio.plan import (
    Carve,
    Data,
    DeviceSettings,
    Machine,
    ModelSettings,
    Plan,
    Training,
    logical_devices,
)
from gpu_studio.runs.questions import answer_cache, ask
from gpu_studio.runs.questions.plan_question import times_question

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("warm_asker")]

PLAN = Plan(
    model=ModelSettings(name="mlp", options={"hidden": [256]}),
    data=Data(name="digits"),
    devices=DeviceSettings(carve=(Carve("CPU:0", (0, 0)),)),
    training=Training(batch_size=32),
)
DEVICES = logical_devices(PLAN, Machine(cpu_cores=2))


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """The first answer, the second, and what was said on the way to the first."""
    about, said = times_question(PLAN, DEVICES), []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(answer_cache, "folder", lambda: tmp_path_factory.getbasetemp() / "answers")
        first = ask.ask("times", about=about, progress=said.append, timeout=200.0)
        return first, ask.ask("times", about=about, timeout=1.0), said


def test_that_every_layer_has_a_time_forward_and_backward_and_those_with_weights_an_update(answers):
    times = times_in(answers[0].value, DEVICES)["CPU:0"]
    assert set(times) == {"flatten", "dense", "outputs"}
    for name in ("dense", "outputs"):
        each = times[name]
        assert each.forward_fixed + 32 * each.forward_per_sample > 0
        assert each.backward_fixed + 32 * each.backward_per_sample > 0
        assert each.update > 0
        assert each.share is not None
        assert 0 < each.share <= 1
    assert times["flatten"].update == 0


STATEFUL = """
import keras, numpy as np

def load():
    return np.ones((24, 3, 2), "float32"), np.ones((24, 1), "float32")

def made():
    memory = keras.layers.LSTM(2, stateful=True, name="memory")
    return keras.Sequential([keras.Input((3, 2), batch_size=12), memory, keras.layers.Dense(1)])
"""


def test_that_a_model_that_keeps_states_is_timed_in_whole_batches(tmp_path, monkeypatch):
    code = tmp_path / "stateful.py"
    code.write_text(STATEFUL)
    allow_file(code, code.read_bytes())
    monkeypatch.setattr(answer_cache, "folder", lambda: tmp_path / "answers")
    plan = Plan(
        model=ModelSettings(python=f"{code}:made"),
        data=Data(python=f"{code}:load", validation_fraction=0.0, test_fraction=0.0),
        training=Training(batch_size=12),
    )
    devices = logical_devices(plan, Machine(cpu_cores=2))
    answer = ask.ask("times", about=times_question(plan, devices), timeout=200.0).value
    assert times_in(answer, devices)["CPU:0"]["memory"].forward_fixed > 0
    assert held_in(answer)["CPU:0"].batch == 12


def test_that_a_step_of_the_whole_batch_held_about_its_gradients_and_more(answers):
    held = held_in(answers[0].value)
    assert set(held) == {"CPU:0"}
    assert held["CPU:0"].batch == 32
    gradients = 4 * (64 * 256 + 256 + 256 * 10 + 10)
    assert gradients < held["CPU:0"].bytes < 100 * gradients


def test_that_slices_of_a_processor_are_equally_fast_and_nothing_is_copied_between_them(answers):
    times = times_in(answers[0].value, DEVICES)
    assert times["CPU:0"] == times["CPU:1"]
    assert links_in(answers[0].value, DEVICES) == {}


def test_that_the_same_question_is_answered_with_what_was_kept(answers):
    first, second, _ = answers
    assert (first.kept, second.kept) == (False, True)
    assert second.value == first.value


def test_that_it_is_said_what_is_being_waited_for(answers):
    assert answers[2] == [
        "importing TensorFlow",
        "building the model on CPU:0",
        "training steps of 32 samples on CPU:0",
        "training steps of 8 samples on CPU:0",
        "training steps in 4 micro-batches on CPU:0",
    ]
