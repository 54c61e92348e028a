"""Tables over all blocks of neighbouring layers, as candidates for a stage, and their memory.

A table has shape (layers + 1, layers + 1): entry [e, b] is for the block of layers b … e - 1,
so that a row holds the blocks with the same end. [b, b] is the empty block. Entries with b
greater than e are undefined. Tables need not be complete: a piece has some of the rows, and of
these the columns from `begin` on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from gpu_studio.placement.stage_memory import (
    StageMemory,
    Step,
    WayBack,
    running,
    samples_at_once,
    shares,
    with_beyond,
)
from gpu_studio.placement.step_memory import ON_CARD
from gpu_studio.placement.work import Array, Work

AT_ONCE = 64
"""Rows of a table that are processed together: few enough to stay in the processor's cache."""


def before(values: Array) -> Array:
    """Prefix sums of `values` (layers,): the sum before each layer, and finally the total."""
    return np.concatenate(([0.0], np.cumsum(values)))


def pieces(layers: int) -> Iterator[range]:
    """The rows of a table, in groups that are processed together."""
    for first in range(0, layers + 1, AT_ONCE):
        yield range(first, min(layers + 1, first + AT_ONCE))


def sums(prefix: Array, ends: range, begin: int = 0) -> Array:
    """A piece of the table of sums over blocks, from the prefix sums that `before` returns."""
    return prefix[ends.start : ends.stop, None] - prefix[begin : ends.stop]


def maxima(values: Array, ends: range, begin: int = 0) -> Array:
    """A piece of the table of the maximum of the non-negative `values` (layers,) in each block."""
    # Put each layer into the row that ends with it, and all earlier ones into the first row: each
    # row then takes the maximum of the rows above it.
    last = np.broadcast_to(values[np.array(ends) - 1, None], (len(ends), ends.stop - begin))
    piece = np.tril(last, ends.start - begin - 1)
    piece[0, : ends.start - begin] = np.maximum.accumulate(values[begin : ends.start][::-1])[::-1]
    np.maximum.accumulate(piece, axis=0, out=piece)
    return piece


Through = Sequence[Sequence[tuple[int, int]]]
"""For each layer what it takes through layers that pass it on: the maker, and the first of them."""


def entering(
    work: Work,
    sizes: Array,
    through: Through = (),
    meets: Sequence[Mapping[int, int]] = (),
    met: Sequence[Sequence[int]] = (),
) -> Array:
    """The table of the bytes that enter each block from other layers.

    Layer l outputs `sizes[l]` bytes. What `meets` another one enters with it, except a block that
    contains the other. A tensor that several layers of a block need enters it once,
    even if it skips blocks on its way: TensorFlow sends each tensor once to each device that needs
    it. The output of a layer that is used in several places may come from behind, as may one of
    those that are `met` by each layer's.
    """
    layers = len(sizes)
    none: Sequence[tuple[()]] = ((),) * layers
    through, later = list(through or none), list(work.later or none)
    for here, others in enumerate(met):
        through[here] = (*through[here], *((each, here) for each in others if each < here))
        later[here] = (*later[here], *(each for each in others if each > here))
    changes: list[list[tuple[int, int, float]]] = [[] for _ in range(layers + 2)]
    ahead = _entries(work.inputs, through, meets, from_behind=False)
    for producer, first, here, taker in ahead:
        changes[taker + 1].append((first, here + 1, float(sizes[producer])))
    last: dict[int, int] = {}
    for producer, first, _, taker in _entries(later, (), (), from_behind=True):
        changes[taker + 1].append((first, taker + 1, float(sizes[producer])))
        last[producer] = taker
    # A block that ends after the producer either contains it or begins after it.
    for producer, taker in last.items():
        changes[producer + 1].append((0, taker + 1, -float(sizes[producer])))
    table = np.zeros((layers + 1, layers + 1))
    row = np.zeros(layers + 1)
    for end in range(1, layers + 1):
        for first, stop, size in changes[end]:
            row[first:stop] += size
        table[end] = row
    return table


