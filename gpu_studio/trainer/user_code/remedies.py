"""What helps against an error of the user's code, by its words; and the line that it is about."""

from __future__ import annotations

import ast
import inspect
import linecache
import re
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gpu_studio.common.python_syntax import parsed
from gpu_studio.plan import nearest
from gpu_studio.trainer.user_code.older_keras import advice_on_older

_ADVICE = (
    (
        r"^indices\[.*\] = -?\d+ is not in \[0, \d+\)",
        "The table has no row for that id: input_dim of an Embedding is the largest id + 1.",
    ),
    (
        r"^Received a label value of -?\d+ which is outside the valid range",
        "Give the model's last layer one unit for each class, or number the classes from 0.",
    ),
    (
        r"must have rank \(ndim\) `target\.ndim - 1`",
        (
            "Targets that are one-hot want categorical_crossentropy; "
            "sparse_categorical_crossentropy wants the number of each sample's class, as "
            "numpy.argmax(y, -1) gives it."
        ),
    ),
    (
        r"^Arguments `target` and `output` must have the same (?:rank|shape)",
        (
            "Targets that are numbers of classes want sparse_categorical_crossentropy; "
            "categorical_crossentropy wants them one-hot, as keras.utils.to_categorical makes "
            "them, and binary_crossentropy one value for each unit of the output."
        ),
    ),
    (
        r"has no attribute 'numpy'|numpy\(\) is only available when eager|__array__\(\)",
        "A step is compiled before it has numbers: compute with keras.ops there, not with NumPy.",
    ),
    (
        r"out of scope|cannot be accessed from here|is not accessible from",
        "Keep what the next step needs in a weight: self.add_weight(…, trainable=False).",
    ),
    (
        r"as a Python `?bool|[Ii]terating over a symbolic",
        "A step is compiled before it has numbers: use keras.ops.where or keras.ops.cond, no if.",
    ),
    (
        r"not '(?:SymbolicTensor|KerasTensor)'$",
        "A step is compiled before it has numbers: leave out float(…), int(…) and the like.",
    ),
    (
        r"only supports singleton tf\.Variables",
        (
            "A layer or a weight is made anew at each call: make it once, in __init__ or build, "
            "and only use it in call."
        ),
    ),
    (
        r"has no attribute '_(?:dtype_policy|tracker|layers|metrics|loss_ids|lock)'",
        "Let its __init__ begin with super().__init__().",
    ),
    (
        r"^Table not initialized",
        (
            "A TextVectorization or a lookup of words knows none: call its adapt(…) with samples "
            "in the function that makes the model, or give it its vocabulary."
        ),
    ),
    (
        r"^Invalid dtype: str\d+",
        "Keras takes no texts in an array of NumPy: give them to fit as tf.constant(texts).",
    ),
    (
        r"inhomogeneous shape",
        "Give all samples one shape: keras.utils.pad_sequences fills up rows that are shorter.",
    ),
    (
        r"^\[Errno 17\] File exists",
        "A script runs anew for the model, and finds what it made: os.makedirs(…, exist_ok=True).",
    ),
    (
        r"^EOF when reading a line",
        (
            "A run has no keyboard for input(): take the value from sys.argv or argparse, or write "
            "it into the file."
        ),
    ),
    (
        r"^attempted relative import",
        "A script is in no package, for Python either: import without the dot before the name.",
    ),
    (
        r"^URL fetch failure on \S*/tf-keras-datasets/",
        "It wants to download data: bring that file to ~/.keras/datasets.",
    ),
    (
        r"^URL fetch failure",
        "It wants to download: bring that file to ~/.keras/models, or build with weights=None.",
    ),
    (
        r"\bon_\w+\(\) (?:takes|missing)",
        "It is called as Keras calls it: with the epoch or the batch, if it is of one, and logs.",
    ),
    (
        r"\bcall\(\) takes .* positional argument",
        "Keras gives a layer its samples, and a loss y_true and y_pred: let call take these.",
    ),
    (
        r"^A KerasTensor cannot be used as input to a TensorFlow function",
        "Between layers compute by keras.ops, or in the call of a layer: keras.layers.Lambda(…).",
    ),
    (
        r"missing a required argument|\bcall\(\) missing .* required positional argument",
        "Keras gives samples, and training and mask if asked for: give the rest a default.",
    ),
    (
        r"required positional argument",
        "It is called without that: give it a default.",
    ),
    (
        r"`num_batches` property",
        "Let it say how many batches it has: def __len__(self).",
    ),
    (
        r"^No gradients provided for any variable",
        "Between weights and loss lies what has no gradient: argmax, rounding, whole numbers.",
    ),
)
"""What helps, by Python's, Keras' and TensorFlow's own words."""


