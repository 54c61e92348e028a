"""Export a checkpoint's model as one `.keras` file that plain Keras loads.

The file holds the architecture and the weights; the model is not compiled.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from gpu_studio.common.regular_files import open_regular
from gpu_studio.trainer.answers.checkpoint import Answer, Progress, in_words, rebuilt
from gpu_studio.trainer.answers.memory_limit import limit_memory
from gpu_studio.trainer.errors import TrainerError


def answer(about: dict[str, Any], progress: Progress) -> Answer:
    """Write the model of the checkpoint in `about` to the new file `path`.

    The answer holds its size in `bytes` and is never lasting. After a failure it holds `problem`
    and `advice`, and nothing is left at `path`.
    """
    limit_memory()
    return in_words(lambda: _written(about, progress)), False


def _written(about: dict[str, Any], progress: Progress) -> dict[str, Any]:
    model = rebuilt(about, progress).model
    progress("writing the file")
    return {"bytes": write(model, Path(about["path"]))}


def write(model: Any, path: Path) -> int:
    """Save `model` in the new file `path` (mode 0600) and flush it to disk; return its bytes.

    Raises TrainerError.
    """
    try:
        # Created before Keras opens it, so that nobody else can read it at any time.
        descriptor = open_regular(path, os.O_RDWR | os.O_CREAT | os.O_EXCL)
        try:
            model.save(path)
            os.fsync(descriptor)
            return os.fstat(descriptor).st_size
        finally:
            os.close(descriptor)
    except NotImplementedError as error:
        path.unlink(missing_ok=True)
        raise TrainerError(
            "Keras cannot write this model as one file: a class of your own "
            "does not tell what it is made with.",
            [
                "Give it a get_config, as Keras' guide to custom layers shows.",
                "The checkpoint holds its weights.",
            ],
        ) from error
    except OSError as error:
        path.unlink(missing_ok=True)
        raise TrainerError(
            f"The model could not be written to {path.parent}: {error.strerror or error}.",
            [
                "Look whether there is room, and whether files can be made there.",
                "Or choose another folder.",
            ],
        ) from error
