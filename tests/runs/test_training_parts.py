"""What training calls were spent on, from the steps that were profiled."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_runs import Script, make_run
from msgspec.structs import replace
from reported_runs import tell_communication

from gpu_studio.contract import events
from gpu_studio.runs.results.run_figures import figures_of
from gpu_studio.runs.results.run_times import (
    NOT_MEASURED,
    ONE_DEVICE,
    step_parts,
    steps_in_words,
    why_no_communication,
)

TOLD = events.Communication(
    step=2,
    steps=5,
    replicas=4,
    seconds=0.02,
    input_seconds=0.002,
    compute=0.012,
    exposed=0.004,
    devices=[],
)
SECONDS = st.floats(0, 10, allow_subnormal=False)


def devices(*replicas, parameter_device=None, strategy="s"):
    return events.Devices(
        logical=[], replicas=list(replicas), strategy=strategy, parameter_device=parameter_device
    )


def test_that_the_time_without_the_wait_for_data_is_shared_out():
    parts = step_parts(TOLD)
    assert (parts.compute, parts.communication, parts.idle) == pytest.approx(
        (12 / 18, 4 / 18, 2 / 18)
    )


def test_that_a_wait_in_which_others_computed_takes_nothing_from_them():
    parts = step_parts(replace(TOLD, input_seconds=0.015))
    assert (parts.compute, parts.communication, parts.idle) == pytest.approx((0.75, 0.25, 0.0))


@given(SECONDS, SECONDS, SECONDS, SECONDS)
def test_that_shares_are_shares_whatever_was_told(seconds, waited, compute, exposed):
    told = replace(TOLD, seconds=seconds, input_seconds=waited, compute=compute, exposed=exposed)
    parts = step_parts(told)
    if parts is not None:
        assert min(parts.compute, parts.communication, parts.idle) >= 0
        assert parts.compute + parts.communication + parts.idle == pytest.approx(1.0)


def test_that_rules_of_a_later_version_and_a_step_of_nothing_tell_nothing():
    assert step_parts(None) is None
    assert step_parts(replace(TOLD, version=2)) is None
    assert step_parts(replace(TOLD, seconds=0.0, compute=0.0, exposed=0.0)) is None


@pytest.mark.parametrize(
    ("told", "why"),
    [
        (None, NOT_MEASURED),
        (devices("GPU:0", "GPU:1"), NOT_MEASURED),
        (devices("GPU:0"), ONE_DEVICE),
        (devices("GPU:0", parameter_device="GPU:0"), ONE_DEVICE),
        (devices("GPU:0", parameter_device="CPU:0"), NOT_MEASURED),
        (devices("CPU:0", strategy="multi_worker"), NOT_MEASURED),
        (devices("CPU:0", strategy="parameter_server"), NOT_MEASURED),
    ],
)
def test_that_what_is_not_known_says_why(told, why):
    assert why_no_communication(told) == why


def test_that_steps_are_counted_from_one():
    assert (steps_in_words(TOLD), steps_in_words(replace(TOLD, steps=1))) == (
        "steps 3 to 7",
        "step 3",
    )


def test_that_the_parts_of_a_run_make_up_its_training_calls(tmp_path):
    run = make_run(tmp_path, Script(trained=2))
    assert figures_of(run).training_parts is None
    tell_communication(run)
    found = figures_of(run)
    parts, shares = found.training_parts, found.training_shares
    assert parts.compute + parts.communication + parts.idle == pytest.approx(
        found.times.compute_seconds
    )
    assert parts.communication == pytest.approx(found.times.compute_seconds * 4 / 18)
    assert found.input_share + shares.compute + shares.communication + shares.idle == pytest.approx(
        1.0
    )


def test_that_a_run_on_one_device_has_no_parts_whatever_was_told(tmp_path):
    run = make_run(tmp_path, Script(trained=1, devices=1))
    tell_communication(run)
    found = figures_of(run)
    assert (found.training_parts, found.training_shares) == (None, None)
    assert found.why_not("communication") == ONE_DEVICE
