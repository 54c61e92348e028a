"""Files of the user's own that come to run in other ways than an import: by their path, or by what they hold.

`importlib.util.spec_from_file_location`, `runpy` and `exec` ask no finder. Python tells an audit hook of whatever is
about to be executed, and of every file that is opened: what has not been allowed is refused there.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from types import CodeType
from typing import Any

from gpu_studio.trainer.user_code.gate import admit
from gpu_studio.trainer.user_code.importing import executed, find_own_modules
from gpu_studio.trainer.user_code.own_folders import own_folders

_GENERATED = "__autograph_generated_file"
_hooked = False


def watch(folder: Path) -> None:
    """Let nothing in and below `folder`, a real path, run in this process unless its user has allowed it."""
    global _hooked
    own_folders.add(folder)
    find_own_modules()
    if not _hooked:
        _hooked = True
        sys.addaudithook(_look)


def _look(event: str, arguments: tuple[Any, ...]) -> None:
    """See what Python is about to do. Raises UserCodeError where code may not run."""
    if event == "exec" and isinstance(arguments[0], CodeType):
        _look_at_code(arguments[0].co_filename)
    elif event == "open" and isinstance(arguments[0], str) and arguments[0].endswith(".pyc"):
        _look_at_byte_code(Path(arguments[0]))


def _look_at_code(name: str) -> None:
    if name.startswith("<"):
        return
    path = Path(name).absolute()
    # What TensorFlow makes of a function it writes to a file, and runs that.
    generated = path.name.startswith(_GENERATED) and path.parent == Path(tempfile.gettempdir())
    if own_folders.hold(path) and path.is_file() and not generated:
        admit(path)
        executed[path] = None


def _look_at_byte_code(path: Path) -> None:
    """Hide byte code of the user's own: it may be that of anything, so Python is to compile the source."""
    if own_folders.hold(path.absolute()):
        raise FileNotFoundError(f"{path} is not used.")
