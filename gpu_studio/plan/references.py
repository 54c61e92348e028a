"""The files and functions that a plan names, `models.py:build_model`, and their absolute paths."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from keyword import iskeyword
from pathlib import Path, PurePath
from typing import Literal, NewType

from gpu_studio.common.paths import expanded
from gpu_studio.plan.values import Callback, Named, OutputTraining, Plan, Training, path_to

SUFFIX = ".py"
SCHEDULE = "schedule"
"""The option of a built-in callback that names a function of the user's own."""
Change = Callable[[str, str], str]

AbsolutePlan = NewType("AbsolutePlan", Plan)
"""A plan whose files are all named absolutely, which only `with_absolute_files` makes.

Whoever opens a plan's files takes one of these and no folder: there is nothing left to resolve
them against.
"""


@dataclass(frozen=True, slots=True)
class Reference:
    """The function `function` in the Python file `file`, as the plan writes its path."""

    file: str
    function: str

    def __str__(self) -> str:
        return f"{self.file}:{self.function}"

    @property
    def file_name(self) -> str:
        """The file without its folders."""
        return PurePath(self.file).name


def reference(text: str) -> Reference | None:
    """Parse `text`; None if it is not of the form `file.py:function`.

    The last colon separates, as a folder's name may contain one.
    """
    file, colon, function = text.rpartition(":")
    name = PurePath(file).name
    if (
        not colon
        or not text.isprintable()
        or not name.lower().endswith(SUFFIX)
        or len(name) == len(SUFFIX)
    ):
        return None
    is_function = function.isidentifier() and not iskeyword(function)
    return Reference(file, function) if is_function else None


Part = Literal["model", "data", "training"]
"""The parts of a plan that may name code."""


def part_of(field: str) -> Part:
    """The part of the plan that `field` is in."""
    found: Part = "model" if field.startswith("model.") else "data"
    return "training" if field.startswith("training.") else found


def references_of(plan: Plan) -> tuple[tuple[str, str], ...]:
    """Every field of `plan` that names Python of the user's own, with its text, in their order.

    Those of the model and the data may say anything there, and need not be of the right form.
    """
    found: list[tuple[str, str]] = []

    def note(field: str, text: str) -> str:
        found.append((field, text))
        return text

    _with_references(plan, note)
    return tuple(found)


def _with_references(plan: Plan, changed: Change) -> Plan:
    """Return `plan` with each such text replaced by `changed(field, text)`.

    This and `_called_in_training` are the one place that knows which fields of a plan may name
    code.
    """
    model, data = plan.model, plan.data
    if model.python:
        model = replace(model, python=changed("model.python", model.python))
    if data.python:
        data = replace(data, python=changed("data.python", data.python))

    def called(field: str, text: str) -> str:
        return changed(field, text) if reference(text) else text

    return replace(plan, model=model, data=data, training=_called_in_training(plan, called))


def _called_in_training(plan: Plan, called: Change) -> Training:
    def named(field: str, chosen: Named) -> Named:
        return replace(chosen, name=called(field, chosen.name))

    def all_named(field: str, chosen: Iterable[Named]) -> tuple[Named, ...]:
        return tuple(named(f"{field}[{place}]", each) for place, each in enumerate(chosen))

    def output(name: str, chosen: OutputTraining) -> OutputTraining:
        field, metrics = path_to("training.outputs", name), chosen.metrics
        return replace(
            chosen,
            loss=chosen.loss and named(f"{field}.loss", chosen.loss),
            metrics=None if metrics is None else all_named(f"{field}.metrics", metrics),
        )

    def callback(field: str, chosen: Callback) -> Callback:
        options = {
            key: called(f"{field}.options.{key}", each)
            if key == SCHEDULE and isinstance(each, str)
            else each
            for key, each in chosen.options.items()
        }
        return replace(chosen, name=called(f"{field}.name", chosen.name), options=options)

    training = plan.training
    return replace(
        training,
        optimizer=called("training.optimizer", training.optimizer),
        schedule=training.schedule and named("training.schedule", training.schedule),
        loss=named("training.loss", training.loss),
        metrics=all_named("training.metrics", training.metrics),
        outputs={name: output(name, each) for name, each in training.outputs.items()},
        callbacks=tuple(
            callback(f"training.callbacks[{place}]", each)
            for place, each in enumerate(training.callbacks)
        ),
    )


def with_absolute_files(plan: Plan, folder: Path) -> AbsolutePlan:
    """Return `plan` with each relative file, folder and `file.py:function` taken from `folder`.

    Done once, by who knows the folder: the one who has read the plan, or has it open.
    """
    folder = folder.absolute()
    plan = _with_references(plan, lambda _field, text: _function(text, folder))
    model = replace(
        plan.model,
        file=_file(plan.model.file, folder),
        weights=_file(plan.model.weights, folder),
    )
    data = replace(
        plan.data,
        file=_file(plan.data.file, folder),
        folder=_file(plan.data.folder, folder),
        table=_file(plan.data.table, folder),
    )
    return AbsolutePlan(replace(plan, model=model, data=data))


def absolute(name: str, folder: Path) -> Path:
    """Return the absolute path that `name` means in `folder`; `~` is the user's home."""
    return folder / expanded(name)


def _file(name: str | None, folder: Path) -> str | None:
    return str(absolute(name, folder)) if name else name


def _function(reference: str, folder: Path) -> str:
    file, colon, function = reference.rpartition(":")
    return f"{_file(file, folder)}:{function}" if colon and file else reference
