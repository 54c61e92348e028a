"""The state while the user's code runs.

It imports from its own folder, and a stop need not wait for its end.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import CodeType
from typing import Any

from gpu_studio.trainer.user_code.gate import admit
from gpu_studio.trainer.user_code.importing import executed, find_own_modules
from gpu_studio.trainer.user_code.own_folders import own_folders

_GENERATED = "__autograph_generated_file"
_hooked = False


def watch(folder: Path) -> None:
    """Let nothing in and below `folder`, a real path, run here unless its user has allowed it."""
    global _hooked
    own_folders.add(folder)
    find_own_modules()
    if not _hooked:
        _hooked = True
        sys.addaudithook(_look)


def _look(event: str, arguments: tuple[Any, ...]) -> None:
    """Check what Python is about to do. Raises UserCodeError where code may not run."""
    if event == "exec" and isinstance(arguments[0], CodeType):
        _look_at_code(arguments[0].co_filename)
    elif event == "open" and isinstance(arguments[0], str) and arguments[0].endswith(".pyc"):
        _look_at_byte_code(Path(arguments[0]))


def _look_at_code(name: str) -> None:
    if name.startswith("<"):
        return
    path = Path(name).absolute()
    # TensorFlow writes what it makes of a function to a file, and runs that.
    generated = path.name.startswith(_GENERATED) and path.parent == Path(tempfile.gettempdir())
    if own_folders.hold(path) and path.is_file() and not generated:
        admit(path)
        executed[path] = None


def _look_at_byte_code(path: Path) -> None:
    """Hide byte code of the user's own, so that Python compiles the source.

    The byte code may have been compiled from anything.
    """
    if own_folders.hold(path.absolute()):
        raise FileNotFoundError(f"{path} is not used.")


_depth = 0


def under_way() -> bool:
    """Return whether the user's code has been called and has not returned: it may never."""
    return _depth > 0


@contextmanager
def at_work(folder: Path) -> Iterator[None]:
    """Let code from `folder` find the modules and files beside it.

    The folder is searched first meanwhile, as Python does for a program there, and last from then
    on: what a layer imports when it is called is found, and none of TensorFlow's modules is hidden
    by one of the same name. Python writes no byte code to the user's folders.
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
        with suppress(ValueError):  # the code may change the list
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
