"""Set up TensorFlow's devices as the plan says, before anything initialises them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf
from msgspec.structs import replace

from gpu_studio.contract.events import LogicalDevice
from gpu_studio.plan import DeviceSettings
from gpu_studio.trainer.errors import TrainerError
from gpu_studio.trainer.identities import NO_CARD, CardIdentity, identities


def set_up(devices: DeviceSettings) -> list[LogicalDevice]:
    """Apply carves, memory growth and soft placement.

    Return the logical devices in TensorFlow's order.

    Raises TrainerError for a card that TensorFlow does not see.
    """
    tf.config.set_soft_device_placement(devices.soft_placement)
    if devices.log_placement:
        tf.debugging.set_log_device_placement(True)
    physical = _physical(devices)
    for carve in devices.carve:
        _carve(_find(physical, carve.device), carve.slices_mib)
    if devices.memory_growth:
        for card in tf.config.list_physical_devices("GPU"):
            tf.config.experimental.set_memory_growth(card, True)
    return _logical(devices, physical)


def _physical(devices: DeviceSettings) -> dict[str, Any]:
    """TensorFlow's physical devices under the names that the plan gives them."""
    cards = tf.config.list_physical_devices("GPU")
    named = [name for name in devices.visible if not name.startswith("CPU")]
    if not devices.visible:
        named = [f"GPU:{index}" for index in range(len(cards))]
    if len(cards) < len(named):
        raise TrainerError(
            f"The plan wants {', '.join(named)}, but TensorFlow sees {_count(len(cards))}.",
            [
                "Take the missing card out of devices.visible.",
                "Look whether the driver still answers for it: nvidia-smi.",
                "Look at the beginning of trainer.log for what TensorFlow says about CUDA.",
            ],
        )
    host = {f"CPU:{index}": cpu for index, cpu in enumerate(tf.config.list_physical_devices("CPU"))}
    return dict(zip(named, cards, strict=False)) | host


def _count(cards: int) -> str:
    return {0: "no card", 1: "one card"}.get(cards, f"{cards} cards")


def _find(physical: dict[str, Any], name: str) -> Any:
    if name in physical:
        return physical[name]
    raise TrainerError(
        f"The plan carves {name}, which TensorFlow does not see.",
        [f"Carve one of {', '.join(sorted(physical))}.", "Or add it to devices.visible."],
    )


def _carve(device: Any, slices_mib: Sequence[int]) -> None:
    # A limit is required on a GPU and refused on a CPU.
    slices = [tf.config.LogicalDeviceConfiguration(memory_limit=mib or None) for mib in slices_mib]
    tf.config.set_logical_device_configuration(device, slices)


def _logical(devices: DeviceSettings, physical: dict[str, Any]) -> list[LogicalDevice]:
    limits = {carve.device: carve.slices_mib for carve in devices.carve}
    described = {device.name: _describe(device) for device in physical.values()}
    known = identities({name: card for name, card in described.items() if "GPU" in name})
    rows = []
    for kind in ("GPU", "CPU"):
        slices = [
            _slice(name, limit, described[device.name], known.get(device.name, NO_CARD))
            for name, device in physical.items()
            if device.device_type == kind
            for limit in limits.get(name) or (0,)
        ]
        names = [
            logical.name.removeprefix("/device:")
            for logical in tf.config.list_logical_devices(kind)
        ]
        rows += [replace(one, name=logical) for logical, one in zip(names, slices, strict=True)]
    return rows


def _slice(physical: str, limit_mib: int, description: str, card: CardIdentity) -> LogicalDevice:
    """A slice of a physical device that TensorFlow has not named yet."""
    return LogicalDevice(
        name="",
        physical=physical,
        limit_mib=limit_mib or None,
        description=description,
        uuid=card.uuid,
        bus_id=card.bus_id,
    )


def _describe(device: Any) -> str:
    if device.device_type != "GPU":
        return ""
    details = tf.config.experimental.get_device_details(device)
    return str(details.get("device_name", ""))
