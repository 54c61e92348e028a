"""Layers being dragged from lane to lane, as data that any window of this program can read."""

from __future__ import annotations

import json
from collections.abc import Sequence

from PySide6.QtCore import QMimeData

FORMAT = "application/x-gpu-studio-layers+json"
MOST = 100_000


def carrying(layers: Sequence[str]) -> QMimeData:
    """Return mime data with the names of these layers."""
    data = QMimeData()
    data.setData(FORMAT, json.dumps({"layers": list(layers)}).encode())
    return data


def carried(data: QMimeData) -> tuple[str, ...]:
    """Return the layers in mime data, each once.

    None are returned if it holds none, or something else under this name.
    """
    if not data.hasFormat(FORMAT):
        return ()
    try:
        layers = json.loads(bytes(data.data(FORMAT).data()))["layers"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return ()
    if (
        not isinstance(layers, list)
        or len(layers) > MOST
        or not all(isinstance(each, str) for each in layers)
    ):
        return ()
    return tuple(dict.fromkeys(layers))
