"""Load the practice cards into TensorFlow, before it looks for devices."""

from __future__ import annotations

from functools import cache
from importlib import import_module

import tensorflow as tf

from gpu_studio.common.practice import CARDS_FILE, library
from gpu_studio.trainer.errors import TrainerError


@cache
def load() -> None:
    """Have TensorFlow list the practice cards, if this process has any. Raises TrainerError."""
    path = library(CARDS_FILE)
    if path is None:
        return
    try:
        tf.load_op_library(str(path))
    except (OSError, tf.errors.OpError) as error:
        raise TrainerError(
            f"The practice cards cannot be loaded from {path}: {error}",
            ["Choose practice cards anew: they are then built for this TensorFlow."],
        ) from error
    # Keras runs LSTM and GRU through cuDNN as soon as there is a GPU, and these have no cuDNN.
    # (The module, which a function of the same name hides.)
    recurrent = import_module("keras.src.backend.tensorflow.rnn")
    vars(recurrent)["_is_gpu_available"] = lambda: False
