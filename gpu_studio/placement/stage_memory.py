"""The memory of a device in a training step: one formula for both prediction and search.

`at_once` micro-batches are in progress, and of those that are finished the sum of their gradients
is held. A card takes them in turn, and so holds the activations of as many as there are devices
from it on (1F1B, `turns_at_once`). On logical CPUs the executor starts each as soon as it can
(GPipe's order, Huang et al. 2019), so that the activations of all of them may be held.

What this omits is known for the whole model, whose step is simulated (`rehearsal`): see
`with_beyond`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gpu_studio.placement.in_turn import IN_TURN, TURNS
from gpu_studio.placement.step_memory import StepMemory
from gpu_studio.placement.work import Array

Amount = float | Array


def at_once(devices: int, cores: int = 0) -> int:
    """How many micro-batches the trainer processes at once if this many devices have layers.

    Enough to keep all devices busy while one micro-batch passes through all of them and back
    (PipeDream, Narayanan et al. 2019, section 3.2), and one more for uneven stages; on logical CPUs
    as many as the `cores` that they share.
    """
    return max(4, devices + 1, cores)


def turns_at_once(devices: Sequence[Sequence[str]]) -> dict[str, int]:
    """How many micro-batches each card holds at once, given the devices of each layer in turn.

    As many as there are devices from this one on: one micro-batch takes no longer through all of
    them and back than the slowest takes for that many, so that none waits (1F1B, Narayanan et al.
    2021, arXiv:2104.04473, section 2.2). Logical CPUs and devices with parts of split layers are
    left out: they hold what is under way.
    """
    found: dict[str, int] = {}
    behind: set[str] = set()
    for some in reversed(devices):
        behind.update(some)
        found |= dict.fromkeys(some, len(behind))
    split = {device for some in devices for device in some if len(some) > 1}
    return {
        device: count
        for device, count in found.items()
        if not device.startswith("CPU") and device not in split
    }


def arrived_at_once(turns: int) -> int:
    """Of how many micro-batches a card has the inputs, if it holds so many at once.

    One that holds a single one is sent the next meanwhile.
    """
    return max(2, turns)


def samples_at_once(batch: int, micro_batches: int, under_way: int) -> int:
    """How many samples of a batch are in progress, if this many micro-batches may be."""
    return min(batch, -(-batch // micro_batches) * under_way)


@dataclass(frozen=True, slots=True)
class Step:
    """A batch in micro-batches, of which `under_way` may be in progress at once.

    They are `in_turn` on a card: one goes back after the other, so that only its gradients and the
    sum of those before are there. `beyond` are the bytes that the whole model holds besides what
    `StageMemory` gives, on its way forward and back, and `beyond_updating` those with its updates;
    `margin` is the factor by which its fullest moment may differ.
    """

    batch: int
    micro_batches: int = 1
    under_way: int = 1
    in_turn: bool = False
    beyond: float = 0.0
    beyond_updating: float = 0.0
    margin: float = 1.0

    @property
    def part(self) -> int:
        """Samples of a micro-batch."""
        return -(-self.batch // self.micro_batches)

    @property
    def samples(self) -> int:
        """The samples that are in progress at once."""
        return samples_at_once(self.batch, self.micro_batches, self.under_way)

    @property
    def summed(self) -> int:
        """The most gradients of a variable at once: those of micro-batches, and their sum."""
        return min(self.micro_batches, 1 + (1 if self.in_turn else self.under_way))

    @property
    def returning(self) -> int:
        """The samples that are in progress while a gradient waits to be sent back; 0 if none can.

        It is so on a card that takes turns: it sends the first at once, and each other
        when the card before it has gone back with the one before. So one waits while the third
        micro-batch goes back at the earliest, and as long as it does, no other is taken in for it.
        """
        count = min(self.under_way - 1, self.micro_batches - 2) if self.in_turn else 0
        return samples_at_once(self.batch, self.micro_batches, max(0, count))

    @property
    def beside(self) -> int:
        """The samples whose activations are there when two gradients of a variable are added.

        A card has then taken in the next micro-batches, while the second goes back.
        """
        ahead = min(self.under_way - 1, self.micro_batches - 2) if self.in_turn else 0
        return samples_at_once(self.batch, self.micro_batches, 1 + max(0, ahead))

    @property
    def arrived_beside(self) -> int:
        """Those whose inputs are there then: of a card that holds one the next is sent ahead."""
        ahead = min(arrived_at_once(self.under_way) - 1, self.micro_batches - 2)
        sent = 1 + max(0, ahead) if self.in_turn else 1
        return max(self.beside, samples_at_once(self.batch, self.micro_batches, sent))

    @property
    def arrived(self) -> int:
        """The samples whose inputs may lie here at once: in progress, or sent ahead."""
        return samples_at_once(self.batch, self.micro_batches, arrived_at_once(self.under_way))


@dataclass(frozen=True, slots=True)
class WayBack:
    """The layers of a card, in order, through which the gradients of a micro-batch go back.

    In bytes per sample: `kept` is what each keeps; `around` the most that is held while it is
    computed, besides what the layers before it keep; `kernels` the same while its kernels run that
    need scratch memory, each with that, in bytes, the least samples for which it needs it, and how
    much more is held beside it if what comes back outlives its use: of shape (layers, kernels, 4).
    `gradients` are those of its weights, in bytes. `coming` is the gradient that comes for it from
    another card, `doubled` what of that comes once more, and `outlived` how much more is held
    around it if that outlives its use. All others are of shape (layers,).
    """

    kept: Array
    around: Array
    kernels: Array
    gradients: Array
    coming: Array
    outlived: Array
    doubled: Array

    def moments(self, part: int) -> Array:
        """What is held while each layer is computed, less the `gradients` of all; shape (layers,).

        A micro-batch has `part` samples. What the layers behind it kept is gone by then, and the
        gradients of its own and of their weights are there. What comes from another card is in the
        hands of the thread that receives it until that is through (`SameWorkerRecvDone`): nothing
        is written over it meanwhile, and it may still be there when the layers before are computed.
        """
        alone = np.where(self.coming > 0, self.alone(part, late=True), self.alone(part))
        late = behind(self.coming) + self.doubled
        held = np.cumsum(self.gradients) - self.gradients
        return np.asarray(alone + part * late - held, np.float64)

    def alone(self, part: int, *, late: bool = False) -> Array:
        """What is held while each layer is computed, if nothing comes for the layers behind it.

        What comes back to itself may be there `late`: it comes from elsewhere.
        """
        before = part * (np.cumsum(self.kept) - self.kept)
        return np.asarray(before + self.beside(part, late=late), np.float64)

    def beside(self, part: int, *, late: bool = False) -> Array:
        """The same besides what the layers before each keep."""
        beside, scratch, least, outlived = np.moveaxis(self.kernels, -1, 0)
        needing = part * (beside + late * outlived) + np.where(part >= least, scratch, 0.0)
        around = part * (self.around + late * self.outlived)
        return np.asarray(np.maximum(around, needing.max(axis=-1, initial=0.0)), np.float64)


def behind(values: Array) -> Array:
    """The sums of `values` behind each, along the last axis."""
    return np.asarray(np.cumsum(values[..., ::-1], axis=-1)[..., ::-1] - values, np.float64)


@dataclass(frozen=True, slots=True)
class StageMemory:
    """What is on a device, in bytes: of one stage, or of many in arrays of one shape.

    `taken`, `received`, `kept`, `passing` and `again` are per sample. `taken` is the model's input,
    if a layer takes it; `received` what comes from other devices, of which what is `brief` is not
    needed by the backward pass, the largest tensor of it `lingering`, and `forward` what of that a
    micro-batch holds on its way forward at most, beyond all that it keeps; `waiting` what is made
    for others and not kept, of which what is `skipping` goes further than to the next device;
    `returned` the gradients that are sent back; `kept` what else the backward pass needs; `passing`
    the largest output and its gradient, held briefly and for one micro-batch at a time, as is
    `again`, the recomputed activations; `updating` is what the optimizer needs besides the
    gradients when the activations are gone: on a card, which begins the updates of all layers
    before it ends the first, as much again; on a CPU what it takes to update the largest layer.
    `share` is the part of the model that is here. `zeros` are those to which loops on a card add
    gradients: they wait for nothing, so that those of all micro-batches lie there from the
    beginning of a step. `joined` is what is made here, for others, of outputs that meet here, and
    `met` what comes for it and its gradient needs. `came` is the largest gradient that comes from
    elsewhere, `rows` are the gradients of rows of weights that are looked up, per sample, and
    `shapes` what a micro-batch keeps of the shapes that its loops compute, in bytes.
    """

    gradients: Amount = 0.0
    taken: Amount = 0.0
    kept: Amount = 0.0
    passing: Amount = 0.0
    again: Amount = 0.0
    updating: Amount = 0.0
    share: Amount = 1.0
    received: Amount = 0.0
    brief: Amount = 0.0
    lingering: Amount = 0.0
    waiting: Amount = 0.0
    skipping: Amount = 0.0
    forward: Amount = 0.0
    returned: Amount = 0.0
    zeros: Amount = 0.0
    joined: Amount = 0.0
    met: Amount = 0.0
    came: Amount = 0.0
    rows: Amount = 0.0
    shapes: Amount = 0.0

    def step_bytes(self, step: Step, going_back: Amount | None = None) -> Array:
        """The memory of a step besides weights and slots, at the largest of six moments.

        These are: the start, when all micro-batches that may come have arrived; the first backward
        pass, when all activations of the micro-batches in progress are held; their end, when the
        gradients of those that go back at once are about to be added to the sum; the third
        backward pass, when the gradient before may wait to be sent back; the update; and,
        where outputs meet for others, when the last of them does. `going_back` is what the
        micro-batch holds that goes back, with its gradients, at its fullest moment, if that is
        known layer by layer (`WayBack`).
        """
        if going_back is None:
            going_back = (self.kept + self.passing + self.again) * step.part + self.gradients
        if _any(self.zeros):  # the gradients of two micro-batches are counted below
            going_back = going_back + self.zeros * max(0, step.micro_batches - 2)
        arriving = self.received * step.arrived
        backward = self._held(step, step.samples, step.arrived)
        sums = self.gradients * (step.summed - 1)
        # Until then the last of them still has its activations, as have those that are under way.
        arrived = step.arrived_beside
        alike = step.beside == step.samples and arrived == step.arrived
        summing = sums + (backward if alike else self._held(step, step.beside, arrived))
        # What the last micro-batch sends back may still wait when the update begins.
        sent = self.returned * step.part
        if step.returning:
            waits = sums + self._held(step, step.returning, step.returning) + sent
            summing = np.maximum(summing, waits)
        updates = self.gradients + self.updating + sent + self._beside_updates(step)
        updating = np.maximum(updates, arriving)
        fullest = np.maximum(np.maximum(backward, summing) + going_back, self._met(step))
        if _any(self.shapes):
            fullest = fullest + self.shapes * min(step.micro_batches, step.under_way)
        passing, updated = step.margin * fullest, step.margin * updating
        if step.beyond or step.beyond_updating:
            passing = passing + self.share * step.beyond
            updated = updated + self.share * step.beyond_updating
        held = np.maximum(passing, updated)
        return np.asarray(held + self.taken * step.batch if _any(self.taken) else held, np.float64)

    def _held(self, step: Step, samples: int, arrived: int) -> Amount:
        """What is held besides the micro-batch that goes back, with so many `samples` in progress.

        Of so many the inputs have `arrived`. What of these no gradient needs lies here of those
        that are sent ahead.
        """
        others = max(0, samples - step.part)
        needed = self.received * arrived
        if _any(self.brief):
            brief = self.brief * max(0, arrived - samples) + self._lingering(step)
            needed = (self.received - self.brief) * arrived + brief
        return needed + self.kept * others + self._crossing(step, others) if others else needed

    def _beside_updates(self, step: Step) -> Amount:
        """What updates begin beside: what a thread may have yet, or rows and their squares.

        The thread that received what came back last goes on to the updates, and may have that yet.
        Rows are there of the whole batch; of both, weights' changes are made that are larger.
        """
        received = np.maximum(self._lingering(step), self.came * step.part)
        return np.maximum(received, 2 * self.rows * step.batch)

    def _lingering(self, step: Step) -> Amount:
        """A tensor that the thread which received it may have yet (`SameWorkerRecvDone`).

        A batch in one piece goes back soon, and is soon through.
        """
        return self.lingering * step.part if step.micro_batches == 1 else 0.0

    def _met(self, step: Step) -> Amount:
        """What is held when outputs meet; all that is kept may be there before the last comes."""
        if not np.any(self.joined):
            return 0.0
        brief = self.brief * max(step.part, step.arrived - step.samples)
        held = (self.received - self.brief) * step.arrived + brief + self.kept * step.samples
        held = held + self.joined * step.part + self._crossing(step, step.samples - step.part)
        return np.where(np.asarray(self.joined) > 0, held, 0.0)

    def _crossing(self, step: Step, others: int) -> Amount:
        """What is passed on while one micro-batch goes back beside so many `others` samples.

        Of what is made for others one waits to be sent, as the next card takes in one micro-batch
        fewer than this one; what goes further than to the next may wait of all. One of the others
        may be on its way forward: its output does not wait yet. Devices that take no turns may be
        ahead with all outputs, or behind with a gradient: in a row only one of the two can be. What
        outputs of the others meet is there as long as its gradient needs it, and else of one.
        """
        some = min(step.part, others)
        if step.in_turn:
            one = np.maximum(self.waiting, self.forward)
            crossing = one * some + self.skipping * (others - some)
        else:
            crossing = np.maximum(self.waiting * others, self.returned * some)
        if not np.any(self.joined):
            return crossing
        met = self.met * others + np.maximum(0.0, self.brief - self.met) * some
        found: Array = crossing + np.where(np.asarray(self.joined) > 0, met, 0.0)
        return found


def _any(amount: Amount) -> bool:
    """Whether there may be any: the most common amounts are none, and cost nothing to add."""
    return isinstance(amount, np.ndarray) or amount != 0


def with_beyond(
    step: Step,
    whole: StageMemory,
    going_back: float | None,
    steps: Mapping[str, StepMemory],
    at_work: int,
) -> Step:
    """The step with what the formula omits, if `running` micro-batches are computed at once.

    A step of the `whole` model is simulated operation by operation (`rehearsed`), with the
    allocator's overhead; of several micro-batches on a card some that it takes in turn. What it
    holds beyond the formula was omitted by it: for example the gradients that wait in a recurrent
    layer's loop. `going_back` is None on a CPU.
    """
    kind = "CPU" if going_back is None else "GPU"

    def beyond(rehearsed: StepMemory, turns: int) -> float:
        alone = replace(step, batch=turns * step.part, micro_batches=turns, under_way=1)
        known = float(whole.step_bytes(alone, going_back))
        return at_work * max(0.0, rehearsed.peak(step.part) - known)

    updating = beyond(steps.get(kind, StepMemory()), 1)
    cut = kind == "GPU" and step.micro_batches > 1 and IN_TURN in steps
    passing = beyond(steps[IN_TURN], TURNS) if cut else updating
    return replace(step, beyond=passing, beyond_updating=updating)


def running(micro_batches: int, under_way: int, cores: int) -> int:
    """How many micro-batches are computed at one moment: one on a card, one per core on CPUs."""
    return max(1, min(micro_batches, under_way, cores))


def shares(kept: Array, gradients: Array, samples: int) -> Array:
    """Each layer's share of what the model holds: `kept` for so many `samples`, and `gradients`."""
    held = kept * samples + gradients
    total = held.sum()
    return np.asarray(
        held / total if total else np.full(len(held), 1 / max(1, len(held))), np.float64
    )
