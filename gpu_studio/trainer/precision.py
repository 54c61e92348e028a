"""Choose mixed precision by what the devices compute fast."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf

AMPERE = (8, 0)


def set_precision(mixed: bool, replicas: Sequence[str]) -> str:
    """Set Keras' policy for layers created from now on, and return its name.

    bfloat16 where it is fast (compute capability 8.0 and later, and CPUs): it has float32's range,
    so that the loss needs no scaling. float16 with loss scaling on older cards, which have no
    bfloat16.
    """
    policy = "float32"
    if mixed:
        old = any(name.startswith("GPU") for name in replicas) and any(
            _older(card) for card in _cards()
        )
        policy = "mixed_float16" if old else "mixed_bfloat16"
    keras.mixed_precision.set_global_policy(policy)
    return policy


def _cards() -> list[Any]:
    cards: list[Any] = tf.config.list_physical_devices("GPU")
    return cards


def _older(card: Any) -> bool:
    capability = tf.config.experimental.get_device_details(card).get("compute_capability", AMPERE)
    return tuple(capability) < AMPERE
