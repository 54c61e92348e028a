"""Have Keras train what a script trains before the call of `fit` that a run takes over.

It is trained as the script has it, on the device of the run, and only where a model is made to be
trained or to get its weights, or where somebody asks for such a look. The script runs once then,
for data and model: what it has trained is not trained again.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import wraps
from numbers import Real
from pathlib import Path
from types import FrameType
from typing import Any

import keras
from keras.src.utils import naming

from gpu_studio.common.figures import metric, plural
from gpu_studio.trainer.errors import TrainedBeforeError, UserCodeError
from gpu_studio.trainer.user_code.admission import Admitted

Found = tuple[Any, dict[str, Any]]
"""A model, and what its `fit` was given."""
SECONDS = 5.0
"""So often it is told how far a call has come."""


@dataclass(frozen=True, slots=True)
class _Place:
    scope: Callable[[], AbstractContextManager[object]]
    tell: Callable[[str], None]


_places: list[_Place] = []
_kept: dict[tuple[Path, int, tuple[str, ...]], Found] = {}


@contextmanager
def trained_in(
    scope: Callable[[], AbstractContextManager[object]], tell: Callable[[str], None]
) -> Iterator[None]:
    """While this is entered, scripts train what comes before the call of `fit` that is meant.

    They do so within `scope`, which says on which device, and `tell` is given their progress.
    """
    _places.append(_Place(scope, tell))
    try:
        yield
    finally:
        _places.pop()
        _kept.clear()


def keep(admitted: Admitted, number: int, arguments: Sequence[str], found: Found) -> None:
    """Keep what a run of the script for the data has found, for the model."""
    if number > 1:
        _kept[admitted.path, number, tuple(map(str, arguments))] = found


def kept(admitted: Admitted, number: int, arguments: Sequence[str]) -> Found | None:
    """Return what was kept of the same script, once; None if nothing was."""
    return _kept.pop((admitted.path, number, tuple(map(str, arguments))), None)


@contextmanager
def training_before(admitted: Admitted, number: int) -> Iterator[list[int]]:
    """Have it told what the script trains by its calls of `fit` before the one of this number.

    It is given the lines of these calls while they are made. Raises UserCodeError where nothing may
    be trained now.
    """
    lines: list[int] = []
    if number == 1:
        yield lines
        return
    if not _places:
        raise _known_later(admitted, number)
    place = _places[-1]
    owner: Any = next(kind for kind in keras.Model.__mro__ if "fit" in vars(kind))
    own = owner.fit
    naming.reset_uids()  # as for each model: every process gives it the same names
    owner.fit = _reporting(own, admitted, lines, place.tell)
    try:
        with place.scope():
            yield lines
    finally:
        owner.fit = own


def _reporting(
    own: Callable[..., Any], admitted: Admitted, lines: list[int], tell: Callable[[str], None]
) -> Callable[..., Any]:
    under_way: list[int] = []

    @wraps(own)
    def fit(*given: Any, **named: Any) -> Any:
        if under_way:  # a model trains another in its own steps or callbacks
            return own(*given, **named)
        lines.append(_line_in(admitted.path))
        which = f"call {len(lines)} of fit" + (f" (line {lines[-1]})" if lines[-1] else "")
        tell(f"{admitted.path.name} trains by {which} first, as it is written.")
        under_way.append(len(lines))
        try:
            history = own(*given, **_heard(given, named, _Progress(which, tell)))
        finally:
            under_way.pop()
        last = {name: values[-1] for name, values in history.history.items() if values}
        trained = plural(len(history.epoch), "epoch")
        tell(f"{which.capitalize()} has trained {trained}{_figures(last)}.")
        return history

    return fit


_PLACE_OF_CALLBACKS = 6
"""Of the arguments of `fit`, with `self`."""


def _heard(
    given: Sequence[Any], named: Mapping[str, Any], progress: keras.callbacks.Callback
) -> dict[str, Any]:
    """Return the named arguments of `fit` with one more callback, if there may be one."""
    theirs = named.get("callbacks")
    if len(given) > _PLACE_OF_CALLBACKS or isinstance(theirs, keras.callbacks.CallbackList):
        return dict(named)
    both = [progress] if theirs is None else [*keras.tree.flatten(theirs), progress]
    return {**named, "callbacks": both}


class _Progress(keras.callbacks.Callback):  # type: ignore[misc]  # Keras has no types
    """Tells how far a call of `fit` has come, now and then."""

    def __init__(self, which: str, tell: Callable[[str], None]) -> None:
        super().__init__()
        self._which, self._tell, self._said_at = which, tell, time.monotonic()

    def on_epoch_end(self, epoch: int, logs: Mapping[str, Any] | None = None) -> None:
        """Tell of the epoch."""
        epochs = self.params.get("epochs") or 0
        if time.monotonic() - self._said_at >= SECONDS and epoch + 1 != epochs:
            of = f" of {epochs}" if epochs else ""
            self._tell(f"{self._which.capitalize()}, epoch {epoch + 1}{of}{_figures(logs or {})}.")
            self._said_at = time.monotonic()


def _figures(logs: Mapping[str, Any]) -> str:
    """Return `: loss 0.1234, val_loss 0.1300`, of what is a number."""
    numbers = {name: value for name, value in logs.items() if isinstance(value, Real)}
    said = ", ".join(f"{name} {metric(float(value))}" for name, value in numbers.items())
    return f": {said}" if said else ""


def _line_in(path: Path) -> int:
    """Return the line of the file at `path` that is being run; 0 in another thread of it."""
    frame: FrameType | None = sys._getframe()  # noqa: SLF001 (no public name)
    while frame is not None and frame.f_code.co_filename != str(path):
        frame = frame.f_back
    return 0 if frame is None else frame.f_lineno


def _known_later(admitted: Admitted, number: int) -> TrainedBeforeError:
    before = "call 1 has" if number == 2 else f"calls 1 to {number - 1} have"
    return TrainedBeforeError(
        f"What {admitted.path.name} gives call {number} of fit is known once {before} trained, "
        "and a look at a plan trains nothing.",
        [
            "“Train and look”, or `gpu-studio model`, has Keras train that before, on the CPU.",
            "A run trains it, too: its log says how far that has come.",
        ],
    )


def ran_out(admitted: Admitted, number: int, lines: Sequence[int]) -> UserCodeError:
    """Return why a script comes to no call of `fit` of this number: it makes fewer."""
    made = "once" if len(lines) == 1 else f"{len(lines)} times"
    there = "fit" if len(lines) == 1 else f"fit to fit_{len(lines)}"
    return UserCodeError(
        f"{admitted.path.name} calls fit {made}, and the plan asks for call {number}.",
        [f"Name one of those that it makes: {there}. It may make others with other arguments."],
    )
