"""The facts about a plan's data and model, in words and as rows of tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from typing import Any

from PySide6.QtCore import QObject, Qt, Signal

from gpu_studio.common.figures import flops, grouped, plural, size
from gpu_studio.placement.plan_facts import (
    ArrayFacts,
    DataFacts,
    GraphLayer,
    Learnt,
    ModelFacts,
    ModelGraph,
    paired,
    sample_in_words,
)
from gpu_studio.plan import Machine, Plan, kinds_between, listed, replica_count, shares_of
from gpu_studio.plan.freezing import frozen_layers
from gpu_studio.plan.targets import in_words
from gpu_studio.ui.kit import Index, PlainTable

_NAMED = 6
"""Names of classes that a line has space for."""


@dataclass(frozen=True, slots=True)
class Batches:
    """The division of an epoch: the batch size, the number of batches, the size of the last one."""

    size: int
    count: int
    last: int


def batches(plan: Plan, machine: Machine, data: DataFacts) -> Batches:
    """The batches of one epoch over the training samples."""
    whole = max(1, sum(shares_of(plan, replica_count(plan, machine))))
    return Batches(whole, data.steps(whole), data.train % whole or min(whole, data.train))


def data_lines(plan: Plan, machine: Machine, data: DataFacts) -> tuple[tuple[str, str], ...]:
    """Return the facts about the data as names and words."""
    if data.streamed:
        return (("samples", f"{data.streamed}{_splits_of(data)}"), *_of_a_sample(data))
    cut = batches(plan, machine, data)
    last = f", the last of {grouped(cut.last)}" if cut.last != cut.size and cut.count > 1 else ""
    kinds = (("training", data.train), ("validation", data.validation), ("test", data.test))
    return (
        (
            "samples",
            " · ".join([*(f"{grouped(count)} {kind}" for kind, count in kinds), _size(data)]),
        ),
        (
            "an epoch",
            f"{_batches(cut.count)} of {plural(min(cut.size, data.train), 'sample')}{last}",
        ),
        *_of_a_sample(data),
    )


def _of_a_sample(data: DataFacts) -> tuple[tuple[str, str], ...]:
    if not data.nested:
        return (
            ("a sample", sample_in_words(data)),
            ("a target", target_in_words(data)),
        )
    return tuple((name, _array_in_words(array)) for name, array in _arrays_of(data))


def _arrays_of(data: DataFacts) -> Iterator[tuple[str, ArrayFacts]]:
    """The arrays of a sample, of its targets and of its weights, each with its path in words."""
    parts = (("x", data.inputs), ("y", data.targets), ("sample_weight", data.weights))
    for part, arrays in parts:
        yield from (("/".join((part, *map(str, each.path))), each) for each in arrays)


def _splits_of(data: DataFacts) -> str:
    """Return the counts of samples that a stream tells of, where it tells of any."""
    kinds = (("training", data.train), ("validation", data.validation), ("test", data.test))
    return "".join(f" · {grouped(count)} {kind}" for kind, count in kinds if count)


def preview_headers(data: DataFacts) -> tuple[str, ...]:
    """Return what stands above each array of the samples that are shown."""
    return tuple(name for name, _ in _arrays_of(data)) if data.nested else ("Input", "Target")


def data_in_short(data: DataFacts) -> str:
    """Return the number of samples and their shape in a line: `1 797 samples, 28 × 28 × 1`."""
    if data.streamed:
        shape = "" if data.nested else f"; {_shape_of(data)}"
        return f"{data.streamed}{shape}"
    if data.nested:
        given, wanted = plural(len(data.inputs), "input"), plural(len(data.targets), "target")
        return f"{plural(data.samples, 'sample')}, {given}, {wanted}"
    return f"{plural(data.samples, 'sample')}, {_shape_of(data)}"


def _shape_of(data: DataFacts) -> str:
    alone = data.x_dtype == "string" and not data.x_shape
    return "one text" if alone else shape_in_words(data.x_shape)


def target_in_words(data: DataFacts) -> str:
    """Describe the target of a sample."""
    if data.classes and data.y_shape == ():
        return f"one of {grouped(data.classes)} classes{_named(data)}, {data.y_dtype}"
    return f"{in_words(data.target)}{_named(data)}, {data.y_dtype}"


def _named(data: DataFacts) -> str:
    """Return the names of the classes, as many as fit in a line."""
    if not data.class_names:
        return ""
    more = (data.classes or 0) - len(data.class_names[:_NAMED])
    return (
        f" ({', '.join(data.class_names[:_NAMED])}{f' and {grouped(more)} more' if more else ''})"
    )


def what_fits(data: DataFacts, model: ModelFacts | None) -> tuple[tuple[bool, str], ...]:
    """Whether the model takes a sample, and gives what is to be learnt, a sentence each."""
    if model is None or model.graph is None:
        return ()
    if model.own_steps:  # what such a step takes and gives, only it knows
        return ((True, f"The model's own {model.own_steps[0]} is given all of them."),)
    takes = fit_of(data, model.graph)
    if model.learnt and model.learnt.compiled and not all(fits for fits, _ in takes):
        gives = shape_in_words(model.graph.output_shape)
        said = f"Shapes out: {model.learnt.loss} is given {gives}, for {in_words(data.target)}."
        return *takes[:1], (True, said)
    return takes


def fit_of(data: DataFacts, graph: ModelGraph) -> tuple[tuple[bool, str], ...]:
    """Whether the model takes a sample, and gives what is to be learnt, a sentence each."""
    if data.nested:  # what does not fit was refused when the model was built
        return ((True, "The model takes all inputs and gives an output for each target."),)
    takes = _fits(graph.input_shape, data.x_shape)
    given = f"samples are {_shape_of(data)}"
    wanted = f"the model takes {_shape_of(data) if takes else shape_in_words(graph.input_shape)}"
    inward = (
        takes,
        f"Shapes in fit: {wanted}." if takes else f"Shapes in do not fit: {given}, {wanted}.",
    )
    return inward, _outward(data, graph)


def _outward(data: DataFacts, graph: ModelGraph) -> tuple[bool, str]:
    gives = f"the model gives {shape_in_words(graph.output_shape)}"
    single = f"{grouped(data.classes or 0)} classes" if data.y_shape == () else ""
    wanted = single or in_words(data.target)
    fits = bool(kinds_between(data.target, graph.output_shape))
    return (
        fits,
        f"Shapes out fit: {gives}, for {wanted}."
        if fits
        else f"Shapes out do not fit: {gives}, for {wanted}.",
    )


def _fits(wanted: tuple[int | None, ...], given: tuple[int, ...]) -> bool:
    return len(wanted) == len(given) and all(
        want is None or want == have for want, have in zip(wanted, given, strict=True)
    )


def _size(data: DataFacts) -> str:
    """Return how large the data are; unknown for some that are still to be downloaded."""
    if data.here:
        return size(data.bytes) if data.in_memory else f"{size(data.bytes)}, not held in memory"
    return (
        f"{size(data.bytes)}, which the first run downloads"
        if data.bytes
        else "the first run downloads them"
    )


def _batches(count: int) -> str:
    return f"{grouped(count)} batch" if count == 1 else f"{grouped(count)} batches"


@dataclass(frozen=True, slots=True)
class Pairing:
    """An array of the data, with the input or the output of the model that it is for."""

    part: str
    given: ArrayFacts | None
    end: ArrayFacts | None
    learnt: Learnt | None = None
    own_step: str = ""
    """The method of the model's own that is given the array, whatever it does with it."""

    @property
    def name(self) -> str:
        """The array's path in the data: `x/left`."""
        return "/".join((self.part, *map(str, self.given.path))) if self.given else ""


