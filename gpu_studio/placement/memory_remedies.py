"""Changes of a plan against want of memory, each offered only if the prediction says that it helps.

First those that train the same: memory for the device that lacks it, and smaller parts of a batch.
Then a smaller batch, lower precision, another device, all devices together, and the CPU.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from itertools import islice

from gpu_studio.common.figures import grouped, whole_mib
from gpu_studio.placement.given_batches import given_batch
from gpu_studio.placement.memory import predict
from gpu_studio.placement.plan_facts import PlanFacts
from gpu_studio.plan import (
    CPU,
    MIB,
    ONE_DEVICE,
    PLACED,
    Carve,
    Distribution,
    Machine,
    Placed,
    Plan,
    PlannedDevice,
    Remedy,
    changing,
    logical_devices,
    physical_name,
    placement_of,
    replica_count,
    strategy_of,
    validate,
)
from gpu_studio.plan.card_memory import now_mib

MARGIN = 0.5
"""The share of a prediction that must be left over where a run has found no memory before.

Memory that is nearly full is in pieces: what is free is not what one tensor can have. In which
pieces hangs on when the next batch arrives: 200 steps of models with convolutions needed up to 1.44
times what is predicted, by TensorFlow's allocator on practice cards.
"""
MORE = 0.5
"""The share that a slice gets beyond its prediction of memory that no slice has, as far as it goes.

