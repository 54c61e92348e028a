"""The logical devices that the trainer tells of, each with the card that it was carved from.

TensorFlow is a fake.
"""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from gpu_studio.plan import Carve, DeviceSettings, Plan

CUDA = {
    "cards": [
        {"ordinal": 0, "uuid": "GPU-b", "bus_id": "0000:2D:00.0", "name": "Fake 0"},
        {"ordinal": 1, "uuid": "GPU-a", "bus_id": "0000:0A:00.0", "name": "Fake 1"},
    ]
}


class FakeTensorFlow:
    """Two cards of which the first is carved in two, and the CPU."""

    def __init__(self) -> None:
        from tensorflow.core.protobuf import config_pb2

        self.config = self.experimental = self
        self.compat = SimpleNamespace(v1=config_pb2)

    def list_physical_devices(self, kind):
        count = {"GPU": 2, "CPU": 1}[kind]
        return [
            SimpleNamespace(name=f"/physical_device:{kind}:{i}", device_type=kind)
            for i in range(count)
        ]

    def list_logical_devices(self, kind):
        return [
            SimpleNamespace(name=f"/device:{kind}:{i}") for i in range({"GPU": 3, "CPU": 1}[kind])
        ]

    def get_device_details(self, device):
        return {"device_name": f"Fake {device.name[-1]}"}

    def enable_tensor_float_32_execution(self, on):
        assert on

    def set_soft_device_placement(self, on):
        assert on

    def set_logical_device_configuration(self, device, slices):
        assert (device.name, slices) == ("/physical_device:GPU:0", [1024, 2048])

    def LogicalDeviceConfiguration(self, memory_limit):
        return memory_limit


@pytest.mark.slow
def test_that_every_slice_tells_the_card_it_was_carved_from(monkeypatch):
    from gpu_studio.trainer import cuda_driver, devices

    eager = SimpleNamespace()
    monkeypatch.setattr(devices, "tf", FakeTensorFlow())
    monkeypatch.setattr(devices, "context", SimpleNamespace(context=lambda: eager))
    monkeypatch.setattr(cuda_driver, "cuda_driver", lambda: CUDA)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    found = devices.set_up(Plan(devices=DeviceSettings(carve=(Carve("GPU:0", (1024, 2048)),))))
    assert [(one.name, one.physical, one.limit_mib, one.uuid, one.bus_id) for one in found] == [
        ("GPU:0", "GPU:0", 1024, "GPU-b", "0000:2d:00.0"),
        ("GPU:1", "GPU:0", 2048, "GPU-b", "0000:2d:00.0"),
        ("GPU:2", "GPU:1", None, "GPU-a", "0000:0a:00.0"),
        ("CPU:0", "CPU:0", None, None, None),
    ]
    assert [one.description for one in found] == ["Fake 0", "Fake 0", "Fake 1", ""]
    assert eager._config.gpu_options.experimental.internal_fragmentation_fraction > 0
