"""Optimizer, loss and metrics of a plan as Keras objects."""

from gpu_studio.trainer.keras_objects.compiled import (
    OutputForm,
    SampleLoss,
    make_loss,
    make_metrics,
    make_optimizer,
)

__all__ = ["OutputForm", "SampleLoss", "make_loss", "make_metrics", "make_optimizer"]
