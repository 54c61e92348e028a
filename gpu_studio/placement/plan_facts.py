"""TensorFlow's facts about a plan: its data, its model's layers, and a training step's memory.

A model's layers come in execution order, with their costs and connections. Bytes and FLOPs that
depend on the batch are per sample; the caller multiplies by the batch (or micro-batch).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from gpu_studio.common.figures import grouped
from gpu_studio.common.shown_values import DataSample
from gpu_studio.placement.apart import Apart
from gpu_studio.placement.compiled_steps import XlaFacts
from gpu_studio.placement.given_batches import AnyPlan, completed_by
from gpu_studio.placement.layer_holds import NOTHING_MET, Kernel, MetOutputs
from gpu_studio.placement.step_memory import StepMemory
from gpu_studio.plan import Target
from gpu_studio.plan.homes import devices_of_layers
from gpu_studio.plan.keras_objects import Kind

SCALED_AGAIN = "scaled again"
"""The name of the note on a model that scales samples that are small already."""
DIVIDED = " in 0…1, bytes divided by 255"


@dataclass(frozen=True, slots=True)
class ModelNote:
    """A way in which a user's own model is trained differently than its author may expect.

    `name` identifies the note, `text` is a sentence, and `why` says what it means and what to do.
    """

    name: str
    text: str
    why: str


@dataclass(frozen=True, slots=True)
class Learnt:
    """How outputs meet targets: the kind, whether they are logits, and what `auto` stands for.

    What layers `masked` does not count. `compiled` says if what the model was compiled with does;
    `lossless` if that was without a loss, `several` if a metric gives more than one number.
    """

    kind: Kind
    logits: bool
    loss: str
    metrics: tuple[str, ...]
    masked: bool = False
    compiled: bool = False
    lossless: bool = False
    several: bool = False


@dataclass(frozen=True, slots=True)
class ArrayFacts:
    """One array of a sample, of its targets or weights, or an input or output of a model.

    `path` leads to it in the structure that it is part of: names of dictionaries, places of tuples;
    `()` is the structure itself. `shape` is that of a sample. `ids`, `one_hot`, `sparse`, `between`
    and `missing` say more of a target, as in `plan.targets.Target`. Ends of a model have a `name`.
    A model gets bytes that are `scaled` divided by 255.
    """

    path: tuple[str | int, ...] = ()
    shape: tuple[int | None, ...] = ()
    dtype: str = "float32"
    ids: int | None = None
    one_hot: bool = False
    name: str = ""
    sparse: bool = False
    between: tuple[float, float] = field(default=(0.0, 0.0), compare=False)
    missing: int | None = None
    scaled: bool = False

    @property
    def divided(self) -> str:
        """What its numbers are, as the end of a sentence, where they are scaled."""
        return DIVIDED if self.scaled else ""

    @property
    def target(self) -> Target:
        """What is to be learnt, where this is an array of targets."""
        shape = tuple(size or 1 for size in self.shape)
        return Target(shape, self.dtype.startswith("float"), self.ids, self.one_hot, self.sparse)


def paired(
    given: Sequence[ArrayFacts], ends: Sequence[ArrayFacts]
) -> tuple[tuple[ArrayFacts | None, ArrayFacts | None], ...]:
    """Return each array of the data with the input or output of the model that it meets.

    They meet by name, as Keras matches dictionaries, or in order; those that meet none come last.
    """
    left = list(given)
    by_name = {end: _called(end, left) for end in ends}
    for found in filter(None, by_name.values()):
        if found in left:
            left.remove(found)
    rest = iter(left)
    pairs = [(found or next(rest, None), end) for end, found in by_name.items()]
    return (*pairs, *((each, None) for each in rest))


def _called(end: ArrayFacts, arrays: Sequence[ArrayFacts]) -> ArrayFacts | None:
    """Return the one of these arrays that a dictionary names like this end of the model."""
    names = {end.name, *(each for each in end.path[-1:] if isinstance(each, str))}
    return next((each for each in arrays if each.path and each.path[-1] in names), None)


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """The model of a plan for its data, with its optimizer.

    `slots` are the bytes of the optimizer's variables that belong to each layer, by its name;
    `shared_slots` those of the rest (step counter, learning rate, loss scale). `state_bytes` are
    the model's variables that are no weights, such as dropout's random state. `steps` is what a
    training step holds on a "GPU" and on a "CPU", whose operations need other scratch memory;
    `corrections` are the factors by which a measured step corrected it, by the same kinds. `notes`
    are worth a warning. An error is a sentence, empty if there is none; `advice` says what to try;
    `details` is the traceback of the user's own code where that failed. `graph` stands where only
    the optimizer or the loss was refused, which `training_error` says. An error is `of_the_moment`
    where there was no memory for a look at the model: the plan itself may be in order. `learnt`
    says how the only output is held against the target; `learners` say so of each output by name.
    `own_steps` are the methods of its own, such as `train_step`, by which it is trained instead;
    what such a step holds is not known. `measures` names what each epoch measures, if that is known
    before. A `conditional` optimizer changes no variables in some steps. `start_rules` on `states`.
    """

    graph: ModelGraph | None = None
    learnt: Learnt | None = None
    learners: Mapping[str, Learnt] = field(default_factory=dict)
    inputs: tuple[ArrayFacts, ...] = ()
    outputs: tuple[ArrayFacts, ...] = ()
    own_steps: tuple[str, ...] = ()
    measures: tuple[str, ...] = ()
    conditional: bool = False
    policy: str = "float32"
    slots: Mapping[str, int] = field(default_factory=dict)
    shared_slots: int = 0
    state_bytes: int = 0
    steps: Mapping[str, StepMemory] = field(default_factory=dict)
    corrections: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[ModelNote, ...] = ()
    xla: XlaFacts = field(default_factory=XlaFacts)
    states: tuple[str, int] | None = None
    model_error: str = ""
    training_error: str = ""
    advice: tuple[str, ...] = ()
    details: str = ""
    of_the_moment: bool = False

    @property
    def slot_bytes(self) -> int:
        """All variables of the optimizer, in bytes."""
        return sum(self.slots.values()) + self.shared_slots


@dataclass(frozen=True, slots=True)
class PlanFacts:
    """The data and the model of a plan; each is None if it could not be had.

    The reason is then in `data_error` or `model.model_error`. `details` and `of_the_moment` are for
    the data what the fields of the same names are for `model`.
    """

    data: DataFacts | None = None
    model: ModelFacts | None = None
    data_error: str = ""
    advice: tuple[str, ...] = ()
    details: str = ""
    of_the_moment: bool = False

    def completed(self, plan: AnyPlan) -> AnyPlan:
        """The plan with what it leaves to its script or its data, as far as that is known."""
        return completed_by(plan, self.data.fit, self.data.streamed) if self.data else plan

    @property
    def graph(self) -> ModelGraph | None:
        """The model's layers; None if they are not known yet, or there is no model."""
        return self.model.graph if self.model else None

    @property
    def model_error(self) -> str:
        """Why these data have no model, in a sentence; empty if they do, or it is unknown yet."""
        return self.model.model_error if self.model else ""

    @property
    def training_error(self) -> str:
        """Why optimizer, loss or metrics cannot be created; empty if they can."""
        return self.model.training_error if self.model else ""

    @property
    def not_looked_at(self) -> tuple[str, tuple[str, ...]]:
        """Why the data or the model could not be examined just now, and what to try; else empty."""
        if self.data_error and self.of_the_moment:
            return self.data_error, self.advice
        if self.model is not None and self.model_error and self.model.of_the_moment:
            return self.model_error, self.model.advice
        return "", ()

    @property
    def refused(self) -> bool:
        """Whether anything was refused, or could not be examined."""
        return bool(self.data_error or self.model_error or self.training_error)


