"""Targets of many shapes and types for the same samples, as a user's file has them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

SAMPLES, FEATURES = 90, 12


def save(kind: str, path: Path) -> None:
    """Write the samples and the targets of this kind."""
    draw = np.random.default_rng(7)
    x = draw.normal(size=(SAMPLES, FEATURES)).astype(np.float32)
    np.savez(path, x=x, y=KINDS[kind](x, draw))


def _bits(x: Any, shape: tuple[int, ...]) -> Any:
    return np.resize(x, (SAMPLES, *shape)) > 0


def _ids(x: Any, shape: tuple[int, ...], classes: int) -> Any:
    return (np.abs(np.resize(x, (SAMPLES, *shape))) * 100).astype(np.int64) % classes


KINDS: dict[str, Any] = {
    "bools": lambda x, _: x[:, 0] > 0,
    "bytes": lambda x, _: (x[:, 0] > 0).astype(np.uint8),
    "floats": lambda x, _: (x[:, :1] > 0).astype(np.float64),
    "one_hot": lambda x, _: np.eye(4)[_ids(x, (1,), 4)[:, 0]],
    "one_hot_bytes": lambda x, _: np.eye(4, dtype=np.uint8)[_ids(x, (1,), 4)[:, 0]],
    "labels": lambda x, _: _bits(x, (5,)).astype(np.int64),
    "labels_as_floats": lambda x, _: _bits(x, (5,)).astype(np.float32),
    "vector": lambda x, draw: x[:, :3] * 2 + draw.normal(size=(SAMPLES, 3)),
    "balances": lambda x, _: _ids(x, (1,), 30)[:, 0] - 9,
    "ids_as_floats": lambda x, _: _ids(x, (1,), 4)[:, 0].astype(np.float32),
    "steps": lambda x, _: _ids(x, (5,), 6),
    "four_steps": lambda x, _: _ids(x, (4,), 6),
    "places": lambda x, _: _ids(x, (2, 3), 4).astype(np.uint8),
    "places_apart": lambda x, _: _ids(x, (2, 3, 1), 4).astype(np.uint8),
    "places_one_hot": lambda x, _: np.eye(4, dtype=bool)[_ids(x, (2, 3), 4)],
    "spots": lambda x, _: _bits(x, (2, 3)),
    "spots_apart": lambda x, _: _bits(x, (2, 3, 1)).astype(np.float32),
    "picture": lambda x, _: x.reshape(-1, 2, 3, 2).astype(np.float64),
    "picture_in_0_1": lambda x, _: 1 / (1 + np.exp(-x.reshape(-1, 2, 3, 2))),
}
