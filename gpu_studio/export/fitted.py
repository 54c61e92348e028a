"""What a plan must be that Keras' `fit` trains, and the part of its script that loads the data."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from gpu_studio.export.data import split_head, split_lines
from gpu_studio.export.facts import ScriptFacts
from gpu_studio.export.meeting import ExportError, Met, UnseenError
from gpu_studio.export.own_code import options_of, place_of
from gpu_studio.export.script_data import ScriptData
from gpu_studio.export.script_text import fill, literal
from gpu_studio.placement.plan_facts import DataFacts, Learnt, ModelFacts
from gpu_studio.plan import Machine, Plan, Target, reference
from gpu_studio.plan.keras_objects import COMPILED

AS_COMPILED = ("auto", COMPILED)


def is_fitted(plan: Plan, seen: DataFacts | None, built: ModelFacts | None) -> bool:
    """Whether the plan's script is of this form: only `fit` trains what it names."""
    training = plan.training
    if plan.model.python is None or plan.data.python is None:
        return False
    names = [training.optimizer, training.loss.name, *(each.name for each in training.metrics)]
    of_plan = (
        any(name == COMPILED or reference(name) for name in names)
        or bool(training.callbacks or training.class_weight or training.outputs)
        or training.steps_per_epoch > 0
    )
    of_data = seen is not None and (bool(seen.streamed) or seen.nested)
    return of_plan or of_data or (built is not None and _needs_fit(built))


def _needs_fit(built: ModelFacts) -> bool:
    learnt = built.learnt
    return (
        bool(built.own_steps)
        or len(built.outputs) > 1
        or (learnt is not None and (learnt.compiled or learnt.masked))
    )


class FittedPlan:
    """A plan that `fit` trains, with what its data and its model are: what the parts are made of.

    Raises ExportError, in words, for what no script can train so: an UnseenError where data or
    model must be looked at first.
    """

    def __init__(
        self,
        plan: Plan,
        machine: Machine | None,
        base: Path,
        seen: DataFacts | None,
        built: ModelFacts | None,
    ) -> None:
        if seen is None or built is None or built.model_error:
            raise UnseenError(
                f"What {plan.data.python} returns and how {plan.model.python} is compiled are "
                "known once they have run, and a script depends on it: allow the files, and "
                "export when the Plan page shows the model."
            )
        if built.training_error:
            raise ExportError(built.training_error)
        self.plan, self.seen, self.built = plan, seen, built
        source = ScriptData(Target(), (), None, brings_test=False)
        self.facts = ScriptFacts(plan, machine, base, source, (), Met("values", (1,)))
        """What the parts of all scripts ask for; nothing of it says what is learnt."""
        self.joins = self.facts.joins or (built.conditional and self.facts.several)
        """Whether replicas must join to update weights in a condition."""
        if plan.training.phases and built.own_steps:
            raise ExportError(
                f"The model has its own {built.own_steps[0]}, which decides by itself what "
                "optimizer it uses. Leave training.phases out."
            )

    @property
    def draws(self) -> bool:
        """Whether layers draw random numbers that a run places: not those of steps of its own."""
        return not self.built.own_steps and self.built.state_bytes > 0

    @property
    def learners(self) -> Mapping[str, Learnt]:
        """How each output is held against its target, by the output's name."""
        only = {"": self.built.learnt} if self.built.learnt is not None else {}
        return self.built.learners if len(self.built.learners) > 1 else only

    @property
    def splits(self) -> list[str]:
        """The splits that `load_data` returns: all three of a stream, of which some may be None."""
        data, streamed = self.plan.data, bool(self.seen.streamed)
        there = {
            "validation": self.brings("val") or data.validation_fraction > 0,
            "test": self.brings("test") or data.test_fraction > 0,
        }
        return ["training", *(name for name, found in there.items() if found or streamed)]

    def brings(self, part: str) -> bool:
        """Whether the data bring a split of their own, `val` or `test`."""
        return any(name.partition("/")[0] == f"x_{part}" for name in self.seen.arrays)

    @property
    def named_loss(self) -> bool:
        """Whether the plan itself, rather than the model, says by what the model learns."""
        training = self.plan.training
        return bool(training.outputs) or training.loss.name not in AS_COMPILED

    @property
    def named_metrics(self) -> bool:
        """Whether the plan itself names the metrics."""
        return any(each.name not in AS_COMPILED for each in self.plan.training.metrics)

    @property
    def is_compiled(self) -> bool:
        """Whether anything counts of what the model was compiled with."""
        return any(each.compiled for each in self.learners.values())

    def place(self, variable: str, field: str, text: str, what: str) -> tuple[str, str]:
        """Return the line that says where a function's file is, and the function's name."""
        named = reference(text)
        if named is None:
            raise AssertionError(text)  # a valid plan names one
        return place_of(variable, field, named.file, self.facts, what), named.function