def encoded(facts: PlanFacts | ModelFacts | DataFacts) -> Any:
    """The facts as JSON; bytes are in base64."""
    return msgspec.to_builtins(facts)


def decoded(document: Any) -> PlanFacts:
    """Read the facts from JSON. Raises ValueError if it does not hold them."""
    return msgspec.convert(document, PlanFacts, strict=False)


@dataclass(frozen=True, slots=True)
class GraphLayer:
    """One layer that can be placed, by the name that `distribution.placed.layers` uses.

    A layer of a nested model has the path `outer/inner`. A layer that is called several times
    appears once, with the inputs of all calls. Input layers, which hold nothing, are left out.
    """

    name: str
    kind: str
    """The Keras class, such as `Dense`."""
    inputs: tuple[str, ...] = ()
    """Names of the layers whose output it takes; none if it takes the model's input."""
    output_shape: tuple[int | None, ...] = ()
    """Of the first output, without the batch axis."""
    parameters: int = 0
    trainable: int = 0
    weight_bytes: int = 0
    trainable_bytes: int = 0
    output_bytes: int = 0
    """Of all outputs of all calls, per sample: what is sent if the next layer is elsewhere."""
    kept_bytes: int = 0
    """What the forward pass keeps for the backward pass, per sample."""
    flops_forward: float = 0.0
    flops_backward: float = 0.0
    normalises_apart: bool = False
    """Whether replicas normalise their own part of the batch: losses then depend on how many."""
    passing_bytes: int = 0
    """The most that is held besides while the layer is computed, on its way or back, per sample."""
    around_bytes: int = 0
    """The most on a card while it is computed, besides what layers before keep; 0 if not known."""
    kernels: tuple[Kernel, ...] = ()
    """The same while one of its kernels runs that need scratch memory on a card, with that."""
    outlived_bytes: int = 0
    """How much more that is, per sample, if what comes back to the layer outlives its use."""
    behind_bytes: int = 0  # and how much more still if a thread that takes it falls behind
    spared_bytes: int = 0
    """How much less, if what it takes is a copy from another card: a gradient is made over it."""
    lent_bytes: int = 0
    """Of `kept_bytes` what only the backward pass of layers that take it needs."""
    output_kept_bytes: int = 0
    """Of `output_bytes` what is kept."""
    forward_bytes: int = 0
    """The most on a card on its way forward besides `kept_bytes`, unkept inputs too, per sample."""
    let_go_bytes: int = 0  # of what it takes and keeps, what is never there at once meanwhile
    made_bytes: int = 0  # the most that it makes there if nothing is kept, at least its output
    gives_back: int = 0  # tensors of its own that it gives as gradients for what it takes
    apart: tuple[Apart, ...] = ()  # how much less is held around it where others are elsewhere
    row_bytes: int = 0  # the gradients of rows of its weights that a sample looks up
    shape_bytes: int = 0  # what a micro-batch keeps of shapes that its loops compute in turns
    added_up_bytes: int = 0  # what its loops add up going back, from zeros: gradients of weights
    keeps_inputs: bool = True
    """Whether the backward pass needs what the layer takes."""
    meets: tuple[tuple[str, str], ...] = ()
    """Inputs that it takes in one tensor with another one, the next of them, such as in a sum."""
    met_outputs: MetOutputs = NOTHING_MET
    """What its output meets, where it comes first."""
    frozen: bool = False
    """Whether training leaves it as it is."""
    made_frozen: bool = False
    """Whether it would without the plan's `model.frozen`, as its code or its file has it."""
    convolves: bool = False
    """Whether operations in it are convolutions, whatever its class."""

    @property
    def around(self) -> int:
        """`around_bytes`; if they are not known, what it keeps and what passes."""
        return self.around_bytes or self.kept_bytes + self.passing_bytes

    def arriving(self, here: Collection[str]) -> list[str]:
        """Its inputs; of those that meet elsewhere than `here`, only the last."""
        met = {name for name, other in self.meets if other not in here}
        return [name for name in self.inputs if name not in met]


