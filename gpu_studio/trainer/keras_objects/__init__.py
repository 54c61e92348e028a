"""Optimizer, loss and metrics of a plan as Keras objects."""

from gpu_studio.trainer.keras_objects.as_compiled import keeps_optimizer
from gpu_studio.trainer.keras_objects.compiled import (
    SampleLoss,
    make_loss,
    make_metrics,
)
from gpu_studio.trainer.keras_objects.forms import (
    OutputForm,
    is_lone_softmax,
    looking_at,
    without_samples,
)
from gpu_studio.trainer.keras_objects.objective import (
    Head,
    Learner,
    Objective,
    class_weights,
    counts_as_compiled,
    learners_of,
    make_objective,
)
from gpu_studio.trainer.keras_objects.optimizers import (
    averages,
    build_optimizer,
    make_optimizer,
    optimizer_name,
)

__all__ = [
    "Head",
    "Learner",
    "Objective",
    "OutputForm",
    "SampleLoss",
    "averages",
    "build_optimizer",
    "class_weights",
    "counts_as_compiled",
    "is_lone_softmax",
    "keeps_optimizer",
    "learners_of",
    "looking_at",
    "make_loss",
    "make_metrics",
    "make_objective",
    "make_optimizer",
    "optimizer_name",
    "without_samples",
]
