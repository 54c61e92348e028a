"""An option of a built-in, or a numeric field of a plan: type, default, bounds and help text.

The rules check the numeric fields by these bounds, and the window builds its fields from them. What
is said of a value of another type, and of a name that is not known, stands here too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from typing import Any, Literal

from gpu_studio.common.figures import grouped
from gpu_studio.plan.cluster_values import MOST_WORKERS, Cluster, Slurm
from gpu_studio.plan.values import (
    FEW,
    LONGEST_SHOWN,
    CheckpointSettings,
    Data,
    EarlyStopping,
    Placed,
    Problem,
    Training,
    listed,
    path_to,
    printable,
    shown,
)

Kind = Literal["int", "float", "bool", "choice", "ints", "text", "texts"]


def with_kind(value: Any) -> str:
    """A value and its type: `"ten" (a string)`."""
    return f"{shown(value)} ({kind_of(value)})"


def kind_of(value: Any) -> str:
    """TOML's name for the type of a value."""
    return next((words for kind, words in _KINDS if isinstance(value, kind)), "a date or time")


_KINDS: tuple[tuple[type, str], ...] = (
    (bool, "true or false"),
    (int, "a whole number"),
    (float, "a number"),
    (str, "a string"),
    (list, "a list"),
    (tuple, "a list"),
    (Mapping, "a table"),
    (type(None), "nothing"),
)


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name most similar to `name`; None if none is similar."""
    return _nearest(name.lower()[:LONGEST_SHOWN], tuple(known))


@lru_cache(maxsize=1024)  # a plan that is being typed is checked at every keystroke
def _nearest(name: str, known: tuple[str, ...]) -> str | None:
    names = {each.lower(): each for each in known}
    close = get_close_matches(name, names, n=1, cutoff=0.5)
    return names[close[0]] if close else None


def choose_one(name: str, known: Iterable[str]) -> str:
    """Advice for an unknown name: the nearest one if any, and all of them if they are few."""
    names = list(known)
    close = nearest(name, names)
    if close is None:
        return f"choose one of {listed(names, 'or')}"
    return f"did you mean {printable(close)}?" + (
        f" There are {listed(names)}" if len(names) <= FEW else ""
    )


_TEXTS = {"text": "give a text in quotes", "texts": 'give a list of names, as ["age", "income"]'}


@dataclass(frozen=True, slots=True)
class Option:
    """One option. `least` and `most` are inclusive bounds of a number, or of each number in a list.

    `above` and `below` are exclusive ones. A list (`ints`) holds from `fewest` to `longest`
    numbers. `text` is any text, and `texts` a list of them: names of columns, or `free` of that.
    """

    name: str
    kind: Kind
    default: Any
    help: str
    least: float = -math.inf
    most: float = math.inf
    above: float = -math.inf
    below: float = math.inf
    choices: tuple[str, ...] = ()
    fewest: int = 0
    longest: int = 64
    free: bool = False

    def problem(self, field: str, value: Any) -> Problem | None:
        """What is wrong with `value` for this option, or None."""
        advice = self._advice()
        if not self._has_kind(value):
            return Problem(field, with_kind(value), advice)
        if self.kind == "choice":
            return (
                None
                if value in self.choices
                else Problem(field, shown(value), choose_one(value, self.choices))
            )
        if self.kind in ("text", "texts"):
            return None
        numbers = value if self.kind == "ints" else [value]
        fits = self.kind == "bool" or all(self._allows(number) for number in numbers)
        if self.kind == "ints":
            fits = fits and self.fewest <= len(value) <= self.longest
        return None if fits else Problem(field, shown(value), advice)

    def _has_kind(self, value: Any) -> bool:
        if self.kind == "ints":
            return isinstance(value, list | tuple) and all(_is_whole(each) for each in value)
        if self.kind == "texts":
            return isinstance(value, list | tuple) and all(isinstance(each, str) for each in value)
        if self.kind == "int":
            return _is_whole(value)
        if self.kind == "float":
            return _is_whole(value) or isinstance(value, float)
        return isinstance(value, bool if self.kind == "bool" else str)

    def _allows(self, number: float) -> bool:
        return self.least <= number <= self.most and self.above < number < self.below

    def _advice(self) -> str:
        if self.kind == "bool":
            return "write true or false"
        if self.kind in _TEXTS:
            return _TEXTS[self.kind]
        if self.kind == "choice":
            return f"choose one of {listed(self.choices, 'or')}"
        if self.kind == "ints":
            many = (
                f"{self.fewest} to {self.longest}"
                if self.fewest < self.longest
                else f"{self.longest}"
            )
            return f"give a list of {many} whole numbers{self._range()}"
        return f"give a {'whole ' if self.kind == 'int' else ''}number{self._range()}"

    def _range(self) -> str:
        if math.isfinite(self.least) and math.isfinite(self.most):
            return f" from {_number(self.least)} to {_number(self.most)}"
        bounds = (
            ("of {} or more", self.least),
            ("above {}", self.above),
            ("at most {}", self.most),
            ("below {}", self.below),
        )
        words = [word.format(_number(bound)) for word, bound in bounds if math.isfinite(bound)]
        return f" {listed(words)}" if words else ""


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """A built-in, by its name in a plan, with its options."""

    name: str
    help: str
    options: tuple[Option, ...] = ()

    def values(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Every option's value: the given one, else the default.

        Options that the entry lacks are dropped.
        """
        return {option.name: given.get(option.name, option.default) for option in self.options}

    def problems(self, field: str, given: Mapping[str, Any]) -> list[Problem]:
        """What is wrong with the given options, at the path `field`."""
        known = {option.name: option for option in self.options}
        unknown = [self._unknown(path_to(field, key), key) for key in given if key not in known]
        checked = [
            option.problem(f"{field}.{name}", given[name])
            for name, option in known.items()
            if name in given
        ]
        return unknown + [problem for problem in checked if problem]

    def _unknown(self, field: str, key: str) -> Problem:
        names = [option.name for option in self.options]
        if not names:
            return Problem(
                field, f"not an option of {self.name}", f"leave it out, {self.name} has no options"
            )
        close = nearest(key, names)
        advice = f"did you mean {close}?" if close else f"{self.name} has {listed(names)}"
        return Problem(field, f"not an option of {self.name}", advice)


