"""Save a tower of equal dense layers as a `.keras` file.

`python save_tower.py FILE WIDTH DEPTH all|first`.

With `first` only the first layer is trained, as in fine-tuning.
"""

from __future__ import annotations

import json
import sys

import keras

CLASSES = 10


def main(path: str, width: int, depth: int, *, all_trained: bool) -> None:
    """Build it and save it."""
    inputs = outputs = keras.Input((width,))
    for number in range(depth):
        layer = keras.layers.Dense(width, activation="relu", name=f"layer_{number}")
        outputs = layer(outputs)
        layer.trainable = all_trained or number == 0
    outputs = keras.layers.Dense(CLASSES, name="head")(outputs)
    model = keras.Model(inputs, outputs)
    model.save(path)
    sys.stdout.write(json.dumps({"parameters": model.count_params()}) + "\n")


main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), all_trained=sys.argv[4] == "all")
