"""A script that trains with Keras, read as text and never executed: its `fit`, as a plan.

The plan names the script itself, `train.py:fit`: model, data and callbacks are those that the
first call of `fit` is given when the trainer runs the script up to that line. The call may stand in
a module beside the script.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from itertools import takewhile
from pathlib import Path, PurePath
from typing import Any

from gpu_studio.common.python_syntax import DEFINITIONS, parsed, run_by
from gpu_studio.plan.local_modules import code_folder, files_of_import, modules_beside, read_code
from gpu_studio.plan.script_flow import (
    MEASURING,
    WRITING,
    are_exclusive,
    called_after,
    gone_to_again,
    is_before,
    repeated,
)
from gpu_studio.plan.script_values import LARGE, UNKNOWN, bound_in, value_of
from gpu_studio.plan.strategies import strategy_named
from gpu_studio.plan.values import Callback, Data, ModelSettings, Plan, Training, shown

FIT = "fit"
"""What a plan writes in the place of a function for what a script's call of `fit` is given."""
BY_HAND = (
    "What is trained by train_on_batch, or in a loop of its own, cannot be taken over: put a step "
    "into the train_step of a keras.Model, and call its fit"
)
"""The message for a script that trains and calls no `fit`."""
TUNED = (
    "search in line {line} trains many models, and a run trains one: call fit of one model in a "
    "script without the search, and compare settings of its plan by `gpu-studio study new`"
)
"""The message for a script that searches settings with KerasTuner."""
OF_KERAS_2 = (
    "fit_generator {place} is of Keras 2, and not in Keras 3: call fit, which takes the generator "
    "and the rest by the same names (workers and max_queue_size are given to a PyDataset)"
)
"""The message for a script that trains by what Keras no longer has."""
LEGACY = (
    "{place} asks for Keras 2, and Keras 3 is what trains here: leave it out, and import keras or "
    "tensorflow.keras"
)
"""The message for a script whose models are not those of Keras 3."""
OF_KERAS = frozenset({"batch_size", "callbacks", "epochs", "steps_per_epoch", "validation_data"})
"""One of these tells the `fit` of a model from that of a scaler or a tokenizer."""
_FROM_NONE = ("epochs", "initial_epoch")
_WHOLE = (
    *_FROM_NONE,
    "batch_size",
    "steps_per_epoch",
    "validation_steps",
    "validation_freq",
)
"""Those of them that are whole numbers; the first may be 0."""
_SHUFFLE = "shuffle"
WEIGHTS = "class_weight"
OF_PLANS = (*_WHOLE, _SHUFFLE, WEIGHTS)
"""Arguments of `fit` that a plan has by the same names."""


@dataclass(frozen=True, slots=True)
class FitCall:
    """A call of `fit` in a script: its line, and the arguments that a plan has as well.

    `known` are those whose values can be read from the text, as a plan has them, also where a
    variable is bound once or `argparse` has a default; `unknown` are the others, by name.
    `callbacks` says whether there may be any. `later` is the line of a further call that trains a
    model, or of what makes the same call once more; 0 if there is none. `module` is the name of the
    file beside the script in which both calls stand; then `line` is the one of the script that goes
    there. `strategy` is what a plan calls the `tf.distribute` strategy that is made there, if any,
    `unwritten` the first call that would write a file after `fit`, `model.save in line 20`, and
    `unmeasured` the first that would evaluate or predict. `number` is its place in the order in
    which calls are made; it is `counted` where its line is not known, and `line` is that of the
    first. With `later_here` the `later` line is the script's where the call is a module's.
    """

    line: int
    known: Mapping[str, Any] = field(default_factory=dict)
    unknown: tuple[str, ...] = ()
    callbacks: bool = False
    later: int = 0
    module: str = ""
    strategy: str = ""
    unwritten: str = ""
    unmeasured: str = ""
    number: int = 1
    counted: bool = False
    later_here: bool = False

    @property
    def place(self) -> str:
        """Where the call stands: `in line 12`, or `in loops.py`; else which it is: `in call 3`."""
        if self.counted:
            return f"in call {self.number}"
        return f"in {self.module}" if self.module else f"in line {self.line}"

    @property
    def function(self) -> str:
        """What a plan writes for it in the place of a function: `fit`, or `fit_2`."""
        return FIT if self.number == 1 else f"{FIT}_{self.number}"