def _entries(
    inputs: Sequence[Sequence[int]],
    through: Through,
    meets: Sequence[Mapping[int, int]],
    *,
    from_behind: bool,
) -> Iterator[tuple[int, int, int, int]]:
    """Yield (producer, first, last, taker): it enters blocks that begin from `first` to `last`.

    They end with `taker` or later, which takes it, and `last` is the same unless it is passed on
    or meets another one. A block that begins earlier contains the producer, or an earlier taker for
    which the output has already entered.
    """
    begins: dict[int, int] = {}
    for taker, producers in enumerate(inputs):
        met = meets[taker] if meets else {}
        direct = ((producer, met.get(producer, taker)) for producer in dict.fromkeys(producers))
        for producer, last in (*direct, *(through[taker] if through else ())):
            first = begins.get(producer, 0 if from_behind else producer + 1)
            if first <= last:
                yield producer, first, last, taker
                begins[producer] = last + 1


def _through(work: Work) -> Through:
    """What each layer whose backward pass needs it takes through others that pass it on.

    Those keep nothing, although it is needed behind them: it is the memory of the one they take.
    """
    later = work.later or ((),) * len(work.inputs)
    every = [(*some, *others) for some, others in zip(work.inputs, later, strict=True)]
    passing_on = [
        len(some) == 1 and not kept for some, kept in zip(every, work.kept_bytes, strict=True)
    ]
    before: list[list[tuple[int, int]]] = []
    for producers in work.inputs:
        found = []
        for via in producers:
            if passing_on[via]:
                found += [(each, via) for each in work.inputs[via]]
                found += [(each, first) for each, first in before[via]]
        before.append(found)
    return [each if keeps else [] for each, keeps in zip(before, work.keeps_inputs, strict=True)]


def leaving(work: Work, sizes: Array, *, further: bool = False, alone: bool = False) -> Array:
    """The table of the bytes that each block makes for layers elsewhere; sizes as in `entering`.

    With `further` only what others need than the first layer behind the block; `alone` only what
    no layer of the block takes.
    """
    layers = len(sizes)
    last, first = _last_and_first(work, (work.inputs, work.later, work.met()))
    behind, ahead = _nearest(work) if alone else ([layers] * layers, [-1] * layers)
    table = np.zeros((layers + 1, layers + 1))
    for producer, size in enumerate(sizes):
        stop, end = max(producer + 1, last[producer] + (not further)), behind[producer] + 1
        table[producer + 1 : min(stop, end), ahead[producer] + 1 : producer + 1] += size
        begin = max(first[producer], ahead[producer]) + 1
        table[stop:end, begin : producer + 1] += size
    return table


def _last_and_first(
    work: Work, takes: Sequence[Sequence[Sequence[int]]]
) -> tuple[list[int], list[int]]:
    """The last and the first layer that takes the output of each, or itself."""
    last, first = list(range(len(work.inputs))), list(range(len(work.inputs)))
    for inputs in takes:
        for taker, producers in enumerate(inputs):
            for producer in producers:
                last[producer] = max(last[producer], taker)
                first[producer] = min(first[producer], taker)
    return last, first


def _nearest(work: Work) -> tuple[list[int], list[int]]:
    """The nearest layers behind and ahead of each that take its output."""
    layers = len(work.inputs)
    behind, ahead = [layers] * layers, [-1] * layers
    for inputs in (work.inputs, work.later):
        for taker, producers in enumerate(inputs):
            for producer in producers:
                if taker > producer:
                    behind[producer] = min(behind[producer], taker)
                else:
                    ahead[producer] = max(ahead[producer], taker)
    return behind, ahead


def lending(work: Work) -> Array:
    """The table of the bytes that each block keeps only for layers elsewhere, which have copies."""
    behind, ahead = _nearest(work)
    table = np.zeros((len(behind) + 1, len(behind) + 1))
    for producer, size in enumerate(work.lent_bytes):
        table[producer + 1 : behind[producer] + 1, ahead[producer] + 1 : producer + 1] += size
    return table