_ARRAYS = """\
$file
DATA_OPTIONS = $options


def named(found):
    \"\"\"What the function returned, by the names that arrays have in an .npz file.\"\"\"
    if isinstance(found, dict):
        return found
    if not isinstance(found, (tuple, list)):
        return {"x": found}
    pairs = [isinstance(part, (tuple, list)) and len(part) == 2 for part in found]
    if not all(pairs) or not any(isinstance(part, tuple) for part in found):
        return dict(zip(("x", "y", "sample_weight"), found))
    splits = ("train", "val", "test") if len(found) == 3 else ("train", "test")
    arrays = {}
    for split, (x, y) in zip(splits, found):
        arrays |= {f"x_{split}": x, f"y_{split}": y}
    return arrays


$head
def rows_of(arrays, rows):
    \"\"\"Some samples of a structure of arrays.\"\"\"
    return keras.tree.map_structure(lambda array: array[rows], arrays)


def load_data():
    \"\"\"The samples of each split as `fit` takes them: x, y and weights, if any.\"\"\"
    keras.utils.set_random_seed(SEED)
    found = call_own(DATA_FILE, $function, DATA_OPTIONS, {"seed": SEED})
    arrays = {
        name: $convert
        for name, array in named(found).items()
        if array is not None
    }
    $split


def batches(arrays, order_of_epoch, epochs):
    \"\"\"The batches of all epochs, as a dataset.\"\"\"
    with tf.device("CPU:0"):
        held = keras.tree.map_structure(tf.constant, arrays)

    def rows_of_batches():
        for epoch in range(epochs):
            order = order_of_epoch(epoch)
            for first in range(0, len(order), BATCH_SIZE):
                yield order[first : first + BATCH_SIZE]

    kind = tf.TensorSpec((None,), tf.int64)
    rows = tf.data.Dataset.from_generator(rows_of_batches, output_signature=kind)

    def gathered(some):
        return keras.tree.map_structure(lambda each: tf.gather(each, some), held)

    return rows.map(gathered).prefetch(8)


def shuffled(samples, epoch):
    \"\"\"The order of the training samples in an epoch: by seed and epoch alone.\"\"\"
    with tf.device("CPU:0"):
        numbers = tf.range(samples, dtype=tf.int64)
        seed = tf.constant([SEED, epoch], tf.int64)
        return tf.random.experimental.stateless_shuffle(numbers, seed=seed)
"""

_STREAMS = """\
$file
DATA_OPTIONS = $options


def load_data():
    \"\"\"The streams to train on, to validate on and to test on, or None.\"\"\"
    keras.utils.set_random_seed(SEED)
    found = call_own(DATA_FILE, $function, DATA_OPTIONS, {"seed": SEED})
    training, *others = found if isinstance(found, (tuple, list)) else (found,)
    $batched
    validation, test = [*others, None, None][:2]
    return training, validation, test


def in_order(files, epochs):
    \"\"\"The batches of all epochs of a `PyDataset`: by seed and epoch alone.\"\"\"

    def batches():
        for epoch in range(epochs):
            generator = np.random.Generator(np.random.PCG64([0x0DE2, SEED, epoch]))
            for place in generator.permutation(len(files)):
                yield tuple(files[int(place)])
            files.on_epoch_end()

    def kind(array):
        return tf.TensorSpec((None, *array.shape[1:]), array.dtype)

    kinds = keras.tree.map_structure(kind, tuple(files[0]))
    return tf.data.Dataset.from_generator(batches, output_signature=kinds)
"""
_BATCHED = "training, *others = (each.batch(BATCH_SIZE) for each in (training, *others))"
_AS_NUMPY = "keras.tree.map_structure(np.asarray, array)"
_PIXELS = """\
def pixels(array):
    \"\"\"Bytes of pictures as numbers from 0 to 1, anything else as it is.\"\"\"
    array = np.asarray(array)
    return array.astype(np.float32) / 255 if array.dtype == np.uint8 else array


"""


