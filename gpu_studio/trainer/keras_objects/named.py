"""Make a Keras object by the name and with the options of a plan, or say why that is impossible.

The name is Keras', or leads to a function or class of the user's own.

Keras itself silently accepts many a wrong option, and fails much later with a traceback; so names,
kinds and ranges are checked here, against the signature of the very constructor.
"""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from gpu_studio.plan import choose_one, listed, nearest, reference, shown, with_kind
from gpu_studio.plan.keras_objects import keras_name
from gpu_studio.plan.options import Kind, Option
from gpu_studio.trainer.errors import PlanRefused, UserCodeError
from gpu_studio.trainer.user_code import UserFunction, find
from gpu_studio.trainer.user_code.telling import kind_in_words

# Keras' default is None for these, which does not say that they are integers or texts; and 1
# for a ratio.
_WHOLE = (
    "ema_overwrite_frequency",
    "gradient_accumulation_steps",
    "ignore_class",
    "class_id",
    "top_k",
    "num_classes",
)
_TEXT = ("average",)
_TEXTS = ("exclude_layers",)
_SEVERAL = ("target_class_ids", "axis")
"""Options whose lists hold whole numbers, where Keras has no default or a list."""
_FLOAT = ("adam_lr_ratio",)

_FRACTION = {"least": 0, "below": 1}
_RANGES: dict[str, dict[str, Any]] = {
    "momentum": _FRACTION,
    "rho": _FRACTION,
    "beta_1": _FRACTION,
    "beta_2": _FRACTION,
    "adam_beta_1": _FRACTION,
    "adam_beta_2": _FRACTION,
    "ema_momentum": _FRACTION,
    "label_smoothing": _FRACTION,
    "clipnorm": {"above": 0},
    "clipvalue": {"above": 0},
    "global_clipnorm": {"above": 0},
    "loss_scale_factor": {"above": 0},
    "delta": {"above": 0},
    "weight_decay": {"least": 0},
    "adam_weight_decay": {"least": 0},
    "epsilon": {"least": 0},
    "epsilon_1": {"least": 0},
    "epsilon_2": {"least": 0},
    "initial_accumulator_value": {"least": 0},
    "ema_overwrite_frequency": {"least": 1},
    "gradient_accumulation_steps": {"least": 2},
    "k": {"least": 1},
    "top_k": {"least": 1},
    "num_thresholds": {"least": 2},
    "num_classes": {"least": 1},
    "warmup_steps": {"least": 0},
    "ns_steps": {"least": 1},
    "axis": {"least": -1, "most": -1},
    "q": {"above": 0, "below": 1},
}


def keras_class(module: Any, name: str) -> Any:
    """Return the class that a plan names in small letters, from a module of Keras.

    For example, `kl_divergence` is KLDivergence.
    """
    squeezed = name.replace("_", "")
    return next(
        getattr(module, each)
        for each in dir(module)
        if each[0].isupper() and each.lower() == squeezed
    )


def known(field: str, name: str, names: Iterable[str]) -> str:
    """Return the one of `names` that is meant by `name`, in any of Keras' spellings.

    Raises PlanRefused, which suggests the nearest name.
    """
    found = keras_name(name, names)
    if found is None:
        raise PlanRefused(f"{field} is {shown(name)}.", [sentence(choose_one(name, names))])
    return found


def fitting(
    field: str, name: str, names: Sequence[str], others: Iterable[str], targets: str
) -> str:
    """The one of `names`, which fit these data, that is meant by `name`.

    Raises PlanRefused, which for one of `others`, made for another kind of targets, says what the
    `targets` are.
    """
    if keras_name(name, names) is None and keras_name(name, others) is not None:
        raise PlanRefused(
            f"{field} is {shown(name)}, which does not fit {targets}.",
            ['Write "auto".', f"These fit: {listed(names)}."],
        )
    return known(field, name, names)


def sentence(advice: str) -> str:
    """Return advice as a sentence: with a capital letter and a full stop."""
    return advice[:1].upper() + advice[1:] + ("" if advice.endswith(("?", ".")) else ".")


def parameters(factory: Any) -> dict[str, Any]:
    """The options that a Keras class takes, with their defaults.

    `inspect.Parameter.empty` for one without.
    """
    # From `__init__`, because a `__new__` among the base classes would hide it behind `*args`.
    taken = list(inspect.signature(factory.__init__).parameters.values())[1:]
    return {
        each.name: each.default for each in taken if each.kind is not inspect.Parameter.VAR_KEYWORD
    }


