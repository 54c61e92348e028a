"""What is known of a run when it fails, without a process that trains."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from training_runs import small_plan

from gpu_studio.contract.events import DeviceMemory, LogicalDevice
from gpu_studio.plan import with_value
from gpu_studio.trainer.failures import FailureContext

MIB = 1024 * 1024


def scene_of(*layers: str) -> FailureContext:
    """A run mirrored over two slices, far enough to be measured."""
    devices = [
        LogicalDevice(name=f"GPU:{index}", physical=f"GPU:{index}", limit_mib=1024)
        for index in (0, 1)
    ]
    memory = [
        DeviceMemory(
            device=each.name, current=0, peak=1000 * MIB, source="allocator", limit=1024 * MIB
        )
        for each in devices
    ]
    variable = SimpleNamespace(
        value=SimpleNamespace(
            device="/job:localhost/replica:0/task:0/device:GPU:1",
            shape=SimpleNamespace(num_elements=lambda: 10),
            dtype=SimpleNamespace(size=4),
        )
    )
    session: Any = SimpleNamespace(
        model=SimpleNamespace(layers=[SimpleNamespace(name=name, weights=[]) for name in layers]),
        logical=devices,
        spread=SimpleNamespace(replicas=("GPU:0", "GPU:1")),
        program=SimpleNamespace(storage=[variable], by_xla=False),
        optimizer=SimpleNamespace(name="adam"),
        dataset=SimpleNamespace(train=SimpleNamespace(stream=None)),
    )
    meter: Any = SimpleNamespace(read=lambda: memory)
    plan = with_value(small_plan("devices.carve=[]"), "distribution.strategy", "mirrored")
    return FailureContext(plan=plan, session=session, meter=meter)
