"""Optimizer, loss and metrics of a plan as Keras objects."""

from gpu_studio.trainer.keras_objects.compiled import (
    SampleLoss,
    make_loss,
    make_metrics,
    make_optimizer,
)
from gpu_studio.trainer.keras_objects.forms import OutputForm

__all__ = ["OutputForm", "SampleLoss", "make_loss", "make_metrics", "make_optimizer"]
