"""Words on the screen: a text as a sentence, and the names of a run's metrics.

Nothing here needs Qt.
"""

from __future__ import annotations

from collections.abc import Iterable


def sentence(text: str) -> str:
    """`text` with a capital at its beginning and a full stop at its end; empty stays empty.

    The name of a field, as `training.optimizer`, and a path, as `images/circles`, keep their small
    letters.
    """
    first = text.split(" ")[0].rstrip(".")
    begun = text if any(each in first for each in "./\\") else text[:1].upper() + text[1:]
    return begun if not begun or begun.endswith((".", "!", "?")) else f"{begun}."


def metric_names(metrics: Iterable[str]) -> list[str]:
    """The names of an epoch's metrics, each once: no losses, and no validation twins."""
    bare = dict.fromkeys(name.removeprefix("val_") for name in metrics)
    return [name for name in bare if name != "loss"]


def metric_label(name: str, among: Iterable[str] = ()) -> str:
    """What a Keras metric is called on screen.

    `accuracy`, or in full where another would be called the same.
    """
    short = name.rsplit("_", 1)[-1]
    alike = [other for other in among if other != name and other.rsplit("_", 1)[-1] == short]
    return name.replace("_", " ") if alike else short
