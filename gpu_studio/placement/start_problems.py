"""Problems that a run would find only at its start, reported beforehand by what its plan says.

They are what the trainer refuses once it has the data, the built model and its metrics.
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter

from gpu_studio.common.figures import grouped
from gpu_studio.placement.plan_facts import DataFacts, ModelFacts, PlanFacts
from gpu_studio.plan import (
    Machine,
    Named,
    Placed,
    Plan,
    Problem,
    listed,
    reference,
    replica_count,
    replicas,
    shown,
    strategy_of,
)
from gpu_studio.plan.catalogue import SCHEDULES, needs_length, steps_of
from gpu_studio.plan.keras_objects import AS_COMPILED, VALIDATION
from gpu_studio.plan.rules.start_rules import (
    never_ends,
    parts_in_words,
    read_to_their_ends,
    unkept,
    unmeasured,
)


def problems_at_start(plan: Plan, facts: PlanFacts, machine: Machine | None) -> Iterator[Problem]:
    """What keeps a plan from training that its data and its model show; not their own errors."""
    data, model = facts.data, facts.model
    if data is not None and data.here:
        yield from _lengths(plan, data)
        yield from _lacking(plan, data)
        yield from [] if facts.refused else _missing(plan, data)
        yield from _warm_up(plan, data, machine)
    if model is not None:
        yield from model.xla.problems(plan)
    if model is not None and not facts.refused:
        yield from _beside_own_steps(plan, model)
        yield from _scaled(plan, model, machine)
        yield from _unkept(plan, model, data, machine)
        yield from _monitors(plan, model, data)


def _lengths(plan: Plan, data: DataFacts) -> Iterator[Problem]:
    """A stream that is to end has an end, and a schedule by the epoch an epoch of known length."""
    training, schedule = plan.training, plan.training.schedule
    if not data.streamed or training.steps_per_epoch:
        return
    if never_ends(endless=data.endless, steps=training.steps_per_epoch):
        advice = (
            f"{data.name} gives {data.streamed}, and an epoch would never end: give the number of "
            "batches of an epoch, or let the data end"
        )
        yield Problem("training.steps_per_epoch", "0", advice)
    elif data.of_unknown_length and schedule is not None:
        advice = (
            f"it goes by the length of an epoch, and {data.name} gives {data.streamed}: set "
            "training.steps_per_epoch, or give the schedule its steps"
        )
        found = Problem("training.schedule", schedule.name, advice)
        yield from [found] if needs_length(schedule.name, schedule.options) else []


def _lacking(plan: Plan, data: DataFacts) -> Iterator[Problem]:
    """No built-in model masks or replaces what is no number."""
    for words in data.lacking if plan.model.name is not None else ():
        advice = (
            f"in {data.name}, {words.removesuffix('.')}; the loss would be no number, either: "
            "fill them in, or drop those samples"
        )
        yield Problem("model.name", shown(plan.model.name), advice)


def _missing(plan: Plan, data: DataFacts) -> Iterator[Problem]:
    """No loss of Keras' makes a number of targets that are none."""
    loss, built_in = plan.training.loss.name, plan.model.name is not None
    as_compiled = loss in AS_COMPILED or (loss == "auto" and not built_in)
    if plan.training.outputs or as_compiled or reference(loss) is not None:
        return
    for target in data.targets:
        if target.missing is None:
            continue
        called = "/".join(map(str, ("y", *target.path)))
        advice = (
            f"in {data.name}, {called} holds values that are no finite numbers, first in sample "
            f"{target.missing}; the loss would be no number, either: fill them in, drop those "
            "samples, or learn by a loss of your own that leaves them out"
        )
        yield Problem("training.loss", shown(loss), advice)


def _warm_up(plan: Plan, data: DataFacts, machine: Machine | None) -> Iterator[Problem]:
    """The learning rate's warm-up ends before the training does."""
    training, schedule = plan.training, plan.training.schedule
    if schedule is None or data.streamed or not data.train:
        return
    batch = training.batch_size
    if training.batch_scope == "replica":
        if machine is None:
            return
        batch *= max(1, len(replicas(plan, machine)))
    steps = min(data.steps(batch), training.steps_per_epoch or data.train)
    epochs = training.first_epochs
    taken = _warm_up_steps(schedule, steps)
    if taken >= steps * epochs > 0:
        all_of_it = f"{grouped(taken)} steps of {grouped(steps * epochs)}"
        yield Problem(
            "training.schedule", f"warming up for {all_of_it}", "shorten it, or train for longer"
        )


def _warm_up_steps(schedule: Named, steps_per_epoch: int) -> int:
    """The steps of a schedule's warm-up; 0 if it has none, or its options are wrong."""
    entry = SCHEDULES.get(schedule.name)
    if entry is None or entry.problems("", schedule.options):
        return 0
    asked = entry.values(schedule.options)
    return steps_of(asked, "warmup", steps_per_epoch) if "warmup_steps" in asked else 0


def _beside_own_steps(plan: Plan, model: ModelFacts) -> Iterator[Problem]:
    """A model with steps of its own leaves no room for later phases."""
    if model.own_steps and plan.training.phases:
        why = (
            "a phase begins with a new optimizer, and the model has its own "
            f"{model.own_steps[0]}, which decides by itself what it uses: leave the phases out, "
            "or train a second plan that begins with its weights"
        )
        yield Problem("training.phases", "given", why)


def _scaled(plan: Plan, model: ModelFacts, machine: Machine | None) -> Iterator[Problem]:
    """Keras scales no loss where replicas share their variables."""
    if not strategy_of(plan).has_parameter_device or model.policy != "mixed_float16":
        return
    if machine is not None and len(replicas(plan, machine)) > 1:
        advice = (
            "on this card it computes in float16, which Keras cannot under this strategy: choose "
            '"mirrored", or leave mixed precision out'
        )
        yield Problem("training.mixed_precision", "true", advice)


def _unkept(
    plan: Plan, model: ModelFacts, data: DataFacts | None, machine: Machine | None
) -> Iterator[Problem]:
    """A layer that keeps states from batch to batch has one for each sample of every batch."""
    if model.states is None or machine is None:
        return
    streamed = data is not None and bool(data.streamed)
    samples = {}
    if data is not None and data.here and not streamed:
        samples = read_to_their_ends(plan.training, data.train, data.validation, data.test)
    batch = 0 if streamed else plan.training.batch_size
    found = unkept(model.states, _apart(plan, machine), batch, samples)
    if found is not None:
        value = attrgetter(found.field)(plan)
        yield Problem(found.field, shown(value), f"{found.why}: {found.advice}")


def _apart(plan: Plan, machine: Machine) -> str:
    """The parts that a batch is cut into, in words; empty if it stays whole."""
    chosen = strategy_of(plan)
    if chosen.places_layers:
        return parts_in_words((plan.distribution.placed or Placed()).micro_batches, "micro-batches")
    return parts_in_words(replica_count(plan, machine), "replicas", served=chosen.serves)


def _monitors(plan: Plan, model: ModelFacts, data: DataFacts | None) -> Iterator[Problem]:
    """What is monitored is measured, on a split that is there."""
    validated = data is None or bool(data.streamed) or data.validation > 0
    for each in unmeasured(plan.training, model.measures, validated=validated):
        known = [VALIDATION + name for name in model.measures if validated]
        advice = (
            f"nothing is validated: set data.validation_fraction above 0, or monitor {each.name}"
            if each.split
            else f"nothing measures it: choose {listed([*model.measures, *known], 'or')}"
        )
        yield Problem(each.field, shown(each.monitor), advice)