What kernels take for a moment is not known exactly, and what nobody has is missed by nobody.
"""
LEFT_MIB = 64
"""What a slice keeps that gives memory away, if it had as much, however little it needs itself."""
MOST_PARTS = 64
"""Micro-batches that are offered, at most."""
FILLS = 24
"""Degrees of filling that are tried when layers are dealt out over devices."""
FactsOf = Callable[[Plan], PlanFacts | None]


class Needs:
    """What plans like `plan` need on each device, with a margin and with what a run has shown.

    `shown` is what a device has proved to need at least, in bytes, where memory ran out. The rest
    of the prediction is then too low by as much there, on a device that takes its place, and on
    each other replica that is predicted to need as much. What is advised beside a prediction, as
    for cuDNN on a real card, is needed too, so that nothing is offered that may lack memory again,
    unless they are `unadvised`.
    """

    def __init__(
        self,
        plan: Plan,
        machine: Machine,
        facts: PlanFacts,
        *,
        margin: float = 0.0,
        shown: Mapping[str, int] | None = None,
    ) -> None:
        self.plan, self.machine, self.facts = plan, machine, facts
        self._margin, self.advised = margin, True
        self._problems = len(validate(plan, machine))
        foreseen = {each.device: each.total for each in predict(plan, machine, facts)}
        more = {
            name: max(0, least - round(foreseen.get(name, 0) * (1 + margin)))
            for name, least in (shown or {}).items()
        }
        self._elsewhere = max(more.values(), default=0)
        self._more = {
            name: _lacking(name, foreseen, more, alike=not strategy_of(plan).places_layers)
            for name in {*more, *(name for name, total in foreseen.items() if total)}
        }

    def unadvised(self) -> Needs:
        """The same needs without what is only advised: a small card may never have that."""
        needs = copy(self)
        needs.advised = False
        return needs

    def of(self, plan: Plan, facts: PlanFacts | None = None) -> dict[str, int]:
        """The bytes that each logical device of `plan` needs; nothing where none is used."""
        memories = predict(plan, self.machine, facts or self.facts)
        return {
            each.device: self._need(each.device, each.total, each.room_bytes) for each in memories
        }

    def fit(self, plan: Plan, facts: PlanFacts | None = None) -> bool:
        """Whether `plan` is sound, and fits into what its devices have, as far as that is known."""
        memories = predict(plan, self.machine, facts or self.facts)
        limits = ((each, each.usable_bytes) for each in memories)
        fitting = all(
            usable is None or self._need(each.device, each.total, each.room_bytes) <= usable
            for each, usable in limits
        )
        return bool(memories) and fitting and self._is_sound(plan)

    def _is_sound(self, plan: Plan) -> bool:
        return len(validate(plan, self.machine)) <= self._problems

    def weights_alone(self, device: str) -> tuple[int, int] | None:
        """The bytes of the weights on `device`, and those it has, if not even they fit."""
        for each in predict(self.plan, self.machine, self.facts):
            usable = each.usable_bytes
            if each.device == device and usable is not None and each.weights.bytes > usable:
                return each.weights.bytes, usable
        return None

    def _need(self, device: str, total: int, advised: int) -> int:
        if not total and device not in self._more:
            return 0
        more = self._more.get(device, self._elsewhere)
        return round(total * (1 + self._margin)) + max(more, advised if self.advised else 0)


def _lacking(
    device: str, foreseen: Mapping[str, int], more: Mapping[str, int], *, alike: bool
) -> int:
    """The bytes that `device` needs beyond its prediction: what it has shown, and others `alike`.

    Replicas do the same, so that what one has shown to need each needs that is not foreseen to need
    less.
    """
    most = foreseen.get(device, 0)
    others = [each for name, each in more.items() if alike and foreseen.get(name, 0) <= most]
    return max(more.get(device, 0), *others, 0)


def memory_remedies(needs: Needs, facts_of: FactsOf = lambda _plan: None) -> Iterator[Remedy]:
    """Every change that makes the plan fit, the one that changes the training least first.

    `facts_of` tells of the same plan with lower precision; without it that is not offered.
    """
    yield from larger_slices(needs)
    yield from [*_smaller(needs, facts_of)] or _smaller(needs.unadvised(), facts_of)
    yield from _on_another(needs)
    yield from _dealt_out(needs)
    if any(name.startswith("GPU") and size for name, size in needs.of(needs.plan).items()):
        yield _alone(needs.plan, CPU, "the CPU")


def _smaller(needs: Needs, facts_of: FactsOf) -> Iterator[Remedy]:
    """What needs less memory at a time, on the same devices."""
    yield from _smaller_parts(needs)
    yield from smaller_batch(needs)
    yield from _lower_precision(needs, facts_of)


def larger_slices(needs: Needs) -> Iterator[Remedy]:
    """More memory for the slices that lack some, from their card and from its other slices."""
    plan, machine = needs.plan, needs.machine
    wanted = needs.of(plan)
    logical = logical_devices(plan, machine)
    carves, labels = list(plan.devices.carve), []
    for index, carve in enumerate(carves):
        mine = [each for each in logical if each.physical == physical_name(carve.device, machine)]
        if carve.device != CPU and len(mine) == len(carve.slices_mib):
            card = _SlicesOfCard(mine, wanted, _free_mib(carve, machine))
            if card.changed:
                carves[index] = replace(carve, slices_mib=tuple(card.sizes))
                labels.append(card.label)
    remedy = changing("; ".join(labels), "devices", carve=tuple(carves))
    if labels and needs.fit(remedy.make(plan)):
        yield remedy


def _free_mib(carve: Carve, machine: Machine) -> int:
    """What no slice has of a card, as far as that is known."""
    card = machine.card(carve.device)
    free = now_mib(card, carved=True) if card is not None else None
    return 0 if free is None else max(0, free - sum(carve.slices_mib))


class _SlicesOfCard:
    """The slices of a card, each as large as it need be; unchanged if that cannot be."""

    def __init__(
        self, slices: Sequence[PlannedDevice], wanted: Mapping[str, int], free_mib: int
    ) -> None:
        self._names = [each.name for each in slices]
        self._before = [each.limit_mib or 0 for each in slices]
        self.sizes = list(self._before)
        self._least = [-(-wanted.get(name, 0) // MIB) for name in self._names]
        lacking = sum(self._lack)
        self._from_card = min(lacking, free_mib)
        left = lacking - self._from_card
        self._least = self._with_more(free_mib - lacking)
        spare = [max(0, size - self._kept(place)) for place, size in enumerate(self.sizes)]
        if lacking and left <= sum(spare):
            self.sizes = [size + lack for size, lack in zip(self.sizes, self._lack, strict=True)]
            # The one with the most to spare gives first, so that as few as can be are touched.
            for place in sorted(range(len(spare)), key=lambda place: -spare[place]):
                given = min(left, spare[place])
                self.sizes[place] -= given
                left -= given

    def _with_more(self, over_mib: int) -> list[int]:
        """What the slices that lack memory get if so much is over, which no slice has."""
        want = [
            round(MORE * least) if lack else 0
            for least, lack in zip(self._least, self._lack, strict=True)
        ]
        share = min(1.0, max(0, over_mib) / max(1, sum(want)))
        return [least + int(more * share) for least, more in zip(self._least, want, strict=True)]

    @property
    def _lack(self) -> list[int]:
        pairs = zip(self._least, self._before, strict=True)
        return [max(0, least - size) for least, size in pairs]

    def _kept(self, place: int) -> int:
        return max(self._least[place], min(self._before[place], LEFT_MIB))

    @property
    def changed(self) -> bool:
        return self.sizes != self._before

    @property
    def label(self) -> str:
        more = [place for place, lack in enumerate(self._lack) if lack]
        givers = [
            name
            for name, before, after in zip(self._names, self._before, self.sizes, strict=True)
            if after < before
        ]
        if len(more) > 1 or len(givers) > 1 or (givers and self._from_card):
            return f"Slices of {', '.join(map(whole_mib, self.sizes))}"
        grown = whole_mib(self._lack[more[0]])
        source = f"{grown} of {givers[0]}" if givers else f"{grown} more"
        return f"Give {self._names[more[0]]} {source}"


def _smaller_parts(needs: Needs) -> Iterator[Remedy]:
    """More micro-batches, or activations computed again: of a placed model only."""
    placed = placement_of(needs.plan)
    if placed is None:
        return
    most = min(MOST_PARTS, needs.plan.training.batch_size)
    again = _with_placed("Recompute activations", recompute=True)
    counts = (placed.micro_batches << power for power in range(1, MOST_PARTS.bit_length()))
    more = [
        _with_placed(f"{count} micro-batches", micro_batches=count)
        for count in counts
        if count <= most
    ]
    yield from islice((each for each in more if needs.fit(each.make(needs.plan))), 1)
    if not placed.recompute and needs.fit(again.make(needs.plan)):
        yield again


def _with_placed(label: str, **values: object) -> Remedy:
    return changing(label, "distribution.placed", **values)


def smaller_batch(needs: Needs) -> Iterator[Remedy]:
    """The largest smaller batch that fits, out of doublings of one sample per replica.

    None where the data come in batches of their own, which the plan cannot make smaller.
    """
    plan, data = needs.plan, needs.facts.data
    if data is not None and given_batch(data.streamed):
        return
    count = max(1, replica_count(plan, needs.machine))
    each_has = plan.training.batch_scope == "replica"
    whole = plan.training.batch_size * (count if each_has else 1)
    batches = [count << power for power in range(31) if count << power < whole]

    def remedy(batch: int) -> Remedy:
        size = batch // count if each_has else batch
        return changing(f"Batch {grouped(size)}", "training", batch_size=size)

    fitting = bisect_left(batches, True, key=lambda batch: not needs.fit(remedy(batch).make(plan)))
    if fitting:
        yield remedy(batches[fitting - 1])


def _lower_precision(needs: Needs, facts_of: FactsOf) -> Iterator[Remedy]:
    remedy = changing("Mixed precision", "training", mixed_precision=True)
    if needs.plan.training.mixed_precision:
        return
    mended = remedy.make(needs.plan)
    facts = facts_of(mended)
    if facts is not None and needs.fit(mended, facts):
        yield remedy


def _on_another(needs: Needs) -> Iterator[Remedy]:
    """Training on one card, or slice of one, that has the memory: the first that fits."""
    logical = logical_devices(needs.plan, needs.machine)
    names = [each.name for each in logical if each.name.startswith("GPU")]
    changes = (_alone(needs.plan, name, name) for name in names)
    yield from islice((way for way in changes if needs.fit(way.make(needs.plan))), 1)


def _alone(plan: Plan, device: str, title: str) -> Remedy:
    only = replace(ONE_DEVICE.instead_of(plan.distribution), devices=(device,))
    return changing(f"Train on {title}", "", distribution=only)


def _dealt_out(needs: Needs) -> Iterator[Remedy]:
    """The layers, in their order, over all devices of the cards, each as full as the others."""
    limits = {
        each.device: each.usable_bytes
        for each in predict(needs.plan, needs.machine, needs.facts)
        if each.device.startswith("GPU") and each.usable_bytes
    }
    model, graph = needs.facts.model, needs.facts.graph
    if model is None or graph is None or len(limits) < 2:
        return
    before = placement_of(needs.plan) or Placed()
    batch = needs.plan.training.batch_size
    sizes = {
        layer.name: layer.weight_bytes
        + model.slots.get(layer.name, 0)
        + layer.trainable_bytes
        + layer.kept_bytes * batch
        for layer in graph.layers
    }
    label = "Place the layers anew" if placement_of(needs.plan) else "Spread the layers"
    for parts in dict.fromkeys((before.micro_batches, 2, 4, 8)):
        for step in range(1, FILLS + 1):
            layers = _filled(sizes, limits, sum(sizes.values()) / sum(limits.values()) * step / 4)
            placed = Placed(layers=layers, micro_batches=parts, recompute=before.recompute)
            way = changing(
                label, "", distribution=Distribution(PLACED.name, tuple(limits), placed=placed)
            )
            if needs.fit(way.make(needs.plan)):
                yield way
                return


def _filled(
    sizes: Mapping[str, int], limits: Mapping[str, int], share: float
) -> dict[str, tuple[str, ...]]:
    """The layers in order, each device filled to this share of its limit, and the last one more."""
    names, held = list(limits), 0
    found: dict[str, tuple[str, ...]] = {}
    for layer, size in sizes.items():
        while len(names) > 1 and held and held + size > share * limits[names[0]]:
            names.pop(0)
            held = 0
        found[layer] = (names[0],)
        held += size
    return found
