"""Optimizer, loss and metrics of a plan as Keras objects."""

from gpu_studio.trainer.keras_objects.losses import SampleLoss, make_loss
from gpu_studio.trainer.keras_objects.metrics import make_metrics
from gpu_studio.trainer.keras_objects.optimizers import make_optimizer
from gpu_studio.trainer.keras_objects.tasks import OutputForm

__all__ = ["OutputForm", "SampleLoss", "make_loss", "make_metrics", "make_optimizer"]
