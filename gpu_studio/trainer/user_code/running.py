"""While code of the user's own is at work: whence it imports, and that nobody need wait for its end."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gpu_studio.trainer.user_code.watching import watch

_depth = 0


def under_way() -> bool:
    """Whether code of the user's own has been called and has not come back: it may never."""
    return _depth > 0


@contextmanager
def at_work(folder: Path) -> Iterator[None]:
    """Let code from `folder` find what stands beside it: modules, and files by their names.

    The folder is searched first meanwhile, as Python does for a program there, and last from then on: what a layer
    imports when it is called is found, and none of TensorFlow's modules is hidden by one of the same name. Nothing that
    Python compiles is written to the user's folders.
    """
    global _depth
    before = _current_folder()
    sys.dont_write_bytecode = True
    watch(folder)
    sys.path.insert(0, str(folder))
    _depth += 1
    try:
        os.chdir(folder)
        yield
    finally:
        _depth -= 1
        with suppress(ValueError):  # it is the code's own affair to change the list
            sys.path.remove(str(folder))
        if str(folder) not in sys.path:
            sys.path.append(str(folder))
        if before is not None:
            with suppress(OSError):
                os.chdir(before)


def _current_folder() -> Path | None:
    try:
        return Path.cwd()
    except OSError:  # it was deleted
        return None