def _number(value: float) -> str:
    return grouped(int(value)) if value == int(value) else f"{value:g}"


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


_MANY = 2**31 - 1

DATA_LIMITS = (
    Option(
        "validation_fraction",
        "float",
        Data().validation_fraction,
        "share of the training samples kept aside to validate with, "
        "where the data bring none for that",
        least=0,
        below=1,
    ),
    Option(
        "test_fraction",
        "float",
        Data().test_fraction,
        "share kept aside to test with at the end, where the data bring no test samples",
        least=0,
        below=1,
    ),
)

TRAINING_LIMITS = (
    Option(
        "epochs",
        "int",
        Training().epochs,
        "times through the training samples",
        least=1,
        most=1_000_000,
    ),
    Option("batch_size", "int", Training().batch_size, "samples of one step", least=1, most=_MANY),
    Option(
        "learning_rate", "float", Training().learning_rate, "size of the optimizer's steps", above=0
    ),
    Option(
        "seed",
        "int",
        Training().seed,
        "seed of weights, order and dropout",
        least=0,
        most=2**32 - 1,
    ),
    Option(
        "steps_per_call",
        "int",
        Training().steps_per_call,
        "steps inside one call of the compiled function; 0: chosen by measuring",
        least=0,
        most=100_000,
    ),
    Option(
        "steps_per_epoch",
        "int",
        Training().steps_per_epoch,
        "steps of an epoch, which goes on where the one before ended; 0: all of the data",
        least=0,
        most=_MANY,
    ),
    Option(
        "validation_steps",
        "int",
        Training().validation_steps,
        "batches to validate with; 0: all of the data",
        least=0,
        most=_MANY,
    ),
    Option(
        "validation_freq",
        "int",
        Training().validation_freq,
        "epochs from one validation to the next",
        least=1,
        most=1_000_000,
    ),
    Option(
        "initial_epoch",
        "int",
        Training().initial_epoch,
        "epochs that count as trained before: the first that is trained has the next number",
        least=0,
        most=1_000_000,
    ),
)

CHECKPOINT_LIMITS = (
    Option(
        "every_epochs",
        "int",
        CheckpointSettings().every_epochs,
        "epochs from one checkpoint to the next",
        least=0,
        most=_MANY,
    ),
    Option(
        "every_steps",
        "int",
        CheckpointSettings().every_steps,
        "steps from one checkpoint to the next",
        least=0,
        most=_MANY,
    ),
    Option(
        "keep",
        "int",
        CheckpointSettings().keep,
        "how many of the last to keep, besides the best",
        least=1,
        most=10_000,
    ),
)

EARLY_STOPPING_LIMITS = (
    Option(
        "patience",
        "int",
        EarlyStopping().patience,
        "epochs without improvement to wait",
        least=0,
        most=_MANY,
    ),
    Option(
        "min_delta", "float", EarlyStopping().min_delta, "what counts as an improvement", least=0
    ),
)

PLACED_LIMITS = (
    Option(
        "micro_batches",
        "int",
        Placed().micro_batches,
        "parts that a batch is cut into",
        least=1,
        most=10_000,
    ),
)

CLUSTER_LIMITS = (
    Option("workers", "int", Cluster().workers, "processes that train", least=1, most=MOST_WORKERS),
    Option(
        "servers",
        "int",
        Cluster().servers,
        "processes that hold variables; 0 is one",
        least=0,
        most=256,
    ),
    Option(
        "port",
        "int",
        Cluster().port,
        "the first port that the processes listen on; 0 chooses free ones",
        least=0,
        most=65_535,
    ),
    Option(
        "start_within",
        "int",
        Cluster().start_within,
        "seconds until all are there; else the run fails, and names who is missing",
        least=1,
        most=86_400,
    ),
    Option(
        "lost_after",
        "int",
        Cluster().lost_after,
        "seconds of silence after which a worker is lost",
        least=5,
        most=3600,
    ),
    Option(
        "restarts",
        "int",
        Cluster().restarts,
        "how often all start again from the newest checkpoint after a loss",
        least=0,
        most=1000,
    ),
)

_GPUS_PER_WORKER = Option(
    "gpus_per_worker", "int", 0, "cards that each worker asks for", least=0, most=64
)
SLURM_LIMITS = (
    _GPUS_PER_WORKER,
    Option(
        "cpus_per_worker",
        "int",
        Slurm().cpus_per_worker,
        "cores that each worker asks for; 0 leaves it to Slurm",
        least=0,
        most=4096,
    ),
)
KUBERNETES_LIMITS = (_GPUS_PER_WORKER,)


def bounded(path: str, part: Any, limits: Iterable[Option]) -> Iterator[Problem]:
    """The problems of the fields of `part` that have `limits`."""
    for option in limits:
        problem = option.problem(f"{path}.{option.name}", getattr(part, option.name))
        if problem:
            yield problem
