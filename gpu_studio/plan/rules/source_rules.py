"""Rules for `[model]` and `[data]`: one source each, valid options, a model that fits the data.

Also whether the data can be split into training, validation and test samples as the plan says.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from gpu_studio.common.figures import MIB, grouped, size
from gpu_studio.plan.catalogue import DATA, MODELS, ModelEntry, data_entry
from gpu_studio.plan.columns import SUFFIXES, columns_named
from gpu_studio.plan.data import ARRAYS, COLOURS, GROUPS, IMAGES, MASKS, DataEntry, folder_entry
from gpu_studio.plan.devices import Machine
from gpu_studio.plan.options import DATA_LIMITS, BuiltIn, bounded, choose_one
from gpu_studio.plan.references import reference
from gpu_studio.plan.values import Data, Plan, Problem, Unnamed, listed, shown

FLOAT_BYTES = 4
WEIGHTS = (".weights.h5", ".keras")
_WEIGHTS_FILE = "a file of model.save_weights, .weights.h5, or of model.save, .keras"


def model_source(plan: Plan) -> Iterator[Problem]:
    """The model has one source, and options of this source."""
    model = plan.model
    sources = {"name": model.name, "file": model.file, "python": model.python}
    yield from _one_source(
        "model", sources, f'name one of {listed(MODELS, "or")}, or give file = "model.keras"'
    )
    if model.python is None:
        yield from _built_in("model", model.name, model.options, MODELS)
    yield from _file("model", model.file, (".keras",), "a Keras model saved by model.save")
    yield from _python("model", model.python, "models.py:build_model")
    weights = model.weights
    if weights is not None and not (weights.isprintable() and weights.endswith(WEIGHTS)):
        yield Problem("model.weights", shown(weights), f"give {_WEIGHTS_FILE}")


def data_source(plan: Plan) -> Iterator[Problem]:
    """The data have one source, and options of this source."""
    data = plan.data
    sources = {
        "name": data.name,
        "file": data.file,
        "folder": data.folder,
        "table": data.table,
        "python": data.python,
    }
    advice = (
        f'name one of {listed(DATA, "or")}, or give file = "data.npz", folder = "images/" or '
        'table = "data.csv"'
    )
    yield from _one_source("data", sources, advice)
    yield from _options_of(data)
    yield from _file(
        "data",
        data.file,
        (".npz",),
        "NumPy arrays x_train and y_train, or x and y, saved by numpy.savez",
    )
    yield from _folder("data", data.folder, "a folder with a folder of images for each class")
    yield from _file("data", data.table, SUFFIXES, "a row for each sample", "table")
    yield from _python("data", data.python, "data.py:load")


def _options_of(data: Data) -> Iterator[Problem]:
    if data.python is not None:
        return
    if data.name is not None:
        yield from _built_in("data", data.name, data.options, DATA)
    elif data.folder is not None:
        yield from folder_entry(data).problems("data.options", data.options)
    elif data.file is not None:
        yield from ARRAYS.problems("data.options", data.options)
    elif data.table is not None:
        yield from columns_named(data)
    else:
        yield from _built_in("data", data.name, data.options, DATA)


def fractions(plan: Plan) -> Iterator[Problem]:
    """The validation and test fractions are valid."""
    yield from bounded("data", plan.data, DATA_LIMITS)


def model_meets_data(plan: Plan) -> Iterator[Problem]:
    """A built-in model is not given data of a known kind that it certainly cannot learn."""
    model, data = MODELS.get(plan.model.name or ""), data_entry(plan.data)
    if model is None or data is None:
        return
    shape = shape_of(data, plan.data.options)
    if data is MASKS:
        advice = "it learns one target of a picture, and masks have one of every pixel: give a "
        yield Problem("model.name", shown(model.name), f"{advice}model of your own")
    elif data.task not in model.tasks:
        yield Problem("model.name", shown(model.name), _wrong_task(data))
    elif shape and not _reads(model, shape):
        fitting = listed(
            (
                each.name
                for each in MODELS.values()
                if data.task in each.tasks and _reads(each, shape)
            ),
            "or",
        )
        advice = f"it cannot read samples of shape {list(shape)}: choose {fitting}"
        yield Problem("model.name", shown(model.name), advice)


def width_of_heads(plan: Plan) -> Iterator[Problem]:
    """A transformer's width is a multiple of its number of heads."""
    entry = MODELS["transformer"]
    if plan.model.name != entry.name or entry.problems("", plan.model.options):
        return
    values = entry.values(plan.model.options)
    if values["width"] % values["heads"]:
        advice = f"give a multiple of model.options.heads, which is {values['heads']}"
        yield Problem("model.options.width", str(values["width"]), advice)


