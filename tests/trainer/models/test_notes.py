"""Whether a model scales its samples itself: by a layer, an operation, or an inner model."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gpu_studio.plan import Data, ModelSettings, Plan

pytestmark = pytest.mark.slow

SHAPE = (8, 8, 3)


def subclassed() -> Any:
    import keras

    class Net(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.scale = keras.layers.Rescaling(1 / 255)

        def call(self, x: Any) -> Any:
            return self.scale(x)

    net = Net()
    net(np.zeros((1, *SHAPE), np.float32))
    return net


SCALING: dict[str, tuple[Callable[[Any], Any], str]] = {
    "a layer": (lambda k: k.layers.Rescaling(1 / 255), "divides its samples by 255"),
    "a layer that centres": (
        lambda k: k.layers.Rescaling(1 / 127.5, offset=-1),
        "divides its samples by 127.5",
    ),
    "after other layers": (
        lambda k: k.Sequential(
            [k.layers.Resizing(4, 4), k.layers.RandomFlip(), k.layers.Rescaling(1 / 255)]
        ),
        "divides its samples by 255",
    ),
    "an operation": (lambda _: lambda x: x / 255, "divides its samples by 255"),
    "code of one's own": (lambda _: subclassed(), "divides its samples by 255"),
    "mobilenet": (
        lambda k: k.applications.mobilenet_v2.preprocess_input,
        "divides its samples by 127.5",
    ),
    "densenet": (lambda k: k.applications.densenet.preprocess_input, "divides its samples by 255"),
    "resnet": (
        lambda k: k.applications.resnet50.preprocess_input,
        "takes about 124 from its samples",
    ),
    "ids": (
        lambda k: k.Sequential([k.layers.Flatten(), k.layers.Embedding(10, 2)]),
        "makes whole numbers of its samples",
    ),
    "places, which are no samples": (
        lambda k: lambda x: x + k.layers.Embedding(8, 3)(k.ops.arange(8)),
        "",
    ),
    "no scaling": (lambda k: k.layers.Conv2D(2, 3), ""),
    "to both sides of 0": (lambda k: k.layers.Rescaling(2.0, offset=-1), ""),
    "a division of what was computed": (lambda k: lambda x: k.layers.Conv2D(2, 3)(x) / 255, ""),
    "the usual mean": (lambda k: k.layers.Normalization(mean=[0.5] * 3, variance=[0.1] * 3), ""),
}


@pytest.mark.parametrize("kind", SCALING)
def test_that_scaling_is_found_wherever_a_model_does_it(kind: str) -> None:
    import keras

    from gpu_studio.trainer.models.own_models import own_scaling

    make, words = SCALING[kind]
    inputs = keras.Input(SHAPE)
    assert own_scaling(keras.Model(inputs, make(keras)(inputs)), SHAPE) == words


@pytest.mark.parametrize(
    ("data", "mend"),
    [
        (Data(file="a.npz"), 'data.options.scale = "none"'),
        # Whose options are those of the function.
        (Data(python="data.py:load"), 'let data.py:load return x.astype("float32").'),
    ],
)
def test_that_a_model_that_scales_again_is_given_bytes_as_they_are_by_what_the_data_allow(
    data: Data, mend: str
) -> None:
    import keras

    from gpu_studio.trainer.models.own_models import notes_on

    inputs = keras.Input(SHAPE)
    model = keras.Model(inputs, keras.layers.Rescaling(1 / 255)(inputs))
    train = SimpleNamespace(seen_type=np.dtype(np.float32))
    dataset: Any = SimpleNamespace(train=train, sample_shape=SHAPE)
    plan = Plan(model=ModelSettings(file="m.keras"), data=data)
    (note,) = notes_on(plan, model, dataset, (0.0, 1.0), whole=False)
    assert mend in note.why


def test_that_a_model_that_cannot_be_traced_is_said_nothing_of() -> None:
    import keras

    from gpu_studio.trainer.models.own_models import own_scaling

    inputs = keras.Input(SHAPE)
    assert own_scaling(keras.Model(inputs, keras.layers.Flatten()(inputs)), (5,)) == ""
