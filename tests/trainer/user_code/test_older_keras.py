"""A program of Keras 2 or TensorFlow 1 is told what Keras 3 has in the place of what it names."""

from __future__ import annotations

from pathlib import Path

import pytest
from written_code import Written

from gpu_studio.trainer.errors import UserCodeError
from gpu_studio.trainer.user_code import give

pytestmark = pytest.mark.slow

OLD = {
    "from keras.layers.core import Dense": "All layers are in keras.layers",
    "from keras.utils import np_utils": "keras.utils.to_categorical",
    "from keras.utils.np_utils import to_categorical": "keras.utils, such as to_categorical",
    "from keras.engine.topology import Layer": "keras.layers.Layer",
    "from keras.preprocessing.text import Tokenizer": "tensorflow.keras.preprocessing.text",
    "from keras.preprocessing.image import ImageDataGenerator": (
        "from tensorflow.keras.preprocessing.image import"
    ),
    "from keras.utils import multi_gpu_model": 'distribution.strategy="mirrored"',
    "from tensorflow.keras.layers.experimental import preprocessing": "keras.layers",
    "import tensorflow_addons": "It ended with Keras 2",
    "import keras; keras.optimizers.adam(0.1)": "keras.optimizers.Adam now",
    "import keras; keras.optimizers.Adam(lr=0.1)": "It is learning_rate now.",
    "import tensorflow as tf; tf.keras.optimizers.legacy.Adam(0.1)": "keras.optimizers by the same",
    "import keras; keras.backend.mean([1.0])": "It is keras.ops.mean now.",
    "import keras; keras.backend.set_session(1)": "sessions",
    "import tensorflow as tf; tf.ConfigProto()": "sessions",
    "import tensorflow as tf; tf.log(1.0)": "That is of TensorFlow 1",
    "import tensorflow as tf; tf.keras.losses.mean_squared_error(1, 1)": (
        "It is keras.losses.mean_squared_error, without tf: import keras."
    ),
    "import keras; keras.callbacks.ModelCheckpoint('a.keras', period=2)": "It is save_freq now",
    "import keras; keras.callbacks.BackupAndRestore('a', save_before_preemption=False)": (
        "Keras 3 has nothing of the kind"
    ),
    "import keras; keras.layers.Conv2D(3, 3, border_mode='same')": "It is padding now.",
    "import keras, tensorflow as tf; tf.reduce_mean(keras.Input((3,)))": "compute by keras.ops",
}
OF_FIT = {
    "model.fit(x, y, nb_epoch=2, batch_size=2)": "It is epochs now.",
    "model.fit(x, y, epochs=2, workers=4)": "super().__init__(workers=4)",
    "model.fit_generator(iter([(x, y)]), epochs=2); model.fit(x, y, epochs=1)": (
        "fit takes the generator"
    ),
    "class Own(keras.callbacks.Callback):\n"
    "    def __init__(self, model): self.model = model\n"
    "model.fit(x, y, epochs=1, callbacks=[Own(model)])": "Keras gives each callback its self.model",
}
MODEL = """import keras
import numpy as np
x, y = np.zeros((4, 3)), np.zeros((4, 1))
model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
"""


def stopped(path: Path, function: str) -> UserCodeError:
    with pytest.raises(UserCodeError) as caught:
        give("model", f"{path}:{function}", {}, {}, Path())
    return caught.value


@pytest.mark.parametrize("line", OLD)
def test_that_what_keras_no_longer_has_is_told_with_what_it_has_now(
    written: Written, line: str
) -> None:
    error = stopped(written(f"def build():\n    {line}\n"), "build")
    assert OLD[line] in " ".join(error.suggestions), error
    assert "line 2" in f"{error.message}{error.suggestions}"


@pytest.mark.parametrize("call", OF_FIT)
def test_that_what_fit_no_longer_takes_is_told_with_what_it_takes_now(
    written: Written, call: str
) -> None:
    error = stopped(written(MODEL + call), "fit")
    assert OF_FIT[call] in " ".join(error.suggestions), error


def test_that_an_argument_of_a_function_of_ones_own_is_not_taken_for_one_of_keras(
    written: Written,
) -> None:
    own = "def train(rate): pass\ndef build():\n    train(lr=1)\n"
    assert "learning_rate" not in " ".join(stopped(written(own), "build").suggestions)