@dataclass(frozen=True, slots=True)
class ModelGraph:
    """The layers of a model, each after its inputs."""

    name: str
    layers: tuple[GraphLayer, ...]
    input_shape: tuple[int | None, ...] = ()
    output_shape: tuple[int | None, ...] = ()
    input_bytes: int = 0
    """Of one sample."""

    @property
    def feeds(self) -> dict[str, tuple[str, ...]]:
        """The names of the layers, each with its inputs' names."""
        return {layer.name: layer.inputs for layer in self.layers}

    def devices_of(
        self, chosen: Mapping[str, tuple[str, ...]], names: Sequence[str]
    ) -> dict[str, tuple[str, ...]]:
        """The devices of every layer; the first of `names` if `chosen` decides nothing."""
        return devices_of_layers(self.feeds, chosen, tuple(names[:1]))

    @property
    def parameters(self) -> int:
        """The number of weights in all layers."""
        return sum(layer.parameters for layer in self.layers)

    @property
    def trainable(self) -> int:
        """The number of weights that training changes."""
        return sum(layer.trainable for layer in self.layers)


WITHOUT_END, UNKNOWN_LENGTH = "without end", "their number unknown"
"""How `DataFacts.streamed` ends for data without end, or of unknown length."""


@dataclass(frozen=True, slots=True)
class DataFacts:
    """Samples of each split, their shapes without the samples' axis, their types, and a preview.

    `task` is "classes" or "values"; `classes` is None for values; `ids` and `one_hot` say more of
    the targets, as in `plan.targets.Target`. `largest_token` is the largest token
    id if a sample is a row of tokens, and None if it is measured numbers. `bytes` is the size of
    all splits, which are `in_memory` or read batch by batch. If the data are not `here`, the
    first run downloads them, and there is no preview. `class_names` are those of the first classes,
    at most PREVIEWED, if classes have names. The model receives numbers from `lowest` to `highest`,
    judged by the samples that were examined, both 0 if none was; `pixels` are bytes that were
    divided by 255. `notes` are sentences about the splits, made as the plan's `split` says.
    `arrays` are the names of the used arrays of a file or of a function's result. `inputs`,
    `targets` and `weights` are all arrays of a sample; where they are `nested`, the fields `x_…`
    and `y_…` say nothing. `streamed` is what is known of data that come batch by batch, `batches of
    32, their number unknown`, 0 samples where unknown; they `varies` if their shapes are not fixed.
    `fit` is what the `fit` of the script that gives them gets of what a plan has by the same names.
    `lacking` are sentences on the samples, of whichever split, that hold no finite numbers.
    """

    name: str
    task: str
    classes: int | None
    train: int
    validation: int = 0
    test: int = 0
    x_shape: tuple[int, ...] = ()
    x_dtype: str = "float32"
    y_shape: tuple[int, ...] = ()
    y_dtype: str = "int32"
    largest_token: int | None = None
    bytes: int = 0
    here: bool = True
    preview: tuple[DataSample, ...] = ()
    class_names: tuple[str, ...] = ()
    lowest: float = 0.0
    highest: float = 0.0
    pixels: bool = False
    split: str = "random"
    notes: tuple[str, ...] = ()
    arrays: tuple[str, ...] = ()
    ids: int | None = None
    one_hot: bool = False
    streamed: str = ""
    varies: bool = False
    in_memory: bool = True
    inputs: tuple[ArrayFacts, ...] = ()
    targets: tuple[ArrayFacts, ...] = ()
    weights: tuple[ArrayFacts, ...] = ()
    fit: Mapping[str, Any] = field(default_factory=dict)
    lacking: tuple[str, ...] = ()

    @property
    def nested(self) -> bool:
        """Whether a sample is more than one array with one target."""
        arrays = (*self.inputs, *self.targets, *self.weights)
        return bool(arrays) and (len(arrays) != 2 or any(each.path for each in arrays))

    @property
    def endless(self) -> bool:
        """Whether the data come batch by batch, without end."""
        return self.streamed.endswith(WITHOUT_END)

    @property
    def of_unknown_length(self) -> bool:
        """Whether the data come batch by batch, and nobody knows how many."""
        return self.streamed.endswith(UNKNOWN_LENGTH)

    @property
    def target(self) -> Target:
        """What is to be learnt of a sample."""
        known = self.ids if self.ids is not None else self.classes
        return Target(self.y_shape, self.y_dtype.startswith("float"), known, self.one_hot)

    @property
    def samples(self) -> int:
        """Samples of all splits."""
        return self.train + self.validation + self.test

    def steps(self, batch: int) -> int:
        """Steps of an epoch with `batch` samples each; the last one may be smaller."""
        return -(-self.train // max(1, batch))


def numbers_in_words(data: DataFacts) -> str:
    """A model's input in words: `float32 in 0…1, bytes divided by 255`, `int32 ids up to 19`."""
    if data.largest_token is not None:
        return f"{data.x_dtype} ids up to {data.largest_token}"
    if data.pixels:
        return f"{data.x_dtype}{DIVIDED}"
    if data.lowest == data.highest:
        return data.x_dtype
    return f"{data.x_dtype} in {data.lowest:.3g}…{data.highest:.3g}"


def _array_in_words(array: ArrayFacts) -> str:
    one = "one text" if array.dtype == "string" else f"one number, {array.dtype}"
    sizes = " × ".join(map(str, array.shape))
    return f"{sizes}, {array.dtype}{array.divided}" if sizes else one


def sample_in_words(data: DataFacts) -> str:
    """Shape and numbers of a sample: `28 × 28 × 1, float32 in 0…1, bytes divided by 255`.

    Of several inputs, each with its name: `x/left 28 × 28, float32; x/words one text`.
    """
    if data.nested:
        return "; ".join(
            f"{'/'.join(('x', *map(str, each.path)))} {_array_in_words(each)}"
            for each in data.inputs
        )
    if data.x_dtype == "string":
        return _array_in_words(ArrayFacts((), data.x_shape, "string"))
    shape = " × ".join(map(grouped, data.x_shape)) or "one number"
    return f"{shape}, {numbers_in_words(data)}"
