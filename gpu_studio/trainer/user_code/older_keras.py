"""What Keras 3 has in the place of what a program of Keras 2 or TensorFlow 1 asks for."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from typing import Any

_SESSIONS = (
    "That is of TensorFlow 1, which had sessions: leave it out. What it says of devices and their "
    "memory is [devices] of a plan."
)
_MODULES = {
    r"keras\.layers\.\w+(?:\.\w+)*": "All layers are in keras.layers: import them from there.",
    r"keras\.callbacks\.\w+": "All callbacks are in keras.callbacks: import them from there.",
    r"keras\.utils\.\w+": "What is left of it is in keras.utils, such as to_categorical.",
    r"keras\.engine(?:\.\w+)*": "Layer is keras.layers.Layer now, and Model is keras.Model.",
    r"keras\.objectives": "That is keras.losses now.",
    r"keras\.backend\.tensorflow_backend": _SESSIONS,
    r"keras\.preprocessing\.text": "Import it from tensorflow.keras.preprocessing.text.",
    r"keras\.wrappers(?:\.\w+)*": "Wrappers are the package scikeras now: call fit of the model.",
    r"tensorflow_addons(?:\.\w+)*": (
        "It ended with Keras 2, and cannot be installed beside Keras 3, which has much of it: "
        "keras.optimizers.AdamW, keras.metrics.F1Score, keras.layers.GroupNormalization."
    ),
}
"""What helps, by the module that is not there."""
_ARGUMENTS = {
    "lr": "It is learning_rate now.",
    "nb_epoch": "It is epochs now.",
    "samples_per_epoch": "It is steps_per_epoch now, which counts batches.",
    "nb_val_samples": "It is validation_steps now, which counts batches.",
    **dict.fromkeys(
        ("workers", "use_multiprocessing", "max_queue_size"),
        "A PyDataset is given that as it is made, super().__init__(workers=4), and fit no longer: "
        "leave it out here.",
    ),
    "period": "It is save_freq now, which counts batches: leave it out to save each epoch.",
    **dict.fromkeys(
        ("write_grads", "sample_weight_mode", "save_before_preemption"),
        "Keras 3 has nothing of the kind: leave it out.",
    ),
}
"""What helps, by the argument that fit, compile, an optimizer or a callback no longer knows."""
_OF_LAYERS = {
    "border_mode": "It is padding now.",
    "subsample": "It is strides now.",
    "init": "It is kernel_initializer now.",
    "W_regularizer": "It is kernel_regularizer now.",
    "dim_ordering": "It is data_format now.",
    "batch_input_shape": "Begin with keras.Input(batch_shape=…) instead.",
}
_METHODS = {
    "fit_generator": "fit takes the generator: fit(generator, …).",
    "evaluate_generator": "evaluate takes the generator: evaluate(generator, …).",
    "predict_generator": "predict takes the generator: predict(generator, …).",
    "predict_classes": "Take numpy.argmax(model.predict(x), -1).",
    "predict_proba": "That is predict.",
}
_NAMES = {
    "ImageDataGenerator": "from tensorflow.keras.preprocessing.image import ImageDataGenerator.",
    "np_utils": "What it had is in keras.utils, such as keras.utils.to_categorical.",
    "multi_gpu_model": (
        'Leave it out, and train the model itself over all cards: distribution.strategy="mirrored".'
    ),
    "set_random_seed": "That is keras.utils.set_random_seed now.",
    **dict.fromkeys(
        ("CuDNNLSTM", "CuDNNGRU"), "keras.layers.LSTM and GRU use cuDNN by themselves."
    ),
    **dict.fromkeys(
        ("ConfigProto", "GPUOptions", "Session", "get_session", "set_session"), _SESSIONS
    ),
    "learning_phase": "Let call take an argument training instead.",
    "experimental": "What left its trial has lost that word: keras.layers.Rescaling and the like.",
}
"""What helps, by the name that a module no longer has."""
_MODEL = "Keras gives each callback its self.model: leave out the line that sets it."
_LEGACY = "Take the optimizer of keras.optimizers by the same name."


def in_place_of_module(name: str) -> str:
    """Return what is there in the place of the module of this name; empty if nothing is known."""
    name = name.removeprefix("tensorflow.")
    return next((each for known, each in _MODULES.items() if re.fullmatch(known, name)), "")


def advice_on_older(words: str) -> str:
    """Return what helps against an error of these words; empty if it is of nothing older."""
    for pattern, advice in _ASKED.items():
        if found := re.search(pattern, words):
            return advice(*found.groups())
    return ""


def _named(module: str, name: str) -> str:
    """What there is in the place of a name that a module of Keras or TensorFlow lacks."""
    if name in _NAMES:
        return _NAMES[name]
    keras: Any = sys.modules.get("keras")
    plain = module.rpartition("keras.")[2]
    if plain == "backend" and hasattr(keras.ops, name):
        return f"It is keras.ops.{name} now."
    there = getattr(keras, plain, None)
    if hasattr(there, name):
        return f"It is keras.{plain}.{name}, without tf: import keras."
    if plain == "optimizers" and hasattr(there, name.capitalize()):
        return f"It is keras.{plain}.{name.capitalize()} now."
    old = getattr(getattr(sys.modules.get("tensorflow"), "compat", None), "v1", None)
    if module == "tensorflow" and (name == "contrib" or hasattr(old, name)):
        return "That is of TensorFlow 1: let Keras do it, or see tensorflow.org/guide/migrate."
    return ""


def _of(table: Mapping[str, str]) -> Callable[[str], str]:
    return lambda name: table.get(name, "")


_CALLBACKS = "ModelCheckpoint|TensorBoard|BackupAndRestore"
_CALLED = rf"^(?:\w+\.(?:fit|compile)\(\) |(?:{_CALLBACKS})\.__init__\(\) )?"
_ASKED: dict[str, Callable[..., str]] = {
    r"object has no attribute '(\w+_generator|predict_\w+)'": _of(_METHODS),
    _CALLED + r"got an unexpected keyword argument '(\w+)'": _of(_ARGUMENTS),
    r"^Argument\(s\) not recognized: \{'(\w+)'": _of(_ARGUMENTS),
    r"^Unrecognized keyword arguments passed to \w+: \{'(\w+)'": _of(_OF_LAYERS),
    r"^module '([\w.]*keras[\w.]*|tensorflow)' has no attribute '(\w+)'": _named,
    r"^cannot import name '(\w+)' from '([\w.]*keras[\w.]*|tensorflow)'": (
        lambda name, module: _named(module, name)
    ),
    r"^property 'model' of '\w+' object has no setter": lambda: _MODEL,
    r"^`keras\.optimizers\.legacy` is not supported": lambda: _LEGACY,
}
"""Who knows what helps, by the words of an error, whose groups it is given."""
