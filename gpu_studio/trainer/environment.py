"""Set this process's environment variables.

It happens before TensorFlow is imported, which reads them only once.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from gpu_studio.plan import DeviceSettings, Plan
from gpu_studio.plan.rules.device_rules import allocator
from gpu_studio.trainer.errors import PlanRefused

HIDE_ALL = "-1"


def settle(plan: Plan) -> None:
    """Set this process's variables for `plan`, before `import tensorflow`. Raises PlanRefused."""
    for name, value in settings_for(plan, os.environ).items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def settings_for(plan: Plan, environ: Mapping[str, str]) -> dict[str, str | None]:
    """Return the variables to set before `import tensorflow`, None to unset. Raises PlanRefused."""
    if next(allocator(plan, environ), None):
        raise PlanRefused(
            "TF_GPU_ALLOCATOR=cuda_malloc_async gives all slices of a card one common pool, so a "
            "carve has no limits.",
            ["Unset TF_GPU_ALLOCATOR.", "Or take the carve out of the plan."],
        )
    return {
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        "CUDA_VISIBLE_DEVICES": visible_cards(plan.devices, environ.get("CUDA_VISIBLE_DEVICES")),
        "KERAS_BACKEND": "tensorflow",
        "TF_CPP_MIN_LOG_LEVEL": environ.get("TF_CPP_MIN_LOG_LEVEL", "1"),
        # A cluster left over in the environment would make TensorFlow wait for workers that this
        # run does not have.
        "TF_CONFIG": None,
        "TF_USE_LEGACY_KERAS": None,
    }


def visible_cards(devices: DeviceSettings, inherited: str | None) -> str | None:
    """Return the CUDA_VISIBLE_DEVICES that shows TensorFlow just the plan's cards, in its order.

    `inherited` is its present value (from a scheduler, say): the plan's `GPU:k` is then the k-th
    card of that. None leaves the variable alone.
    """
    if not devices.visible:
        return inherited
    cards = [name for name in devices.visible if not name.startswith("CPU")]
    if not cards:
        return HIDE_ALL
    allowed = (
        [part.strip() for part in inherited.split(",") if part.strip()]
        if inherited is not None
        else None
    )
    return ",".join(_cuda_name(card, allowed) for card in cards)


def _cuda_name(card: str, allowed: list[str] | None) -> str:
    if not card.startswith("GPU:"):
        return card
    index = int(card.removeprefix("GPU:"))
    if allowed is None:
        return str(index)
    if index >= len(allowed):
        raise PlanRefused(
            f"The plan wants {card}, but CUDA_VISIBLE_DEVICES shows this process only "
            f"{len(allowed)} card(s).",
            [
                "Name another card in devices.visible.",
                "Or start GPU Studio with CUDA_VISIBLE_DEVICES unset.",
            ],
        )
    return allowed[index]