def synthetic_fits(plan: Plan, machine: Machine | None) -> Iterator[Problem]:
    """Synthetic data fit the machine's memory."""
    entry = DATA["synthetic"]
    options = plan.data.options
    if (
        machine is None
        or not machine.memory_mib
        or plan.data.name != entry.name
        or entry.problems("", options)
    ):
        return
    values = entry.values(options)
    needed, there = (
        values["samples"] * math.prod(values["shape"]) * FLOAT_BYTES,
        machine.memory_mib * MIB,
    )
    if needed > there:
        advice = (
            f"with this shape that is {size(needed)}, and this machine "
            f"has {size(there)}: take fewer"
        )
        yield Problem("data.options.samples", grouped(values["samples"]), advice)


def shape_of(data: DataEntry, options: Mapping[str, Any]) -> tuple[int, ...] | None:
    """The shape of one sample of data of a known kind; None if its options are wrong."""
    if data.shape is not None:
        return data.shape
    if data.problems("", options):
        return None
    values = data.values(options)
    return (
        (*values["size"], COLOURS[values["colours"]])
        if data in (IMAGES, MASKS)
        else tuple(values["shape"])
    )


def _wrong_task(data: DataEntry) -> str:
    able = listed((each.name for each in MODELS.values() if data.task in each.tasks), "or")
    if data.task == "classes":
        return f"it learns numbers, and {data.name} has classes: choose {able}"
    return f"it learns classes, and {data.name} has numbers: choose {able}"


def _reads(model: ModelEntry, shape: tuple[int, ...]) -> bool:
    """Whether the model can read measured numbers of this shape.

    All data of a known kind are measured numbers.
    """
    if model.reads_tokens and len(shape) == 1:
        return False
    return (not model.ranks or len(shape) in model.ranks) and min(shape[:2]) >= model.smallest_side


def _one_source(part: str, sources: Mapping[str, str | None], advice: str) -> Iterator[Problem]:
    given = [key for key, value in sources.items() if value is not None]
    if not given:
        yield Problem(f"{part}.name", "missing", advice)
    elif len(given) > 1:
        yield Problem(
            part, f"given by {listed(given)}", "keep one of them and leave out the others"
        )


def _built_in(
    part: str, name: str | None, options: Mapping[str, Any], known: Mapping[str, BuiltIn]
) -> Iterator[Problem]:
    if name is None:
        if options:
            advice = f"leave them out, or give {part}.name"
            yield Problem(f"{part}.options", "given without a name", advice)
    elif name not in known:
        yield Problem(f"{part}.name", shown(name), choose_one(name, known))
    else:
        yield from known[name].problems(f"{part}.options", options)


def _file(
    part: str, file: str | None, suffixes: tuple[str, ...], what: str, key: str = "file"
) -> Iterator[Problem]:
    if file is not None and not (file.isprintable() and file.lower().endswith(suffixes)):
        advice = f"give the path of a {listed(suffixes, 'or')} file: {what}"
        yield _wrong(f"{part}.{key}", file, advice)


def _folder(part: str, folder: str | None, what: str) -> Iterator[Problem]:
    if folder is not None and not (folder and folder.isprintable()):
        yield _wrong(f"{part}.folder", folder, f"give the path of {what}")


def _python(part: str, function: str | None, example: str) -> Iterator[Problem]:
    """Any options are accepted: only the function knows what it takes."""
    if function is not None and reference(function) is None:
        advice = f'write the file and the name of a function in it, as "{example}"'
        yield _wrong(f"{part}.python", function, advice)


def _wrong(field: str, text: str, advice: str) -> Problem:
    return Problem(field, shown(text), advice) if text else Unnamed(field, "empty", advice)


def split_suits(plan: Plan) -> Iterator[Problem]:
    """The data can be split in the way that the plan names."""
    data, entry = plan.data, data_entry(plan.data)
    advice = ""
    if data.split == "grouped" and not (data.file or data.table or data.python):
        advice = "only an .npz file, a table or a Python function says of which group a sample is"
    elif data.split == "stratified" and entry is MASKS:
        advice = "a mask has a class for each pixel, and its image none"
    elif data.split == "ordered" and data.folder is not None and entry is not MASKS:
        advice = "files stand in the order of their classes, and whole classes would be kept aside"
    elif data.split == "stratified" and entry is not None and entry.task == "values":
        advice = f"{entry.name} has numbers to learn, and no classes"
    if advice:
        fitting = (
            "random or ordered"
            if entry is MASKS or (entry is not None and entry.task == "values")
            else "random or stratified"
        )
        yield Problem("data.split", shown(data.split), f"{advice}: choose {fitting}")


def groups_named(plan: Plan) -> Iterator[Problem]:
    """The array with the groups has a name, and is used."""
    groups = plan.data.groups
    if groups is None:
        return
    if not groups or not groups.isprintable():
        advice = f"give the name of the array with the group of each sample, such as {GROUPS}"
        yield Problem("data.groups", shown(groups), advice)
    elif plan.data.split != "grouped":
        advice = 'it is read only where data.split is "grouped": set that, or leave it out'
        yield Problem("data.groups", shown(groups), advice)