def pairings_of(data: DataFacts, model: ModelFacts) -> tuple[Pairing, ...]:
    """Return which input each array of a sample is for, and which output each target.

    Nothing for one input and one output, of which `fit_of` says all.
    """
    if not data.nested and len(model.inputs) < 2 and len(model.outputs) < 2:
        return ()
    if model.own_steps:
        given = (("x", each) for each in data.inputs), (("y", each) for each in data.targets)
        return tuple(
            Pairing(part, each, None, own_step=model.own_steps[0]) for part, each in chain(*given)
        )
    learners = model.learners
    inward = (Pairing("x", *pair) for pair in paired(data.inputs, model.inputs))
    outward = (
        Pairing("y", given, end, learners.get(end.name) if end else None)
        for given, end in paired(data.targets, model.outputs)
    )
    return (*inward, *outward)


class PairingsModel(PlainTable[Pairing]):
    """A row for each input and each output of the model, and what the data have for it."""

    headers = ("Data", "Given", "Model", "Takes or gives", "Learnt by")

    def key(self, row: Pairing) -> tuple[str, str]:
        """Both names."""
        return row.name, row.end.name if row.end else ""

    def text(self, row: Pairing, column: int) -> str:
        """The words of a cell."""
        return (
            row.name or "nothing",
            _array_in_words(row.given),
            row.end.name if row.end else _taken_by(row),
            _array_in_words(row.end),
            _learnt_in_words(row),
        )[column]