def on_the_way(work: Work, brief: Array) -> Array:
    """The table of what a micro-batch holds at most on its way forward beyond what blocks keep.

    When a layer is computed, there is what it does not keep, and what comes for those behind it and
    is not kept, and not what these keep.
    """
    kept, places = before(work.kept_bytes), np.arange(len(brief))
    ahead = work.forward_bytes[:, None] if len(work.forward_bytes) else 0.0
    held = np.full_like(brief, -np.inf)
    gone = np.minimum(brief[:-1], brief[1:] - ahead)
    begun = np.where(places[:-1, None] >= places, kept[1:, None] - gone, -np.inf)
    held[1:] = np.maximum.accumulate(begun)
    return np.maximum(0.0, brief + held - kept[:, None])


def coming(work: Work) -> Array:
    """The table of the gradients that come for each layer of the blocks that end with each row.

    Entry [e, l] is that for layer l, if another one takes its output that is not before layer e;
    where an earlier one takes it, too, it comes in any case.
    """
    layers = len(work.inputs)
    table = np.zeros((layers + 1, layers))
    for inputs in (work.inputs, work.later):
        for taker, producers in enumerate(inputs):
            for producer in producers:
                rows = slice(producer + 1, taker + 1 if taker > producer else None)
                table[rows, producer] = work.output_bytes[producer]
    return table


def passing_over(work: Work) -> Array:
    """The table of the gradients that pass each block by; see `between_devices.skips`."""
    table = np.zeros((len(work.inputs) + 1, len(work.inputs) + 1))
    for size, first, last in work.skips:
        table[: last + 1, first + 1 :] += size
    return table


