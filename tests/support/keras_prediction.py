"""What plain Keras makes of a `.keras` file.

`python keras_prediction.py FILE.keras X.npy Y.npy`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
from patience import PATIENCE_S

from gpu_studio.common.processes import module_environment


def predicted(file: Path, x: np.ndarray, folder: Path) -> tuple[np.ndarray, list[str]]:
    """The outputs of the model in `file` for `x`, and the names of its layers' classes."""
    np.save(folder / "x.npy", x)
    command = [sys.executable, __file__, str(file), str(folder / "x.npy"), str(folder / "y.npy")]
    environment = module_environment({"KERAS_BACKEND": "tensorflow", "TF_CPP_MIN_LOG_LEVEL": "3"})
    done = subprocess.run(
        command,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        cwd=folder,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return np.load(folder / "y.npy"), json.loads(done.stdout.splitlines()[-1])


def main(file: str, x: str, y: str) -> None:
    """Load the file in safe mode, as anybody would, and write down what it makes of the samples."""
    import keras

    model = keras.saving.load_model(file, safe_mode=True)
    np.save(y, model.predict(np.load(x), verbose=0))
    sys.stdout.write(json.dumps([type(layer).__name__ for layer in model.layers]) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
