"""A script traces each of its compiled steps once, whatever the sizes of the batches."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest
from export_plans import SETTINGS, plan_of

from gpu_studio.export import python_script
from gpu_studio.export.tracing import TRACED_ONCE

OF_SERVERS = {"train_alone", "evaluate_alone", "compute_part", "evaluate_part"}


@pytest.mark.parametrize("name", SETTINGS)
def test_that_each_step_that_takes_batches_is_traced_once(name: str) -> None:
    tree = ast.parse(python_script(plan_of(name), None, Path("/nowhere")))
    found = [each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)]
    steps = {each.name: list(map(ast.unparse, each.decorator_list)) for each in found}
    compiled = {name for name, above in steps.items() if any("tf.function" in a for a in above)}
    if "servers" in name:
        given = compiled & OF_SERVERS
        assert given == compiled - {"update"}
        calls = [ast.unparse(each) for each in ast.walk(tree) if isinstance(each, ast.Call)]
        assert calls.count("trace(function, batch)") == 1  # where workers are given a step
        return
    assert "train_step" in steps
    for each in compiled:
        assert steps[each][0] == "traced_once", each
    assert steps["train_step"][0] in ("traced_once", "compiling(model)")


@pytest.mark.slow
def test_that_a_smaller_last_batch_is_not_traced_anew() -> None:
    import tensorflow as tf

    made: dict[str, Any] = {"tf": tf}
    exec(TRACED_ONCE, made)
    mirrored = tf.distribute.MirroredStrategy(["CPU:0"])
    shapes: list[Any] = []

    def total(x: Any, pairs: Any, shared: Any, step: Any) -> Any:
        parts = mirrored.experimental_local_results(shared)
        shapes.append([each.shape.as_list() for each in (x, *pairs[0], *parts, step)])
        return tf.add_n([tf.reduce_sum(each) for each in (x, *pairs[0], *parts)]) + step

    def batch(size: int) -> tuple[Any, ...]:
        shared = mirrored.experimental_distribute_values_from_function(lambda _: tf.ones([size]))
        return tf.ones([size, 2, 3]), [(tf.ones([size, 1]), tf.ones([size]))], shared

    step = made["traced_once"](tf.function(total, autograph=False, reduce_retracing=True))
    for number, size in enumerate((5, 5, 2, 1)):
        assert float(step(*batch(size), tf.constant(number, tf.float32))) == 9 * size + number
    assert shapes == [[[None, 2, 3], [None, 1], [None], [None], []]]
