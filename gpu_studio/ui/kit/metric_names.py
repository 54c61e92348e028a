"""The names of a run's metrics on the screen."""

from __future__ import annotations

from collections.abc import Iterable


def metric_names(metrics: Iterable[str]) -> list[str]:
    """Of an epoch's metrics those that are not losses, without their validation twins, each once."""
    bare = dict.fromkeys(name.removeprefix("val_") for name in metrics)
    return [name for name in bare if name != "loss"]


def metric_label(name: str, among: Iterable[str] = ()) -> str:
    """What a Keras metric is called on screen.

    `accuracy`, or in full where another would be called the same.
    """
    short = name.rsplit("_", 1)[-1]
    alike = [other for other in among if other != name and other.rsplit("_", 1)[-1] == short]
    return name.replace("_", " ") if alike else short