def _array_in_words(array: ArrayFacts | None) -> str:
    if array is None:
        return ""
    if array.dtype == "string":
        return f"{shape_in_words(array.shape)}, texts" if array.shape else "one text"
    return f"{shape_in_words(array.shape)}, {array.dtype}{array.divided}"


def _taken_by(row: Pairing) -> str:
    return f"its own {row.own_step}" if row.own_step else "nothing"


def _learnt_in_words(row: Pairing) -> str:
    return row.learnt.loss.replace("_", " ") if row.learnt else ""


_MOST_WIDTHS, _MOST_SHAPES = 7, 3


class LayersModel(PlainTable[GraphLayer]):
    """A row for each layer, in the order in which they run.

    `ticked(name, trained)` is the user's wish for a layer that has something to train.
    """

    headers = ("Training", "Layer", "Class", "Output", "Parameters", "Memory", "FLOP")
    right = frozenset({4, 5, 6})
    ticked = Signal(str, bool)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.frozen: Mapping[str, bool] = {}
        """Of the layers that have something to train, which the plan leaves as they are."""

    def show_frozen(self, frozen: Mapping[str, bool]) -> None:
        """Show these as frozen or trained."""
        if frozen != self.frozen:
            self.frozen = dict(frozen)
            if self.rows:
                self.dataChanged.emit(self.index(0, 0), self.index(len(self.rows) - 1, 0))

    def key(self, row: GraphLayer) -> str:
        """The layer's name."""
        return row.name

    def flags(self, index: Index) -> Qt.ItemFlag:
        """What has something to train can be ticked."""
        able = index.isValid() and self.rows[index.row()].name in self.frozen
        box = Qt.ItemFlag.ItemIsUserCheckable if able else Qt.ItemFlag.NoItemFlags
        return super().flags(index) | (box if index.column() == 0 else Qt.ItemFlag.NoItemFlags)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """The words of a cell, and the box of the first."""
        if role == Qt.ItemDataRole.ToolTipRole and index.isValid() and index.column() == 4:
            return _parameters_in_words(self.rows[index.row()])
        if not index.isValid() or index.column() > 0:
            return super().data(index, role)
        frozen = self.frozen.get(self.rows[index.row()].name)
        if role == Qt.ItemDataRole.CheckStateRole and frozen is not None:
            return (Qt.CheckState.Unchecked if frozen else Qt.CheckState.Checked).value
        if role == Qt.ItemDataRole.ToolTipRole:
            return _TICKS[frozen]
        return super().data(index, role)

    def setData(  # noqa: N802 - Qt's name
        self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole
    ) -> bool:
        """Tell the wish; the plan decides what is shown."""
        if role != Qt.ItemDataRole.CheckStateRole:
            return False
        wished = value in (Qt.CheckState.Checked, Qt.CheckState.Checked.value)
        self.ticked.emit(self.rows[index.row()].name, wished)
        return True

    def text(self, row: GraphLayer, column: int) -> str:
        """The words of a cell."""
        work = flops(row.flops_forward).removesuffix("FLOP").rstrip()
        return (
            {None: "nothing", True: "frozen", False: "trained"}[self.frozen.get(row.name)],
            row.name,
            row.kind,
            shape_in_words(row.output_shape),
            grouped(row.parameters),
            size(row.weight_bytes),
            work if _are_counted(self.rows) else "–",
        )[column]

    def order(self, row: GraphLayer, column: int) -> Any:
        """Sort numbers by their size."""
        return {4: row.parameters, 5: row.weight_bytes, 6: row.flops_forward}.get(
            column, self.text(row, column)
        )


