"""What a script tells TensorFlow about devices and strategies, run on a recording stand-in."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest
from plan_samples import TWO_CARDS
from training_runs import small_plan

from gpu_studio.export import python_script
from gpu_studio.plan import Machine, Plan

MIRRORED = "distribution.strategy=mirrored"
CARVED = "devices.carve=[{ device = 'GPU:1', slices_mib = [1024, 2048] }]"


def tensorflow(cards: int) -> Any:
    """A TensorFlow with so many cards and one CPU."""
    tf = MagicMock()
    physical = {"GPU": [f"card {index}" for index in range(cards)], "CPU": ["cpu"]}
    tf.config.list_physical_devices.side_effect = physical.__getitem__
    tf.config.LogicalDeviceConfiguration.side_effect = lambda memory_limit=None: memory_limit
    tf.config.list_logical_devices.side_effect = lambda kind: [
        _named(f"/device:{kind}:{index}") for index in range(cards if kind == "GPU" else 1)
    ]
    return tf


def _named(name: str) -> Any:
    device = MagicMock()
    device.name = name
    return device


def called(plan: Plan, function: str, tf: Any, machine: Machine | None = None) -> Any:
    """The function of the plan's script, called."""
    tree = ast.parse(python_script(plan, machine, Path()))
    (found,) = [
        node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == function
    ]
    defined: dict[str, Any] = {"tf": tf}
    exec(compile(ast.Module([found], []), "train.py", "exec"), defined)
    return defined[function]()


def test_that_the_cpu_is_carved_without_limits():
    tf = tensorflow(0)
    called(small_plan(), "set_up_devices", tf)
    tf.config.set_logical_device_configuration.assert_called_once_with("cpu", [None] * 4)
    tf.config.set_soft_device_placement.assert_called_once_with(True)
    tf.debugging.set_log_device_placement.assert_not_called()


@pytest.mark.parametrize(
    ("settings", "machine", "card"),
    [
        ((), None, "card 1"),
        (('devices.visible=["GPU:1", "GPU:0"]',), None, "card 0"),
        (('devices.visible=["GPU-5d1e"]',), TWO_CARDS, "card 0"),
    ],
)
def test_that_a_card_is_carved_wherever_it_is_among_the_visible(settings, machine, card):
    plan = small_plan(CARVED, *settings)
    if machine:
        plan = small_plan(CARVED.replace("GPU:1", "GPU-5d1e"), *settings)
    tf = tensorflow(2)
    called(plan, "set_up_devices", tf, machine)
    tf.config.set_logical_device_configuration.assert_called_once_with(card, [1024, 2048])


def test_that_a_script_for_a_card_says_so_where_there_is_none():
    with pytest.raises(SystemExit, match="does not see GPU:1, which is to be cut"):
        called(small_plan(CARVED), "set_up_devices", tensorflow(1))


def test_that_growth_and_logging_are_asked_for():
    tf = tensorflow(2)
    options = (
        "devices.memory_growth=true",
        "devices.log_placement=true",
        "devices.soft_placement=false",
    )
    called(small_plan("devices.carve=", *options), "set_up_devices", tf)
    grown = [call.args for call in tf.config.experimental.set_memory_growth.call_args_list]
    assert grown == [("card 0", True), ("card 1", True)]
    tf.debugging.set_log_device_placement.assert_called_once_with(True)
    tf.config.set_soft_device_placement.assert_called_once_with(False)


@pytest.mark.parametrize("strategy", ["none", "mirrored"])
def test_that_tf32_is_left_to_tensorflow_or_put_off_before_the_devices(strategy):
    asked = f"distribution.strategy={strategy}"
    tf = tensorflow(2)
    called(small_plan(asked), "set_up_devices", tf)
    tf.config.experimental.enable_tensor_float_32_execution.assert_not_called()
    called(small_plan(asked, "training.tf32=false"), "set_up_devices", tf)
    tf.config.experimental.enable_tensor_float_32_execution.assert_called_once_with(False)


@pytest.mark.parametrize(("cards", "devices"), [(0, ["CPU:0"]), (2, ["GPU:0", "GPU:1"])])
def test_that_a_plan_for_all_devices_takes_all_that_are_there(cards, devices):
    tf = tensorflow(cards)
    called(small_plan("devices.carve=", MIRRORED), "make_strategy", tf)
    assert tf.distribute.MirroredStrategy.call_args.args[0] == devices


@pytest.mark.parametrize(
    ("settings", "cards", "way"),
    [
        (("devices.carve=",), 2, "NcclAllReduce"),
        (("devices.carve=",), 0, "ReductionToOneDevice"),
        (("devices.carve=", 'distribution.devices=["CPU:0"]'), 2, "ReductionToOneDevice"),
        ((CARVED,), 3, "ReductionToOneDevice"),
        (("distribution.all_reduce=hierarchical_copy",), 2, "HierarchicalCopyAllReduce"),
        (("distribution.all_reduce=reduction_to_one_device",), 2, "ReductionToOneDevice"),
        (("devices.carve=", "distribution.all_reduce=nccl"), 2, "NcclAllReduce"),
    ],
)
def test_that_gradients_are_added_up_in_the_way_that_suits_the_devices(settings, cards, way):
    tf = tensorflow(cards)
    called(small_plan(MIRRORED, *settings), "make_strategy", tf)
    assert (
        tf.distribute.MirroredStrategy.call_args.args[1] is getattr(tf.distribute, way).return_value
    )


def test_that_a_ring_is_left_to_tensorflow():
    tf = tensorflow(0)
    called(small_plan(MIRRORED, "distribution.all_reduce=ring"), "make_strategy", tf)
    assert tf.distribute.MirroredStrategy.call_args.args == (["CPU:0"],)


@pytest.mark.parametrize(
    ("settings", "devices", "home"),
    [
        (("distribution.parameter_device=CPU:3",), ["GPU:0", "GPU:1"], "CPU:3"),
        ((), ["GPU:0", "GPU:1"], "CPU:0"),
        (('distribution.devices=["CPU:2"]',), ["CPU:2"], "CPU:2"),
    ],
)
def test_that_variables_are_kept_where_the_plan_says(settings, devices, home):
    tf = tensorflow(2)
    called(small_plan("distribution.strategy=central_storage", *settings), "make_strategy", tf)
    tf.distribute.experimental.CentralStorageStrategy.assert_called_once_with(devices, home)


def test_that_one_device_is_the_one_that_is_named():
    tf = tensorflow(1)
    called(small_plan("distribution.strategy=one_device"), "make_strategy", tf)
    called(
        small_plan("distribution.strategy=one_device", 'distribution.devices=["CPU:2"]'),
        "make_strategy",
        tf,
    )
    assert [call.args for call in tf.distribute.OneDeviceStrategy.call_args_list] == [
        ("/device:GPU:0",),
        ("/device:CPU:2",),
    ]
