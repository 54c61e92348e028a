"""From what a profiler saw to the time of each layer.

Medians, lines, stretching, and how the cores are shared.
"""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytestmark = pytest.mark.slow

MATMUL = "while/body/_1/while/mlp/dense/placed.0.0/MatMul"
GRADIENT = "while/body/_1/while/gradients/while/mlp/dense/placed.0.0/MatMul_grad/MatMul"
UPDATE = "while/body/_1/while/adam/update.0.0/AssignSubVariableOp"
LOSS = "while/body/_1/while/loss/Mean"
SEATS = [SimpleNamespace(number=0, path="dense"), SimpleNamespace(number=1, path="outputs")]


def executed(**seconds):
    """So many executions of each operation, one after another."""
    from gpu_studio.trainer.step_recording import Executed

    names = {
        "matmul": MATMUL,
        "gradient": GRADIENT,
        "update": UPDATE,
        "loss": LOSS,
        "data": "GatherV2",
    }
    return [
        Executed(names[name], 10.0, 10.0 + took)
        for name, times in seconds.items()
        for took in times
    ]


def step(batch, seconds=1.0, **spent):
    from gpu_studio.trainer.answers.measurements import StepTimes

    return StepTimes(batch, seconds, {("dense", way): took for way, took in spent.items()})


def test_that_each_operation_counts_for_its_layer_and_pass_with_its_median():
    from gpu_studio.trainer.answers.measurements import spent_in

    seen = executed(
        matmul=[1.0, 1.0, 70.0],
        gradient=[2.0, 3.0, 4.0],
        update=[0.5] * 3,
        loss=[0.25] * 3,
        data=[9.0],
    )
    assert spent_in(seen, SEATS, 3) == pytest.approx(
        {
            ("dense", "forward"): 1.0,
            ("dense", "backward"): 3.0,
            ("dense", "update"): 0.5,
            ("", ""): 0.25,
        }
    )


def test_that_an_operation_that_runs_twice_a_step_counts_twice():
    from gpu_studio.trainer.answers.measurements import spent_in

    assert spent_in(executed(matmul=[1.0] * 6), SEATS, 3) == {
        ("dense", "forward"): pytest.approx(2.0)
    }


def test_that_the_layers_together_take_what_a_step_takes_on_the_clock():
    from gpu_studio.trainer.answers.measurements import _stretched

    assert _stretched({("a", "forward"): 1.0, ("", ""): 3.0}, 8.0) == {
        ("a", "forward"): 2.0,
        ("", ""): 6.0,
    }
    assert _stretched({}, 8.0) == {}


@given(
    st.integers(1, 64),
    st.integers(2, 64),
    st.floats(0, 1, allow_subnormal=False),
    st.floats(0, 1, allow_subnormal=False),
)
def test_that_the_line_goes_through_both_sizes(small, factor, fixed, slope):
    from gpu_studio.trainer.answers.measurements import line_through

    batches = (small, small * factor)
    one, other = (
        step(b, forward=fixed + slope * b, backward=2 * (fixed + slope * b), update=0.5)
        for b in batches
    )
    found = line_through(one, other, ["dense"], 0.5)["dense"]
    for b in batches:
        assert found.forward_fixed + found.forward_per_sample * b == pytest.approx(
            fixed + slope * b
        )
        assert found.backward_fixed + found.backward_per_sample * b == pytest.approx(
            2 * (fixed + slope * b)
        )
    assert (found.update, found.share) == (0.5, 0.5)


@given(st.floats(0, 10, allow_subnormal=False), st.floats(0, 10, allow_subnormal=False))
def test_that_no_noise_makes_a_time_negative_or_the_larger_size_wrong(one, other):
    from gpu_studio.trainer.answers.measurements import line_through

    found = line_through(step(8, forward=one), step(32, forward=other), ["dense"])["dense"]
    assert found.forward_fixed >= 0
    assert found.forward_per_sample >= 0
    assert found.forward_fixed + 32 * found.forward_per_sample == pytest.approx(other)


def test_that_a_layer_that_was_not_seen_takes_no_time():
    from gpu_studio.placement.work import LayerTime
    from gpu_studio.trainer.answers.measurements import line_through

    assert line_through(step(8), step(32), ["flatten"]) == {"flatten": LayerTime()}


@pytest.mark.parametrize(
    ("seconds", "share"),
    [(4 * 1.0 + 0.5, 1.0), (2 * 1.0 + 0.5, 0.5), (3 * 1.0 + 0.5, 0.75), (9.0, 1.0)],
)
def test_that_the_share_of_the_cores_is_how_much_sooner_micro_batches_end_together(seconds, share):
    from gpu_studio.trainer.answers.measurements import share_of

    small, large = step(8, 1.25, update=0.25), step(32, 4.5, update=0.5)
    assert share_of(small, large, 4, seconds) == pytest.approx(share)


def test_that_a_step_of_updates_alone_shares_nothing():
    from gpu_studio.trainer.answers.measurements import share_of

    assert share_of(step(8, 1.0, update=1.0), step(32, 1.0, update=1.0), 4, 1.0) == 1.0
