from __future__ import annotations

import gc
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_studio.contract.events import (
    DeviceMemory,
    Devices,
    Epoch,
    LearningRate,
    Log,
    LogicalDevice,
    Memory,
    Steps,
    as_dict,
    decode,
    encode,
)

numbers = st.one_of(st.none(), st.floats(allow_nan=False, allow_infinity=False))


@given(st.lists(numbers, max_size=10), st.integers(0, 2**53), st.floats(0, 1e9))
def test_that_steps_come_back_as_they_went(losses, first, seconds):
    event = Steps(epoch=1, first_step=first, losses=losses, samples=3, seconds=seconds)
    assert decode(encode(event)) == event


@given(st.text())
def test_that_any_text_is_one_line_and_comes_back(text):
    line = encode(Log(message=text))
    assert line.count(b"\n") == 1
    assert decode(line) == Log(message=text)


@pytest.mark.parametrize("number", [2**53 + 1, 2**63 - 1, -(2**63), 10**30])
def test_that_a_whole_number_that_no_plot_can_draw_is_in_no_event(number):
    """A window that was given step 2**63 - 1 died in Qt, and again at each start after it."""
    line = encode(Steps(epoch=1, first_step=7, losses=[1.0], samples=3, seconds=1.0))
    assert decode(line.replace(b":7,", b":%d," % number)) is None
    assert decode(line.replace(b":7,", b":%d," % 2**53)) is not None


@pytest.mark.parametrize("moment", ["-1", "1e18", "9223372036854775807"])
def test_that_a_moment_without_a_date_is_in_no_event(moment):
    written = f'{{"event":"log","message":"a","time":{moment}}}'
    assert decode(written.encode()) is None
    assert decode(written.replace(moment, "221845392000").encode()) is not None


def test_that_a_run_that_lasted_for_ages_is_in_no_event():
    """It would move the times of all later events there, for good."""
    written = b'{"event":"log","message":"a","time":1,"elapsed":1e308}'
    assert decode(written) is None
    assert decode(written.replace(b"1e308", b"1e9")) == Log(message="a", time=1.0, elapsed=1e9)


def test_that_half_a_character_becomes_a_question_mark():
    assert decode(encode(Log(message="a\udcffb"))) == Log(message="a?b")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_that_a_number_that_is_not_finite_becomes_null(value):
    line = encode(Epoch(epoch=1, step=1, metrics={"loss": value}, seconds=1, samples_per_second=1))
    assert json.loads(line)["metrics"] == {"loss": None}
    assert decode(line).metrics == {"loss": None}


@pytest.mark.parametrize("value", [np.float32(0.5), np.float64(0.5), np.array(0.5)])
def test_that_a_number_of_numpy_is_written_as_a_number(value):
    assert decode(encode(LearningRate(step=np.int64(3), value=value))) == LearningRate(
        step=3, value=0.5
    )
    assert as_dict(LearningRate(step=3, value=value))["value"] == 0.5


def test_that_a_value_json_has_no_word_for_is_refused():
    with pytest.raises(TypeError, match="object"):
        encode(Log(message=object()))


def test_that_fields_of_a_later_version_are_ignored():
    line = b'{"event":"log","message":"x","seq":1,"time":2.0,"colour":{"a":[1]}}'
    assert decode(line) == Log(message="x", seq=1, time=2.0)


@given(st.none() | st.text(max_size=40), st.none() | st.text(max_size=12))
def test_that_a_device_brings_the_card_that_it_was_carved_from(uuid, bus_id):
    device = LogicalDevice(name="GPU:1", physical="GPU:0", limit_mib=1024, uuid=uuid, bus_id=bus_id)
    event = Devices(logical=[device], replicas=["GPU:1"], strategy="mirrored")
    assert decode(encode(event)) == event


def test_that_a_device_of_an_older_version_has_no_known_card():
    device = b'{"name":"GPU:0","physical":"GPU:0","limit_mib":null,"description":"NVIDIA L4"}'
    line = (
        b'{"event":"devices","seq":1,"time":2.0,"logical":[%s],'
        b'"replicas":["GPU:0"],"strategy":"none"}' % device
    )
    (found,) = decode(line).logical
    assert (found.uuid, found.bus_id, found.description) == (None, None, "NVIDIA L4")


@given(st.binary(max_size=60))
def test_that_no_line_breaks_the_reader(line):
    decode(line)


@pytest.mark.parametrize(
    "event",
    [
        Steps(epoch=1, first_step=0, losses=[1.0], samples=1, seconds=1.0),
        LearningRate(step=1, value=0.1),
        Memory(
            devices=[DeviceMemory(device="GPU:0", current=1, peak=2, source="allocator")], time=1.0
        ),
    ],
)
def test_that_what_a_long_run_is_made_of_costs_no_look_for_garbage(event):
    """None of it can hold itself, and there are hundreds of thousands of them."""
    read = decode(encode(event))
    assert read == event
    assert not gc.is_tracked(read)
    assert not any(gc.is_tracked(part) for part in getattr(read, "devices", []))
