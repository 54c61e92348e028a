"""Measure the memory of each logical device, as exactly as TensorFlow reports it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import tensorflow as tf

from gpu_studio.common.figures import MIB
from gpu_studio.contract.events import DeviceMemory, LogicalDevice

HOST = "host"


def bytes_by_device(variables: Iterable[Any]) -> dict[str, int]:
    """Bytes of the Keras variables by the logical device that holds them.

    A mirrored one counts on each device.
    """
    total: dict[str, int] = {}
    for variable in variables:
        for part in _parts(variable.value):
            device = tf.DeviceSpec.from_string(part.device)
            name = f"{device.device_type}:{device.device_index}"
            total[name] = total.get(name, 0) + part.shape.num_elements() * part.dtype.size
    return total


def _parts(variable: Any) -> Sequence[Any]:
    parts: Sequence[Any] = getattr(variable, "values", None) or (variable,)
    return parts


class MemoryMeter:
    """Reads the allocators of the logical devices that take part in a run.

    TensorFlow counts each logical GPU separately, but all logical CPUs together: for those the
    host's arena is reported once, and for each the bytes of the variables on it.
    """

    def __init__(self, logical: Sequence[LogicalDevice], variables: dict[str, int]) -> None:
        self._cards = [device for device in logical if device.name.startswith("GPU")]
        cpus = [device.name for device in logical if device.name.startswith("CPU")]
        self._variables = variables
        self._cpus = cpus if len(cpus) > 1 or not self._cards else []

    def read(self) -> list[DeviceMemory]:
        """Return one row per logical device, then the host's arena if the run computes on CPUs."""
        rows = [self._card(device) for device in self._cards]
        rows += [self._placed(name) for name in self._cpus]
        return rows + ([self._host()] if self._cpus else [])

    def _card(self, device: LogicalDevice) -> DeviceMemory:
        info = tf.config.experimental.get_memory_info(device.name)
        limit = device.limit_mib * MIB if device.limit_mib else None
        return DeviceMemory(
            device=device.name,
            current=info["current"],
            peak=info["peak"],
            source="allocator",
            limit=limit,
        )

    def _placed(self, name: str) -> DeviceMemory:
        size = self._variables.get(name, 0)
        return DeviceMemory(device=name, current=size, peak=size, source="variables")

    def _host(self) -> DeviceMemory:
        info = tf.config.experimental.get_memory_info("CPU:0")
        return DeviceMemory(device=HOST, current=info["current"], peak=info["peak"], source="host")