@dataclass(frozen=True, slots=True)
class BlockMemory:
    """What blocks hold, where so many bytes a sample enter each (a table).

    Of these the backward pass does not need those that are `brief`. What blocks make for others and
    do not keep is `waiting` to be sent, and what is `skipping` of it goes further than to the next;
    `forward` as in `StageMemory`; `lent` is what they keep for others alone; `joined` is of it what
    they make of outputs that meet, and `met` what enters for that and is needed. `coming` and
    `over` are the gradients that come from others, and that pass by. So many micro-batches are
    `under_way` at once, if a device does not hold fewer. With `recompute` stages keep what enters
    them, and compute the rest again.
    """

    work: Work
    entering: Array
    brief: Array
    waiting: Array
    skipping: Array
    forward: Array
    lent: Array
    under_way: int
    joined: Array
    met: Array
    coming: Array
    over: Array
    recompute: bool = False
    _made: dict[tuple[range, int, bool], StageMemory] = field(default_factory=dict)
    _back: dict[tuple[range, int, int], Array] = field(default_factory=dict)

    @classmethod
    def of(cls, work: Work, under_way: int, *, recompute: bool = False) -> BlockMemory:
        """What blocks of this work hold."""
        every = entering(work, work.output_bytes, meets=work.meets, met=work.met())
        brief, none = np.zeros_like(every), ((),) * len(work.inputs)
        if not recompute and not (all(work.keeps_inputs) and not any(work.met())):
            kept = [
                tuple(
                    () if not keeps else each
                    for keeps, each in zip(work.keeps_inputs, some, strict=True)
                )
                for some in (work.inputs, work.later or ((),) * len(work.inputs))
            ]
            needed = replace(work, inputs=kept[0], later=kept[1])
            brief = every - entering(needed, work.output_bytes, _through(work), work.meets)
        meeting = np.array([each.bytes for each in work.meetings] or [0])
        lasts = work.output_kept_bytes if len(work.output_kept_bytes) and not recompute else 0.0
        unkept = np.maximum(meeting, work.output_bytes - lasts)
        joined = leaving(work, np.broadcast_to(meeting, unkept.shape))
        met = np.zeros_like(every)
        if not recompute and any(work.met(kept=True)):
            alone = replace(work, inputs=none, later=none)
            met = entering(alone, work.output_bytes, met=work.met(kept=True))
        waits, further = leaving(work, unkept), leaving(work, unkept, further=True)
        lent = np.zeros_like(every)
        if not recompute and work.lent_bytes.any():
            lent = lending(work)
            waits += leaving(work, work.lent_bytes, alone=True)
            further += leaving(work, work.lent_bytes, further=True, alone=True)
        forward = np.zeros_like(every) if recompute else on_the_way(work, brief)
        comes, over = coming(work), passing_over(work)
        made = (waits, further, forward, lent, under_way, joined, met, comes, over)
        return cls(work, every, brief, *made, recompute)

    def at_least(self, micro_batches: int) -> Array:
        """What each layer adds at least to any block, summed up as `before` does."""
        samples = samples_at_once(self.work.batch, micro_batches, 1)
        lasting = self.work.state_bytes - self.work.gradient_bytes
        return before(lasting + self.work.kept_bytes * samples)

    def piece(self, micro_batches: int, ends: range, begin: int = 0, *, turns: int = 0) -> Array:
        """The bytes held by the blocks that end in `ends` and begin at `begin` or later.

        They are on a card that holds so many micro-batches in `turns`, where a tensor from
        elsewhere takes memory of its own; on a CPU if it is 0.
        """
        copied = turns > 0
        key = ends, begin, copied
        # Most of it is the same however many micro-batches there are.
        stage = (
            self._made[key]
            if key in self._made
            else self._made.setdefault(key, self._stage(ends, begin, copied))
        )
        lasting: Array = sums(before(self.work.state_bytes - self.work.gradient_bytes), ends, begin)
        under_way = min(self.under_way, turns) if copied else self.under_way
        step = Step(self.work.batch, micro_batches, under_way, copied)
        # A device that others have no tensors copied to is a CPU, and how many cores there are is
        # not known here.
        at_work = running(micro_batches, under_way, 1 if copied else under_way)
        step = _step_on("GPU" if copied else "CPU", step, self.work, at_work)
        going_back = self._going_back(step.part, ends, begin) if copied else None
        return lasting + stage.step_bytes(step, going_back)

    def _going_back(self, part: int, ends: range, begin: int) -> Array:
        """What a micro-batch on its way back holds in a block on a card, at its fullest moment."""
        key = ends, begin, part
        if key not in self._back:  # it is the same for all turns, which are asked for in a row
            self._back.clear()
            self._back[key] = self._gone_back(part, ends, begin)
        return self._back[key]

    def _gone_back(self, part: int, ends: range, begin: int) -> Array:
        work, rows = self.work, slice(ends.start, ends.stop)
        moments = np.full((len(ends), ends.stop), -np.inf)
        known = _way_back(work, self.coming[rows], ends.stop).moments(part)
        moments[:, : known.shape[1]] = known
        # None of a layer that is not in the block; and of each the fullest of it and those behind.
        moments[np.arange(ends.stop) >= np.array(ends)[:, None]] = -np.inf
        fullest = np.maximum.accumulate(moments[:, ::-1], axis=1)[:, ::-1]
        if work.spared_bytes.any() and not self.recompute:
            # What the first layer takes is a copy.
            known -= part * work.spared_bytes[: ends.stop]
            fullest[:, :-1] = fullest[:, 1:]
            fullest[:, -1] = -np.inf
            of_layers = np.arange(known.shape[1]) < np.array(ends)[:, None]
            known = np.where(of_layers, known, -np.inf)
            fullest[:, : known.shape[1]] = np.maximum(fullest[:, : known.shape[1]], known)
        fullest = fullest[:, begin:]
        fullest = fullest - part * self.over[rows, begin : ends.stop]
        ahead = part * before(work.kept_bytes)[begin : ends.stop]
        gradients = before(work.gradient_bytes)[rows, None]
        # The gradient of what came in is made here, and sent back.
        last = sums(before(work.gradient_bytes), ends, begin)
        last = last + part * self.entering[rows, begin : ends.stop]
        found: Array = np.maximum(fullest - ahead + gradients, last)
        return found

    def _stage(self, ends: range, begin: int, copied: bool) -> StageMemory:
        def here(values: Array) -> Array | float:
            some = values[ends.start : ends.stop, begin : ends.stop]
            return some if copied and some.any() else 0.0  # which costs nothing to count with

        work, gradients = self.work, sums(before(self.work.gradient_bytes), ends, begin)
        kept = sums(before(work.kept_bytes), ends, begin)
        enters = self.entering[ends.start : ends.stop, begin : ends.stop]
        taken: Array | float = 0.0
        if work.taken_bytes[begin : ends.stop].any():
            taken = maxima(work.taken_bytes, ends, begin)
        adds_up = copied and len(work.added_up_bytes)
        # What a CPU keeps when it computes again are tensors of other stages.
        kept_here = (0.0 if copied else enters) if self.recompute else kept - here(self.lent)
        return StageMemory(
            gradients=gradients,
            taken=0.0 if copied else taken,
            received=enters + taken if copied else 0.0,
            brief=here(self.brief),
            waiting=here(self.waiting),
            forward=here(self.forward),
            skipping=here(self.skipping),
            returned=enters if copied else 0.0,
            joined=here(self.joined),
            met=here(self.met),
            kept=kept_here,
            passing=0.0 if copied else maxima(work.passing_bytes, ends, begin),
            again=kept if self.recompute and not copied else 0.0,
            updating=gradients if copied else maxima(2 * work.gradient_bytes, ends, begin),
            zeros=sums(before(work.added_up_bytes), ends, begin) if adds_up else 0.0,
            share=sums(
                before(shares(work.kept_bytes, work.gradient_bytes, work.batch)), ends, begin
            ),
        )


