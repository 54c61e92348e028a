"""Programs with a mistake (`tests/zoo/wrong.toml`): write, train and hear them."""

from __future__ import annotations

import json
import textwrap
import tomllib
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import zoo_runs
from zoo_table import ZOO, Program

from gpu_studio.contract.consent import allow_file

PROGRAMS: dict[str, dict[str, Any]] = tomllib.loads((ZOO / "wrong.toml").read_text())
WHOLE = PROGRAMS.pop("whole")
MARK = "# <-"
Said = tuple[str, Sequence[str]]


def told(names: Sequence[str], folder: Path, **training: Any) -> dict[str, Said]:
    """What is said of each of these programs: the message, and the advice.

    `training` changes that part of their plans.
    """
    programs = [_written(name, folder) for name in names]
    found = zoo_runs.trained(programs, "none", folder, **training)
    return {name: _said(found[name]) for name in names}


def missing(name: str, said: Said) -> list[str]:
    """What the message and its advice do not hold of what they must; what they must not hold."""
    message, advice = said
    everything = "\n".join([message, *advice])
    wanted = list(PROGRAMS[name]["says"])
    if line := marked_line(name):
        wanted.append(f"line {line}")
    lacking = [each for each in wanted if each.lower() not in everything.lower()]
    for each in ("Graph execution error", "Traceback (most recent", "<class '", "KerasTensor"):
        lacking += [f"not {each}"] if each in message else []
    return lacking if advice else [*lacking, "what to do"]


def code_of(name: str) -> str:
    """The text of the program."""
    program = PROGRAMS[name]
    code = str(program.get("code", WHOLE["code"])).lstrip("\n")
    for part in ("top", "load", "model"):
        text = str(program.get(part, WHOLE[part]))
        indented = textwrap.indent(text, "    ").lstrip() if part != "top" else text
        code = code.replace(f"@{part}@", indented)
    return code


def marked_line(name: str) -> int:
    """The line at fault; 0 where there is none."""
    lines = code_of(name).splitlines()
    return next((number for number, line in enumerate(lines, 1) if line.endswith(MARK)), 0)


def _written(name: str, folder: Path) -> Program:
    path = folder / f"{name}.py"
    path.write_text(code_of(name))
    allow_file(path, path.read_bytes())
    if name == "lambda_in_a_file":
        _save_lambda(folder / "lambda.keras")
    return Program(name, plan=_named(PROGRAMS[name].get("plan", {}), name), folder=folder)


def _named(value: Any, name: str) -> Any:
    """Put the program's own file where the table says PROGRAM."""
    if isinstance(value, Mapping):
        return {key: _named(each, name) for key, each in value.items()}
    if isinstance(value, list):
        return [_named(each, name) for each in value]
    return value.replace("PROGRAM", name) if isinstance(value, str) else value


def _save_lambda(path: Path) -> None:
    """Save a model with a `Lambda` layer, as Keras would."""
    code = {"class_name": "__lambda__", "config": {"code": "4wEA"}}
    layer = {"class_name": "Lambda", "config": {"name": "own", "function": code}}
    layers = [layer | {"module": "keras.layers"}]
    model = {"class_name": "Sequential", "config": {"name": "all", "layers": layers}}
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("config.json", json.dumps(model | {"module": "keras"}))
        archive.writestr("metadata.json", json.dumps({"keras_version": "3.15.0"}))
        archive.writestr("model.weights.h5", b"")


def _said(found: zoo_runs.Trained) -> Said:
    words = found.refused or found.crashed or " ".join(found.warned)
    return (words, found.advice) if words else ("It trained, and nothing was said.", ())