def call_in(path: Path, code: bytes) -> FitCall | None:
    """The first call of `fit` that the file at `path`, which holds `code`, comes to once started.

    It stands in the file, or in a module beside it that the file imports and goes to. Whether it
    really comes there, only its start shows. None if there is none. Where a module trains, too, the
    call may be of a `fit` of its own, so that what it does not say is not known.
    """
    if legacy_in(path, code):
        return None
    call = fit_in(code)
    if call is None:
        return _call_beside(path, code)
    if any(_trains(each) for _, each in _code_beside(path)):
        others = tuple(name for name in OF_PLANS if name not in call.known)
        return replace(call, unknown=others, callbacks=True)
    return call


def _call_beside(path: Path, code: bytes) -> FitCall | None:
    line = _goes_elsewhere(path, code)
    for module, beside in _code_beside(path):
        at = line or (_import_of(module, path, code) if _trains_at_import(beside) else 0)
        if at and (call := fit_in(beside)):
            again = [] if call.later else gone_to_again(call.line, tree_of(beside), tree_of(code))
            later = min(again, default=call.later)
            call = replace(call, line=at, later=later, later_here=bool(again), module=module.name)
            return replace(call, known={}, unknown=OF_PLANS, callbacks=True)
    return None


@lru_cache(maxsize=64)
def _trains_at_import(code: bytes) -> bool:
    """Whether a module that holds `code` calls `fit` as soon as it is imported."""
    tree = tree_of(code)
    run = [node for node in run_by(tree.body) if isinstance(node, ast.Call)]
    names = {each.func.id for each in run if isinstance(each.func, ast.Name)}
    called = [each for each in tree.body if isinstance(each, DEFINITIONS) and each.name in names]
    return any(map(is_of_keras, run + [node for each in called for node in ast.walk(each)]))


def _import_of(module: Path, path: Path, code: bytes) -> int:
    """The line in which the file at `path` imports the `module` beside it, once started."""
    folder = code_folder(path, code)
    for node in run_by(tree_of(code).body, as_program=True):
        level = node.level if isinstance(node, ast.ImportFrom) else 0
        if any(module in files_of_import(path, level, each, folder) for each in _imported(node)):
            return int(getattr(node, "lineno", 0))
    return 0


def tree_of(code: bytes) -> ast.Module:
    """The syntax tree of a file that holds `code`; an empty one if this Python cannot read it."""
    try:
        return parsed(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])


def _code_beside(path: Path) -> Iterator[tuple[Path, bytes]]:
    """The modules beside the file at `path` that it imports, and what they hold."""
    for module in modules_beside(path):
        with suppress(OSError, ValueError):
            yield module, read_code(module)


@lru_cache(maxsize=64)
def _trains(code: bytes) -> bool:
    """Whether a file has a call of `fit` with an argument that only that of a model takes."""
    return any(map(is_of_keras, ast.walk(tree_of(code))))


def _goes_elsewhere(path: Path, code: bytes) -> int:
    """The line of a file with which its start goes on in a module beside it, or may; 0 if none.

    That is a call with what the module defines, or with what the file does, which may use that.
    """
    tree = tree_of(code)
    own = {each.name for each in tree.body if isinstance(each, DEFINITIONS)}
    if FIT in own:  # the function is meant
        return 0
    nodes, folder = list(run_by(tree.body, as_program=True)), code_folder(path, code)
    beside = {name for node in nodes for name in _imported_from_beside(node, path, folder)}
    called = [node for node in nodes if isinstance(node, ast.Call)]
    return next((each.lineno for each in called if _names_in(each) & (own | beside)), 0)


def _imported_from_beside(node: ast.AST, path: Path, folder: Path) -> Iterator[str]:
    """The names that an import in the file at `path` takes from modules in and below `folder`."""
    if isinstance(node, ast.Import):
        for each in node.names:
            if files_of_import(path, 0, each.name, folder):
                yield (each.asname or each.name).partition(".")[0]
    elif isinstance(node, ast.ImportFrom):
        for each in node.names:  # `from a import b` may import the module `a.b`
            name = f"{node.module or ''}.{each.name}".strip(".")
            if files_of_import(path, node.level, name, folder):
                yield each.asname or each.name


def _names_in(call: ast.Call) -> set[str]:
    """The variables that a call is made with: what is called, and what it is given."""
    return {each.id for each in ast.walk(call) if isinstance(each, ast.Name)}