def construct(
    field: str, name: str, factory: Any, given: Mapping[str, Any], fixed: Mapping[str, Any]
) -> Any:
    """Return `factory(**fixed, **given)`, with `given` checked against the signature first.

    `field` is where the options stand in the plan (`training.options`) and `name` what they belong
    to. Options in `fixed`, `name` and `dtype` are not the plan's to give. Raises PlanRefused naming
    the option.
    """
    takes = {
        key: default
        for key, default in parameters(factory).items()
        if key not in {*fixed, "name", "dtype"}
    }
    options = {key: _checked(f"{field}.{key}", name, value, takes) for key, value in given.items()}
    for key, default in takes.items():
        if default is inspect.Parameter.empty and key not in options:
            raise PlanRefused(f"{name} needs the option {key}.", [f"Give {field}.{key}."])
    try:
        return factory(**fixed, **options)
    except (ValueError, TypeError) as error:
        raise PlanRefused(
            f"Keras does not take the options of {name}: {error}", [f"Check {field}."]
        ) from error


def _checked(field: str, name: str, value: Any, takes: Mapping[str, Any]) -> Any:
    key = field.rpartition(".")[2]
    if key not in takes:
        close = nearest(key, takes)
        advice = (
            f"Did you mean {close}?" if close else f"{name} has {', '.join(takes) or 'no options'}."
        )
        raise PlanRefused(f"{field} is not an option of {name}.", [advice])
    if key in _TEXT or isinstance(takes[key], str):
        return _text(field, value)
    if key in _TEXTS:
        return [
            _text(field, each) for each in (value if isinstance(value, list | tuple) else [value])
        ]
    kind = _kind(key, takes[key])
    ranges = {} if kind == "ints" else _RANGES.get(key, {})
    problem = Option(key, kind, takes[key], "", **ranges).problem(field, value)
    if problem is not None:
        raise PlanRefused(f"{field} is {problem.received}.", [sentence(problem.advice)])
    return float(value) if kind == "float" else value


def _kind(key: str, default: Any) -> Kind:
    if isinstance(default, bool):
        return "bool"
    if key in _SEVERAL and not isinstance(default, int):
        return "ints"
    whole = key in _WHOLE or isinstance(default, int)
    return "int" if whole and key not in _FLOAT else "float"


def _text(field: str, value: Any) -> str:
    if not isinstance(value, str):
        raise PlanRefused(f"{field} is {with_kind(value)}.", ["Give a string."])
    return value


_BY_PLACE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
JUDGING = ("y_true", "y_pred")
"""What a loss and a metric that are functions take."""


def own_function(field: str, name: str) -> UserFunction | None:
    """Return the function that the plan names at `field`; None if `name` is no `file.py:function`.

    The file is absolute. Raises UserCodeError if it may not run, or does not define the function.
    """
    return find(field, name, Path()) if reference(name) else None


def itself_or_made(
    function: UserFunction,
    options: Mapping[str, Any],
    offered: Mapping[str, Any],
    arguments: Sequence[str],
    kind: type,
    what: str,
) -> Any:
    """Return `function` with the options if it takes the `arguments`, else what it makes.

    It makes a `kind`, in words `what`, of the options and of what is `offered` by name; or a
    function that takes the arguments. Raises UserCodeError for whatever goes wrong in it, and if it
    gives something else.
    """
    asked = _asked_for(function.call, {*options, *offered})
    if arguments and len(asked) == len(arguments):
        return function.taking(asked, options, offered)
    if arguments and len(asked) > len(arguments):
        raise _takes_others(function, asked, arguments, what)
    made = function.made(options, offered)
    if isinstance(made, kind) or (
        arguments and callable(made) and len(_asked_for(made, ())) == len(arguments)
    ):
        return made
    raise UserCodeError(
        f"{function.name} returned {kind_in_words(made)} where {what} is needed.",
        [f"It begins in line {function.line} of {function.file}.", *_advice(arguments, what)],
    )


def takes_epoch(call: Any) -> bool:
    """Whether the function asks for the number of an epoch, and not of a step."""
    return any("epoch" in name for name in _asked_for(call, ()))


def _asked_for(call: Any, given: Collection[str]) -> list[str]:
    """Return the arguments that are still to be given by their places.

    Nothing is asked for by a class: it is made, whatever it takes.
    """
    if inspect.isclass(call):
        return []
    try:
        parameters = inspect.signature(call).parameters.values()
    except (TypeError, ValueError):  # a function written in another language has no signature
        return list(JUDGING)
    return [
        each.name
        for each in parameters
        if each.kind in _BY_PLACE and each.default is each.empty and each.name not in given
    ]


def _takes_others(
    function: UserFunction, asked: Sequence[str], arguments: Sequence[str], what: str
) -> UserCodeError:
    return UserCodeError(
        f"{function.name} takes {listed(asked)}, and as {what} it is given {listed(arguments)}.",
        [
            (
                f"Give all but {len(arguments)} of them a default, in line {function.line} of "
                f"{function.file}."
            ),
            f"Or set them in {function.part}.options.",
        ],
    )


def _advice(arguments: Sequence[str], what: str) -> list[str]:
    if not arguments:
        return [f"Let it end with: return …, {what}."]
    taken = ", ".join(arguments)
    return [f"Let it return {what}, or be itself a function of ({taken})."]
