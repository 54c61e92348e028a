"""Choose the control that suits an option's kind."""

from __future__ import annotations

from typing import Any

from gpu_studio.plan.options import Option
from gpu_studio.plan.writing import inline
from gpu_studio.ui.kit.fields import Choice, Switch, Typed, WholeNumber
from gpu_studio.ui.kit.fields.typed import (
    bounds_of,
    read_real,
    read_toml,
    read_whole,
    read_wholes,
    write_number,
    write_wholes,
)
from gpu_studio.ui.kit.sentences import sentence
from gpu_studio.ui.plan.python_functions import Parameter

_READ = {"int": read_whole, "float": read_real, "ints": read_wholes}


def control_for(option: Option, name: str = "") -> Any:
    """Return a control for the option's values: a number, a switch, a choice, a list."""
    name = name or option.name.replace("_", " ")
    if option.kind == "int":
        return WholeNumber(name, *bounds_of(option.least, option.most))
    if option.kind == "bool":
        return Switch(name)
    if option.kind == "choice":
        return Choice(name, option.choices)
    return Typed(name, _reader(option), write_wholes if option.kind == "ints" else write_number)


def toml_field(name: str) -> Typed:
    """Return a line edit for any value of a plan file, in the notation of the file."""
    return Typed(name, read_toml, inline, role="mono")


def parameter_field(parameter: Parameter) -> Typed:
    """Return a line edit for a parameter of a user's function.

    It takes any value of a plan file; it is empty where no value is known.
    """
    line = Typed(f"option {parameter.name}", read_toml, _inline_if_known, role="mono")
    line.setPlaceholderText(parameter.written or "a value")
    return line


def _inline_if_known(value: Any) -> str:
    return "" if value is None else inline(value)


def _reader(option: Option) -> Any:
    """Return a parser of the typed text that refuses what the option would refuse."""
    read = _READ[option.kind]

    def checked(text: str) -> Any:
        value = read(text)
        problem = option.problem(option.name, value)
        if problem is not None:
            raise ValueError(sentence(problem.advice))
        return value

    return checked