def _way_back(work: Work, comes: Array | None = None, count: int | None = None) -> WayBack:
    """The way back through the first `count` layers, for which gradients come from elsewhere."""
    layers = len(work.kept_bytes)
    around = work.around_bytes if len(work.around_bytes) else work.kept_bytes + work.passing_bytes
    return WayBack(
        work.kept_bytes[:count],
        around[:count],
        (work.kernels if len(work.kernels) else np.zeros((layers, 0, 3)))[:count],
        work.gradient_bytes[:count],
        np.zeros(layers)[:count] if comes is None else comes[:, :count],
        (work.outlived_bytes if len(work.outlived_bytes) else np.zeros(layers))[:count],
    )


def replica_bytes(work: Work, replicas: int = 1) -> float:
    """What a card holds that has the whole model, and its part of the batch in one piece."""
    lasting = float(work.state_bytes.sum() - work.gradient_bytes.sum())
    step = _step_on("GPU", Step(-(-work.batch // replicas)), work, 1)
    return lasting + float(_whole(work, "GPU").step_bytes(step, _whole_way_back(work, step)))


def _whole_way_back(work: Work, step: Step) -> float:
    moments = _way_back(work).moments(step.part)
    return float(moments.max(initial=0.0) + work.gradient_bytes.sum())


def _whole(work: Work, kind: str) -> StageMemory:
    gradients = work.gradient_bytes
    return StageMemory(
        gradients=gradients.sum(),
        taken=0.0 if kind == "GPU" else work.taken_bytes.max(initial=0.0),
        received=work.taken_bytes.max(initial=0.0) if kind == "GPU" else 0.0,
        kept=work.kept_bytes.sum(),
        passing=work.passing_bytes.max(initial=0.0),
        updating=gradients.sum() if kind == "GPU" else 2 * gradients.max(initial=0.0),
    )


def _step_on(kind: str, step: Step, work: Work, at_work: int) -> Step:
    """The step, with what a device of this `kind` holds beyond the formula.

    `at_work` is how many micro-batches it computes at once.
    """
    step = replace(step, margin=ON_CARD if kind == "GPU" else 1.0)
    going_back = _whole_way_back(work, step) if kind == "GPU" else None
    return with_beyond(step, _whole(work, kind), going_back, work.rehearsed, at_work)