def _parameters_in_words(layer: GraphLayer) -> str:
    rest = layer.parameters - layer.trainable
    if not rest or layer.frozen:
        return ""
    return f"{grouped(layer.trainable)} can be trained, {grouped(rest)} cannot, such as averages"


_TICKS = {
    None: "Nothing to train",
    True: "Frozen: training leaves it as it is. Space ticks the selected layers.",
    False: "Trained. Unticked, it is frozen. Space unticks the selected layers.",
}


def shape_in_words(shape: Sequence[int | None]) -> str:
    """Return one sample's shape: `28 × 28 × 1`.

    An axis of any length is `any`, a single number `one number`.
    """
    return (
        " × ".join("any" if axis is None else grouped(axis) for axis in shape)
        if shape
        else "one number"
    )


def model_in_short(model: ModelFacts) -> str:
    """Return a sample's width from layer to layer, or how many inputs and outputs there are."""
    if len(model.inputs) > 1 or len(model.outputs) > 1:
        given, made = len(model.inputs), len(model.outputs)
        return f"{plural(given, 'input')} → {plural(made, 'output')}"
    return widths(model.graph) if model.graph else ""


def widths(graph: ModelGraph) -> str:
    """Return a sample's width from layer to layer: `28 × 28 × 1 → 256 → 256 → 10`.

    Layers without weights are left out, and so is the middle of a long chain, equal widths first.
    Where whole pictures go from layer to layer, only the first and last shapes fit.
    """
    changing = (layer for layer in graph.layers if layer.parameters and layer.output_shape)
    shapes = [graph.input_shape, *(layer.output_shape for layer in changing)]
    names = [shape_in_words(shape) for shape in shapes]
    pictures = sum(len(shape) > 1 for shape in shapes) > 1
    if pictures and len(names) > _MOST_SHAPES:
        names = [names[0], "…", names[-1]]
    if len(names) > _MOST_WIDTHS:
        names = [each for _, same in groupby(names) for each in _ends(list(same))]
    if len(names) > _MOST_WIDTHS:
        names = [*names[:3], "…", *names[-3:]]
    return " → ".join(names).replace("… → …", "…")


def _ends(same: list[str]) -> list[str]:
    return same if len(same) <= 2 else [same[0], "…"]


def _are_counted(layers: Sequence[GraphLayer]) -> bool:
    """Whether operations were counted: not of a model that trains by a step of its own."""
    return any(layer.flops_forward for layer in layers)


def totals(graph: ModelGraph, own_steps: Sequence[str] = ()) -> str:
    """Return the totals of all layers: parameters, bytes, and operations per sample.

    `own_steps` are the model's own methods that train it.
    """
    weights = sum(layer.weight_bytes for layer in graph.layers)
    forward = sum(layer.flops_forward for layer in graph.layers)
    work = f" · {flops(forward)} a sample" if _are_counted(graph.layers) else ""
    frozen = sum(layer.parameters for layer in graph.layers if layer.frozen)
    rest = graph.parameters - graph.trainable - frozen
    counts = {"trained": graph.trainable, "frozen": frozen, "not trainable": rest}
    parts = [f"{grouped(count)} {word}" for word, count in counts.items() if count]
    split = f" ({', '.join(parts)})" if frozen or rest else ""
    every = f"{grouped(graph.parameters)} parameters{split}"
    own = f" · trained by its own {listed(own_steps)}" if own_steps else ""
    return f"{every} · {size(weights)}{work}{own}"


def frozen_in(graph: ModelGraph, entries: Sequence[str]) -> Mapping[str, bool]:
    """Return which layers these entries of `model.frozen` freeze, of those that can be trained."""
    return frozen_layers(entries, made_so(graph))


def made_so(graph: ModelGraph) -> dict[str, bool]:
    """Return the layers that can be trained, and whether the model itself has them frozen."""
    able = (layer for layer in graph.layers if layer.trainable or layer.frozen)
    return {layer.name: layer.made_frozen for layer in able if layer.parameters}
