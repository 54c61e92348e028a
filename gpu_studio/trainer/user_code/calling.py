"""Call a function of the user's own.

It is given the plan's options, and what its signature asks for by name. While it runs, it
imports from its own folder, and a stop need not wait for its end.
"""

from __future__ import annotations

import inspect
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial, update_wrapper
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, TypeVar

from gpu_studio.common.paths import expanded
from gpu_studio.plan import choose_one, listed, reference
from gpu_studio.plan.script_calls import call_of
from gpu_studio.trainer.errors import UserCodeError
from gpu_studio.trainer.user_code.admission import (
    Admitted,
    admit,
    executed,
    find_own_modules,
    own_folders,
)
from gpu_studio.trainer.user_code.places import place_of
from gpu_studio.trainer.user_code.remedies import line_of
from gpu_studio.trainer.user_code.telling import as_user_error

T = TypeVar("T")
_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_modules: dict[Path, ModuleType] = {}
"""By their files: each is executed once in a process, whichever of its functions are called."""


@dataclass(frozen=True, slots=True, eq=False)
class UserFunction:
    """A function named by a plan.

    `name` is `models.py:build_model`, `part` is `model` or `data`. `arguments` are those that it
    was called with. What a script's `fit` is given has the script's name, and `begins` there; once
    it was called for the data, `fit` is what of that a plan has by the same names.
    """

    name: str
    part: str
    file: Path
    call: Callable[..., Any]
    arguments: Mapping[str, Any] = field(default_factory=dict)
    begins: int = 0
    fit: Mapping[str, Any] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        """The folder in which its file runs, and from which its imports are searched."""
        return admit(self.file).folder

    @property
    def line(self) -> int:
        """The line at which it begins; 1 if unknown."""
        if self.begins:
            return self.begins
        code = getattr(
            inspect.unwrap(self.call, stop=lambda each: hasattr(each, "__code__")), "__code__", None
        )
        return (
            code.co_firstlineno if code else line_of(self.name.rpartition(":")[2], self.file) or 1
        )

    def default_of(self, name: str) -> Any:
        """The default of its argument `name`; None if it has none."""
        with suppress(TypeError, ValueError):  # no signature
            found = inspect.signature(self.call).parameters.get(name)
            return None if found is None or found.default is found.empty else found.default
        return None

    def guarded(self, work: Callable[[], T], doing: str = "", patience: float = 0.0) -> T:
        """Return the result of `work`, which runs code of this file.

        `doing` says where in the run, as `in on_epoch_end`. A stop waits for its end, for
        `patience` seconds at most. Raises UserCodeError if it fails.
        """
        return _guarded(self.file, work, doing, patience, self.line)

    def made(self, options: Mapping[str, Any], offered: Mapping[str, Any]) -> Any:
        """Return what it makes of `options` and of those of `offered` that its signature names.

        Raises UserCodeError.
        """
        arguments = self.guarded(lambda: _arguments(self, options, offered))
        return self.guarded(lambda: self.call(**arguments))

    def taking(
        self, asked: Sequence[str], options: Mapping[str, Any], offered: Mapping[str, Any]
    ) -> Callable[..., Any]:
        """Return it as a function of `asked` alone; the other arguments are given as in `made`.

        Raises UserCodeError for options that it does not take.
        """
        known = {**offered, **dict.fromkeys(asked)}
        arguments = self.guarded(lambda: _arguments(self, options, known))
        given = {name: value for name, value in arguments.items() if name not in asked}
        return update_wrapper(partial(self.call, **given), self.call)


def give(
    part: str, text: str, options: Mapping[str, Any], offered: Mapping[str, Any], base: Path
) -> tuple[UserFunction, Any]:
    """Return the function that `text` names and its result; a relative file starts at `base`.

    It is called with `options`, and with those of `offered` that its signature names. Raises
    UserCodeError, also where its user has not allowed the file.
    """
    function = find(part, text, base)
    arguments = function.guarded(lambda: _arguments(function, options, offered))
    function = replace(function, arguments=arguments)
    return function, function.guarded(lambda: function.call(**arguments))


def find(part: str, text: str, base: Path) -> UserFunction:
    """Return the function that `text` names, without calling it.

    Raises UserCodeError as `give` does.
    """
    named = reference(text)
    if named is None:
        raise UserCodeError(
            f'{part}.python is "{text}".',
            ["Write the file and a function in it: file.py:function."],
        )
    admitted = admit(base / expanded(named.file))
    if call := call_of(admitted.path, admitted.text, named.function):
        # Only a script needs Keras before its own first line.
        from gpu_studio.trainer.user_code.scripts import what_fit_is_given

        fit: dict[str, Any] = {}
        given = what_fit_is_given(part, admitted, call, fit)
        return UserFunction(named.file_name, part, admitted.path, given, begins=call.line, fit=fit)
    module = _module(admitted)
    found = getattr(module, named.function, None)
    name = f"{named.file_name}:{named.function}"
    if not callable(found):
        raise _no_function(name, found, module)
    return UserFunction(name, part, admitted.path, found)


def _module(admitted: Admitted) -> ModuleType:
    if admitted.path not in _modules:
        _modules[admitted.path] = _executed(admitted)
    return _modules[admitted.path]