def advice_on(words: str) -> str:
    """Return what helps against an error of these words; empty if nothing is known."""
    known = (advice for pattern, advice in _ADVICE if re.search(pattern, words))
    return next(known, "") or advice_on_older(words) or _meant(words)


_UNKNOWN = re.compile(r"^Could not interpret (\w+)(?: function)? identifier: (?:the class )?(\w+)$")


def _meant(words: str) -> str:
    """Return what name may be meant by one that Keras does not know."""
    found, keras = _UNKNOWN.match(words), sys.modules.get("keras")
    if found is None or keras is None:
        return ""
    kind, name = found.groups()
    module = {"loss": "losses"}.get(kind, f"{kind}s")
    there = getattr(keras, module, None)
    if hasattr(there, name) and inspect.isclass(getattr(there, name)):
        return f"Give one that is made, keras.{module}.{name}(…), and not the class."
    names = ["accuracy"] * (kind == "metric") + [each for each in dir(there) if each[0] != "_"]
    meant = nearest(name, [each for each in names if each[0].islower() == name[0].islower()])
    return f'Did you mean "{meant}"?' if meant else f"keras.{module} lists what there is."


def without_body(error: BaseException) -> tuple[str, str]:
    """Return the class and the method that it lacks, if `error` says so; else empty texts."""
    if not isinstance(error, NotImplementedError):
        return "", ""
    frames = [frame for frame, _line in traceback.walk_tb(error.__traceback__)]
    owner = frames[-1].f_locals.get("self") if frames else None
    return (type(owner).__name__, frames[-1].f_code.co_name) if owner is not None else ("", "")


_CALLED = re.compile(r"^(?:\w+\.|<locals>\.)*\w+(?=\(\) (?:takes|missing|got) )")


def line_about(error: BaseException, words: str, file: Path) -> tuple[str, int]:
    """Return what of the user's `file` an error is about that came in no line of it, and its line.

    A function that was called with other arguments than it takes, or a class that lacks a method.
    An empty text and 0 if it says nothing of the kind.
    """
    called = _CALLED.match(words)
    names = [each for each in called[0].split(".") if each != "<locals>"] if called else []
    lacking, _ = without_body(error)
    name = ".".join(names) or lacking
    return name, line_of(name, file)


def line_of(name: str, file: Path) -> int:
    """Return the line where a class or function (`Net.call`) of a file begins; 0 if unknown."""
    wanted = name.split(".")
    found = _definitions("".join(linecache.getlines(str(file))))
    return next((line for names, line in found if names[-len(wanted) :] == wanted), 0)


def advice_on_module(kind: str, file: Path) -> list[str]:
    """Return what to do where a function of `file` made a `tf.Module` of this class."""
    line = line_of(kind, file)
    which = f"its class in line {line} of {file}" if line else "its class"
    return [f"Make {which} a model of Keras: class {kind}(keras.Model), which computes in call."]


def _definitions(text: str) -> Iterator[tuple[list[str], int]]:
    """The classes and functions of a program, each by the names that lead to it, with its line."""
    try:
        waiting: list[tuple[list[str], Any]] = [([], parsed(text))]
    except (SyntaxError, ValueError, RecursionError):
        return
    for names, node in waiting:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                yield [*names, child.name], child.lineno
                waiting.append(([*names, child.name], child))
            elif isinstance(child, ast.stmt):
                waiting.append((names, child))