def loading(fitted: FittedPlan) -> str:
    """The functions that load the data. Raises ExportError."""
    data, streamed = fitted.plan.data, fitted.seen.streamed
    what = "function is that gives the data"
    place, function = fitted.place("DATA_FILE", "data.python", str(data.python), what)
    common = {
        "file": place,
        "options": options_of("data.options", data.options),
        "function": literal(function),
    }
    if streamed:
        one_by_one = "one by one" in streamed
        return fill(_STREAMS, batched=_BATCHED if one_by_one else "", **common)
    convert = "np.asarray(array)"
    if fitted.seen.pixels:
        convert = "keras.tree.map_structure(pixels, array)"
    elif fitted.seen.nested:
        convert = _AS_NUMPY
    shares = _held_out(fitted)
    head = split_head(data.split, shares) + (_PIXELS if fitted.seen.pixels else "")
    whole = fill(
        _ARRAYS, head=head.rstrip("\n"), convert=convert, split=_splits(fitted, shares), **common
    )
    return whole.replace("\n\n\n\n\n", "\n\n\n")


def _held_out(fitted: FittedPlan) -> dict[str, float]:
    data = fitted.plan.data
    shares = {"test": data.test_fraction, "validation": data.validation_fraction}
    brought = {"test": fitted.brings("test"), "validation": fitted.brings("val")}
    return {name: share for name, share in shares.items() if share > 0 and not brought[name]}


def _splits(fitted: FittedPlan, shares: dict[str, float]) -> str:
    """Return the lines that make the three splits of `arrays`."""
    names = [name.partition("/")[0] for name in fitted.seen.arrays]
    ending = "_train" if "x_train" in names else ""
    lines = [f"training = {_taken(fitted, ending)}"]
    data = fitted.plan.data
    if shares:
        if data.split in ("stratified", "grouped") and fitted.seen.nested:
            raise ExportError(
                f"A script splits several inputs or targets at random or in order: data.split is "
                f'"{data.split}". Let the function return the splits, or train by a run.'
            )
        lines.append("samples = len(keras.tree.flatten(training)[0])")
        if data.split == "grouped":
            lines.append(f"groups = arrays[{literal(data.options.get('groups', 'groups'))}]")
        classes = "training[1]" if fitted.seen.y_shape == () else "training[1][:, 0]"
        if fitted.seen.one_hot:
            classes = "training[1].argmax(axis=-1)"
        made = split_lines(data.split, shares, classes)
        lines.append(made.replace("len(x)", "samples"))
    for name in fitted.splits[1:]:
        part = {"validation": "val"}.get(name, name)
        held = f"rows_of(training, {name}_rows)" if name in shares else _taken(fitted, f"_{part}")
        lines.append(f"{name} = {held}")
    if shares:
        lines.append("training = rows_of(training, training_rows)")
    return "\n".join([*lines, f"return {', '.join(fitted.splits)}"])


def _taken(fitted: FittedPlan, ending: str) -> str:
    """Return a split's samples, with targets and weights in a tuple if there are any."""
    there = {name.partition("/")[0] for name in fitted.seen.arrays}
    parts = [f"{part}{ending}" for part in ("x", "y", "sample_weight")]
    found = [f"arrays[{literal(part)}]" for part in parts if part in there]
    return found[0] if len(found) == 1 else f"({', '.join(found)})"  # as `fit` takes x alone