def _executed(admitted: Admitted) -> ModuleType:
    file = admitted.path
    name = file.stem
    if name in sys.modules or name in sys.stdlib_module_names:
        name = f"_gpu_studio_{name}"
    module = ModuleType(name)
    module.__file__ = str(file)
    admitted.show_lines()
    sys.modules[name] = module
    try:
        # The user has allowed this code.
        _guarded(file, lambda: exec(admitted.started(), module.__dict__))  # noqa: S102
    except UserCodeError:
        sys.modules.pop(name, None)
        raise
    return module


def _guarded(
    file: Path,
    work: Callable[[], T],
    doing: str = "",
    patience: float = 0.0,
    begins: int = 0,
) -> T:
    try:
        with at_work(admit(file).folder, patience):
            return work()
    except UserCodeError:
        raise
    except BaseException as error:  # sys.exit and KeyboardInterrupt too: the user asked for neither
        raise as_user_error(error, file, doing, begins) from error


def _arguments(
    function: UserFunction, options: Mapping[str, Any], offered: Mapping[str, Any]
) -> dict[str, Any]:
    try:
        parameters = inspect.signature(function.call).parameters.values()
    except (TypeError, ValueError):  # a function written in another language has no signature
        return dict(options)
    known = [each.name for each in parameters if each.kind in _BY_NAME]
    takes_any = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters)
    unknown = [name for name in options if name not in known]
    if unknown and not takes_any:
        raise _unknown_option(function, unknown[0], known)
    given = {name: offered[name] for name in offered if name in known} | dict(options)
    for each in parameters:
        if (
            each.default is each.empty
            and each.kind in (*_BY_NAME, each.POSITIONAL_ONLY)
            and each.name not in given
        ):
            raise _missing(function, each, offered)
    return given


def _unknown_option(function: UserFunction, name: str, known: list[str]) -> UserCodeError:
    return UserCodeError(
        f"{function.name} takes no {name}, which {function.part}.options gives it.",
        [
            _choice(name, known) if known else "It takes nothing.",
            f"Or let it take {name}: line {function.line} of {function.file}.",
        ],
    )


def _missing(
    function: UserFunction, missing: inspect.Parameter, offered: Mapping[str, Any]
) -> UserCodeError:
    by_place = (
        " by its place and not by its name" if missing.kind is missing.POSITIONAL_ONLY else ""
    )
    at = f"line {function.line} of {function.file}"
    return UserCodeError(
        f"{function.name} wants {missing.name}{by_place}, which nobody gives it.",
        [
            f"Set {function.part}.options.{missing.name}, or give it a default: {at}.",
            f"By these names it is given what it asks for: {listed(offered)}.",
        ],
    )


def _no_function(name: str, found: object, module: ModuleType) -> UserCodeError:
    file, _, function = name.rpartition(":")
    if found is not None:
        return UserCodeError(
            f"{function} in {file} is no function: it is of type {type(found).__name__}.",
            [f"Name a function that returns it: def make(): return {function}."],
        )
    known = [
        each
        for each, value in vars(module).items()
        if inspect.isfunction(value) and not each.startswith("_")
    ]
    advice = _choice(function, known) if known else f"Define it: def {function}(…)."
    return UserCodeError(f"{file} has no {function}.", [advice])


def _choice(name: str, known: list[str]) -> str:
    """Return a sentence with the known name that `name` may be meant to be."""
    advice = f"did you mean {known[0]}?" if len(known) == 1 else choose_one(name, known)
    return f"{advice[0].upper()}{advice[1:]}{'' if advice.endswith('?') else '.'}"


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
_patience = 0.0
_pulls: dict[int, float] = {}
"""By thread: since when the user's code has been asked for its next batch."""
LONG_PULL = 10.0
"""Seconds after which a batch may never come."""


def under_way(waited: float = 0.0) -> bool:
    """Return whether the user's code has been called and has not returned: it may never.

    A stop has waited for `waited` seconds. It waits for what returns soon as a rule, such as a
    callback: until its patience is over, that does not count. A batch counts after `LONG_PULL`.
    """
    since = time.monotonic() - LONG_PULL
    if any(begun < since for begun in list(_pulls.values())):
        return True
    return _depth > 0 and waited >= _patience


@contextmanager
def pulling() -> Iterator[None]:
    """While this is open, the user's code makes a batch in this thread."""
    _pulls[threading.get_ident()] = time.monotonic()
    try:
        yield
    finally:
        del _pulls[threading.get_ident()]


@contextmanager
def at_work(folder: Path, patience: float = 0.0) -> Iterator[None]:
    """Let code from `folder` find the modules and files beside it.

    The folder is searched first meanwhile, as Python does for a program there, and last from then
    on: what a layer imports when it is called is found, and none of TensorFlow's modules is hidden
    by one of the same name. Python writes no byte code to the user's folders.
    """
    global _depth, _patience
    before = _current_folder()
    sys.dont_write_bytecode = True
    watch(folder)
    sys.path.insert(0, str(folder))
    _depth += 1
    _patience = patience
    try:
        os.chdir(place_of(folder))
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
