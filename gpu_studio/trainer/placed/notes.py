"""What a person should know of a placed model before it trains: where it is not quite what one device would train."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_studio.runs.events import Warned
from gpu_studio.trainer.batches import Cut
from gpu_studio.trainer.model_layers import graph_of
from gpu_studio.trainer.placed.placing import PlacedModel
from gpu_studio.trainer.placed.statistics import normalisations


def notes(placed: PlacedModel, cut: Cut) -> Iterator[Warned]:
    """A warning for each way in which micro-batches or recomputation differ from what the plan may hope for."""
    count = len(normalisations(placed.seats))
    if count and cut.replicas > 1:
        layers = "Its batch normalisation normalises" if count == 1 else f"Its {count} batch normalisations normalise"
        yield Warned(
            message=(
                f"{layers} each micro-batch of about {cut.batch / cut.replicas:.3g} samples by itself; the moving "
                "statistics are those of the whole batch (deferred batch normalisation)."
            ),
            suggestion="Losses differ a little from micro_batches = 1; keep micro-batches at 16 samples or more.",
        )
    if placed.plan.recompute and graph_of(placed.model) is None:
        yield Warned(
            message="Nothing is recomputed: this model is no graph, so that its stages cannot be told apart.",
            suggestion="Build it as a functional or Sequential model, or leave distribution.placed.recompute out.",
        )