@lru_cache(maxsize=8)  # a plan that is being typed is checked at every keystroke
def fit_in(code: bytes) -> FitCall | None:
    """The first call of `fit` in a Python file that holds `code`; None if it has none.

    A file that defines a function of that name, and does not call it, is no such script: the
    function is meant.
    """
    tree = tree_of(code)
    if searched_in(code):  # the first call of fit is that of a trial
        return None
    called = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    is_defined = any(isinstance(node, ast.FunctionDef) and node.name == FIT for node in tree.body)
    if is_defined and not any(getattr(each.func, "id", "") == FIT for each in called):
        return None
    calls = calls_of_fit(tree)
    if not calls:
        return None
    first, *others = calls
    further = [each for each in others if not are_exclusive(first, each, tree)]
    later = [each.lineno for each in further if is_of_keras(each) or _of_same(each, first)]
    later += repeated(first, tree) if is_of_keras(first) else []
    after = partial(called_after, first.end_lineno or first.lineno, tree)
    found = replace(
        _read_of(first, list(filter(is_of_keras, others)), tree), later=min(later, default=0)
    )
    return replace(found, unwritten=after(WRITING), unmeasured=after(MEASURING))


def calls_of_fit(tree: ast.Module) -> list[ast.Call]:
    """The calls of a `fit` in their order; first those that are surely of a model."""
    calls = [each for each in ast.walk(tree) if isinstance(each, ast.Call) and _is_fit(each)]
    return sorted(calls, key=lambda call: (not is_of_keras(call), call.lineno))


def searched_in(code: bytes) -> int:
    """The line in which a file searches settings with KerasTuner; 0 if it does not."""
    nodes = list(ast.walk(tree_of(code)))
    names = (each for node in nodes for each in _imported(node))
    if not {"keras_tuner", "kerastuner"} & {each.partition(".")[0] for each in names}:
        return 0
    called = [each for each in nodes if isinstance(each, ast.Call)]
    return next((each.lineno for each in called if _method(each.func) == "search"), 0)


def older_fit(path: Path, code: bytes) -> str:
    """Where the file at `path`, or a module beside it, trains by `fit_generator`: `in line 12`.

    Empty if neither does.
    """
    return _place_of([(None, code), *_code_beside(path)], b"fit_generator", _older_fits)


def _older_fits(code: bytes) -> list[int]:
    called = [each for each in ast.walk(tree_of(code)) if isinstance(each, ast.Call)]
    return [each.lineno for each in called if _method(each.func) == "fit_generator"]


def legacy_in(path: Path, code: bytes) -> str:
    """Where the file at `path`, or a module beside it, asks for Keras 2: `tf_keras in line 3`.

    Empty if neither does. A `fit` of its models is none that can be taken over.
    """
    texts = [(None, code), *_code_beside(path)]
    for name, lines_in in (("tf_keras", _legacy_imports), (_SETTING, _legacy_settings)):
        if place := _place_of(texts, name.encode(), lines_in):
            return f"{name} {place}"
    return ""


_SETTING = "TF_USE_LEGACY_KERAS"
_SET = re.compile(rf"^[^#\n]*{_SETTING}['\"]\]?\s*[,=]\s*['\"](?:1|[Tt]rue)".encode(), re.MULTILINE)


def _legacy_settings(code: bytes) -> list[int]:
    return [code.count(b"\n", 0, found.start()) + 1 for found in _SET.finditer(code)]


def _legacy_imports(code: bytes) -> list[int]:
    nodes = list(ast.walk(tree_of(code)))
    # Under `try` it is one of two, and what is installed decides.
    tried = {id(each) for node in nodes if isinstance(node, ast.Try) for each in ast.walk(node)}
    left = (node for node in nodes if id(node) not in tried)
    named = ((node, name.partition(".")[0]) for node in left for name in _imported(node))
    return [getattr(node, "lineno", 0) for node, name in named if name == "tf_keras"]


def _place_of(
    texts: Sequence[tuple[Path | None, bytes]], word: bytes, lines_in: Callable[[bytes], list[int]]
) -> str:
    """The first line that is found in a file or the modules beside it; empty if there is none."""
    for module, text in texts:
        if word in text and (lines := lines_in(text)):
            return f"in line {min(lines)}{f' of {module.name}' if module else ''}"
    return ""


