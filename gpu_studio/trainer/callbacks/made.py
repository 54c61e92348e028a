"""The callbacks of a plan: those that it names, and those that a function of the user's own gives.

What a run does itself is not left to a callback, and said: checkpoints from which it resumes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import keras

from gpu_studio.contract import Log, RunDirectory, Warned
from gpu_studio.contract.events import Event
from gpu_studio.plan import Callback, reference
from gpu_studio.plan import callbacks as known
from gpu_studio.plan.keras_objects import more_is_better
from gpu_studio.plan.references import SCHEDULE
from gpu_studio.trainer.errors import UserCodeError
from gpu_studio.trainer.scalars import PatientFile
from gpu_studio.trainer.session import Session
from gpu_studio.trainer.user_code import UserFunction, find, give
from gpu_studio.trainer.user_code.places import place_of
from gpu_studio.trainer.user_code.telling import kind_in_words

Tell = Callable[[Event], object]


@dataclass(frozen=True, slots=True, eq=False)
class MadeCallback:
    """A callback of Keras under the name that the run has for it.

    `function` is the user's own whose code it may run; None for a built-in one.
    """

    name: str
    callback: Any
    function: UserFunction | None = None


def make_callbacks(
    session: Session, run: RunDirectory, base: Path, tell: Tell
) -> list[MadeCallback]:
    """Make the callbacks of the session's plan, in their order.

    Relative files start at `base`. Raises UserCodeError for whatever goes wrong in a function.
    """
    made = [
        each
        for place, named in enumerate(session.plan.training.callbacks)
        for each in _made(place, named, session, run, base)
    ]
    for each in made:
        for event in _said_of(each):
            tell(event)
        settle_mode(each.callback, session.meters.metrics)
    return [each for each in made if not isinstance(each.callback, _BACKUP)]


_BACKUP = keras.callbacks.BackupAndRestore


def _made(
    place: int, named: Callback, session: Session, run: RunDirectory, base: Path
) -> Iterator[MadeCallback]:
    part = f"training.callbacks[{place}]"
    if reference(named.name):
        offered = _Offered(session, run)
        function, found = give(part, named.name, named.options, offered, base)
        if found is None and isinstance(function.call, type):
            raise AssertionError(function.name)  # a class gives an instance
        yield from _given(function, found)
    elif named.name == known.SCHEDULER:
        yield _scheduler(part, named.options, base)
    elif named.name == known.PLATEAU:
        entry = known.entry_of(named.name, ())
        options = dict(named.options) if entry else {}
        yield MadeCallback(named.name, keras.callbacks.ReduceLROnPlateau(**options))
    elif named.name == known.TERMINATE:
        yield MadeCallback(named.name, keras.callbacks.TerminateOnNaN())
    else:
        file = run.path / named.options.get(known.FILE, CsvOfEpochs.usual)
        separator = named.options.get("separator", ",")
        yield MadeCallback(named.name, CsvOfEpochs(file, separator))


def _scheduler(part: str, options: Mapping[str, Any], base: Path) -> MadeCallback:
    if SCHEDULE not in options:
        rates = known.rates_of(options[known.RATES]) or {}
        schedule = partial(rate_at, rates)
        return MadeCallback(known.SCHEDULER, keras.callbacks.LearningRateScheduler(schedule))
    text = str(options[SCHEDULE])
    function = find(f"{part}.options", text, base)
    scheduler = keras.callbacks.LearningRateScheduler(function.call)
    return MadeCallback(f"{known.SCHEDULER} ({function.name})", scheduler, function)


# Scripts have this function as it stands, see `export.script_text`.
def rate_at(rates: Mapping[int, float], epoch: int, now: float) -> float:
    """Return the rate of the last entry that has begun; as it is before the first."""
    begun = [rate for first, rate in rates.items() if first <= epoch]
    return begun[-1] if begun else now


class _Offered(Mapping[str, Any]):
    """What a function is given that asks for it by name; nothing is made that none asks for."""

    def __init__(self, session: Session, run: RunDirectory) -> None:
        training, held = session.plan.training, session.dataset.validation
        self._made: dict[str, Callable[[], Any]] = {
            "model": lambda: session.model,
            "epochs": lambda: training.epochs,
            "batch_size": lambda: session.cut.batch,
            "steps_per_epoch": lambda: session.passes.steps_per_epoch,
            "seed": lambda: training.seed,
            "folder": lambda: str(run.path),
            "validation_data": lambda: (
                None if held is None or held.stream else held.given(slice(None))[:2]
            ),
        }

    def __getitem__(self, name: str) -> Any:
        return self._made[name]()

    def __iter__(self) -> Iterator[str]:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)


def _given(function: UserFunction, found: Any) -> Iterator[MadeCallback]:
    several = found.callbacks if isinstance(found, keras.callbacks.CallbackList) else found
    for each in keras.tree.flatten(several):
        if not isinstance(each, keras.callbacks.Callback):
            what = kind_in_words(each)
            raise UserCodeError(
                f"{function.name} returned {what}, and a callback is wanted.",
                [
                    (
                        "Let it return an instance of keras.callbacks.Callback, or a list of them: "
                        f"line {function.line} of {function.file}."
                    )
                ],
            )
        kind = type(each).__name__
        is_named = function.name.endswith(f":{kind}")
        yield MadeCallback(
            function.name if is_named else f"{kind} of {function.name}", each, function
        )
    # Whether a script gives any may depend on its arguments.
    if found is None or not (keras.tree.flatten(several) or function.begins):
        raise UserCodeError(
            f"{function.name} returned {kind_in_words(found)}, and a callback is wanted.",
            [f"Let it return a callback: line {function.line} of {function.file}."],
        )


def _said_of(made: MadeCallback) -> Iterator[Event]:
    callback = made.callback
    if isinstance(callback, _BACKUP):
        yield Warned(
            message=f"{made.name} is not called: the run's own checkpoints do what it does.",
            suggestion="Leave it out; [training.checkpoint] says when they are written.",
        )
    elif isinstance(callback, keras.callbacks.ModelCheckpoint) and made.function:
        path = place_of(made.function.folder) / callback.filepath
        yield Log(
            message=f"{made.name} writes {path}. The run keeps checkpoints of its own besides, "
            "from which it resumes."
        )


def settle_mode(callback: Any, metrics: list[Any]) -> None:
    """Say which way is better where Keras would ask metrics that only `fit` builds."""
    if getattr(callback, "mode", "") != "auto" or not hasattr(callback, "monitor_op"):
        return
    name = callback.monitor.removeprefix("val_")
    direction = next((getattr(each, "_direction", "") for each in metrics if each.name == name), "")
    more = direction == "up" if direction else more_is_better(name)
    callback.mode = "max" if more else "min"


class CsvOfEpochs(keras.callbacks.CSVLogger):  # type: ignore[misc]  # Keras has no types
    """Keras' `CSVLogger` into a file of the run, whose disk may be full.

    A resumed run has a folder and a file of its own: what the run before wrote up to the checkpoint
    comes first in it. `text` is all that was written.
    """

    usual = "epochs.csv"

    def __init__(self, file: Path, separator: str) -> None:
        super().__init__(str(file), separator)
        self.text = ""

    def on_train_begin(self, logs: Any = None) -> None:
        """Begin the file."""
        del logs
        self.writer, self.keys, self.text = None, None, ""
        self.csv_file = _Patient(Path(self.filename), self)

    def go_on(self) -> None:
        """Write again what was kept in a checkpoint."""
        self.append_header = not self.text
        self.csv_file.put(self.text)


class _Patient:
    """As much of a file as `CSVLogger` uses."""

    closed = False

    def __init__(self, path: Path, table: CsvOfEpochs) -> None:
        self._file, self._table = PatientFile(path), table

    def write(self, text: str) -> None:
        self._table.text += text
        self.put(text)

    def put(self, text: str) -> None:
        if text:
            self._file.write(text.encode())

    def flush(self) -> None:
        """Whatever is written is handed to the system at once."""

    def close(self) -> None:
        self.closed = True
        self._file.close()
