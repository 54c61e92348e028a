"""What a step holds is rehearsed for a kind of device when that is asked about."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.slow


def test_that_a_step_is_rehearsed_once_and_only_for_the_devices_that_are_asked_about(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import tensorflow as tf

    from gpu_studio.placement.step_memory import StepMemory
    from gpu_studio.trainer.answers import step_trace

    rehearsed: list[str] = []
    for name in ("on_cpu", "on_card"):
        told = lambda *_given, name=name, **_named: rehearsed.append(name) or StepMemory()  # noqa: E731
        monkeypatch.setattr(step_trace, name, told)
    step = tf.function(lambda x: tf.sin(x) * x, autograph=False)
    graph = step.get_concrete_function(tf.TensorSpec((7, 4))).graph
    trace = step_trace.StepTrace(graph, 7, {}, {}, [])
    steps = step_trace.costs_of(trace, rewriting=None).steps
    assert rehearsed == []
    assert steps["GPU"] == steps["GPU"] == StepMemory()
    assert rehearsed == ["on_card"]
    assert len(dict(steps)) == len(steps) == len(rehearsed) == 6
    assert rehearsed.count("on_cpu") == 1


def test_that_a_step_rehearsed_at_once_is_the_same_though_another_process_does_it() -> None:
    import tensorflow as tf

    from gpu_studio.trainer.answers import beside, step_trace

    step = tf.function(lambda x: tf.reduce_sum(tf.exp(tf.sin(x) * x) @ x), autograph=False)
    graph = step.get_concrete_function(tf.TensorSpec((1009, 1009))).graph
    trace = step_trace.StepTrace(graph, 1009, {}, {}, [])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(beside, "cores", lambda: 2)
        begun = step_trace.costs_of(trace, at_once=True).steps
        # What is rehearsed from now on in this process is not asked.
        patch.delattr(step_trace, "on_cpu")
        found = begun["CPU"]
    assert found.moments
    assert found == step_trace.costs_of(trace).steps["CPU"]