def _imported(node: ast.AST) -> list[str]:
    """The modules that a statement imports; `from a import b` may import the module `a.b`."""
    names = (
        [each.name for each in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
    )
    if not isinstance(node, ast.ImportFrom):
        return names
    return [node.module or "", *(f"{node.module or ''}.{each}".strip(".") for each in names)]


def _method(func: ast.expr) -> str:
    return func.attr if isinstance(func, ast.Attribute) else ""


def _of_same(one: ast.Call, other: ast.Call) -> bool:
    """Whether both are calls of the same thing's `fit`."""
    return ast.dump(one.func) == ast.dump(other.func)


def _is_fit(call: ast.Call) -> bool:
    return _method(call.func) == FIT


def is_of_keras(node: ast.AST) -> bool:
    """Whether this is a call of `fit` with an argument that only that of a model takes."""
    named = node.keywords if isinstance(node, ast.Call) and _is_fit(node) else []
    return any(each.arg in OF_KERAS for each in named)


def _read_of(first: ast.Call, others: Sequence[ast.Call], tree: ast.Module) -> FitCall:
    """What a file gives its first call of `fit`; one of the `others` may really be the first."""
    found, usual = read_call(first, tree), Training()
    rivals = [read_call(each, tree) for each in others if not is_before(first, each, tree)]
    if not rivals:
        return found

    def is_sure(name: str) -> bool:
        mine, values = getattr(usual, name), (found, *rivals)
        given = [each.known.get(name, mine) for each in values if name not in each.unknown]
        return len(given) == len(values) and all(each == given[0] for each in given)

    unsure = tuple(name for name in OF_PLANS if not is_sure(name))
    known = {name: value for name, value in found.known.items() if name not in unsure}
    some = found.callbacks or any(each.callbacks for each in rivals)
    return replace(found, known=known, unknown=unsure, callbacks=some)


def read_call(call: ast.Call, tree: ast.Module) -> FitCall:
    """What the text of a file says of a call of `fit` in it."""
    given = {each.arg: each.value for each in call.keywords if each.arg}
    by_place = list(takewhile(lambda each: not isinstance(each, ast.Starred), call.args))
    given |= dict(zip(_IN_ORDER, by_place, strict=False))
    # As in `fit(x, **settings)` and `fit(*pair)`.
    unpacked = len(by_place) < len(call.args) or any(each.arg is None for each in call.keywords)
    bound, known, unknown = bound_in(tree), {}, []
    for name in OF_PLANS:
        value = value_of(given[name], bound) if name in given else UNKNOWN if unpacked else None
        if value is None:  # as if it were not given
            continue
        of_plan = as_in_plan(name, value)
        if of_plan is None:
            unknown.append(name)
        else:
            known[name] = of_plan
    callbacks = given.get("callbacks")
    some = unpacked if callbacks is None else value_of(callbacks, bound) not in (None, [], ())
    strategy = next(filter(None, map(_strategy, ast.walk(tree))), "")
    return FitCall(call.lineno, known, tuple(unknown), some, strategy=strategy)


def _strategy(node: ast.AST) -> str:
    """What a plan calls the strategy over replicas that is made there; empty if it is none."""
    func = node.func if isinstance(node, ast.Call) else None
    name = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
    # MultiWorkerMirroredStrategy is a multi_worker of plans, as that is mirrored by itself.
    words = re.findall("[A-Z][a-z]+", name.removesuffix("Strategy"))[:2]
    found = strategy_named("_".join(words).lower())
    is_one = name.endswith("Strategy") and not found.why_not and found.pace != "one replica"
    return found.name if is_one else ""


def as_in_plan(name: str, value: Any) -> Any:
    """How a plan has `value` of an argument of `fit`; None if no plan can have it.

    Steps may be a whole float, as `np.ceil(samples / size)` gives them: Keras 2 took these.
    """
    if "steps" in name and isinstance(value, float) and value.is_integer():
        value = int(value)
    try:
        if name == WEIGHTS:
            return {str(operator.index(key)): float(each) for key, each in value.items()}
        whole = operator.index(value)
    except (AttributeError, OverflowError, TypeError, ValueError):
        return None
    if name == _SHUFFLE:
        return bool(whole) if isinstance(value, bool) else None
    return whole if (name not in _FROM_NONE) <= whole < LARGE else None


def in_words(given: Mapping[str, Any]) -> str:
    """What `fit` is given of what a plan has, without defaults: `epochs=3, shuffle=false`."""
    usual = Training()
    others = {name: value for name, value in given.items() if value != getattr(usual, name)}
    return ", ".join(f"{name}={shown(value)}" for name, value in others.items())


_IN_ORDER = (
    *("x", "y", "batch_size", "epochs", "verbose", "callbacks", "validation_split"),
    *("validation_data", "shuffle", "class_weight", "sample_weight", "initial_epoch"),
    *("steps_per_epoch", "validation_steps", "validation_batch_size", "validation_freq"),
)
"""The arguments of `fit` by their places."""


def plan_of(file: str, call: FitCall) -> Plan:
    """A plan that trains what the call of `fit` in the script `file` trains.

    What the text does not say is left to the script.
    """
    script = f"{file}:{call.function}"
    return Plan(
        name=PurePath(file).stem,
        model=ModelSettings(python=script),
        data=Data(python=script, validation_fraction=0.0, test_fraction=0.0),
        training=Training(
            **call.known,
            as_in_script=call.unknown,
            callbacks=(Callback(script),) if call.callbacks else (),
        ),
    )
