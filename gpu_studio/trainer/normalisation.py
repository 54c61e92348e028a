"""Batch normalisation with several replicas.

Each replica normalises its own part of the batch, unless the layer is synchronised.
"""

from __future__ import annotations

from collections.abc import Iterator

import keras

from gpu_studio.contract.events import Warned
from gpu_studio.trainer.batches import Cut


def is_apart(layer: keras.layers.Layer) -> bool:
    """Return whether the layer's replicas normalise separately.

    A frozen layer uses the statistics that it has, and does not count.
    """
    return (
        isinstance(layer, keras.layers.BatchNormalization)
        and layer.trainable
        and not getattr(layer, "synchronized", False)
    )


def replicas_apart(model: keras.Model, cut: Cut) -> Iterator[Warned]:
    """Return a warning if several replicas train the model differently from one device."""
    count = sum(map(is_apart, model._flatten_layers()))  # noqa: SLF001 (no public name)
    if count:
        layers = (
            "Its batch normalisation normalises"
            if count == 1
            else f"Its {count} batch normalisations normalise"
        )
        yield Warned(
            message=(
                f"{layers} each replica's part of about {cut.batch / cut.replicas:.3g} "
                "samples by itself, so that "
                "losses differ from those of one device."
            ),
            suggestion=(
                "In a model of your own keras.layers.BatchNormalization(synchronized=True) "
                "normalises the whole batch, "
                "and losses are the same. Else keep 16 samples or more for each replica."
            ),
        )
