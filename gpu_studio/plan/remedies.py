"""Find the remedy of a problem: an edit of the plan, offered only if it solves the problem."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import Any, TypeVar

from gpu_studio.common.figures import grouped, plural
from gpu_studio.plan.carving import equal_slices
from gpu_studio.plan.catalogue import DATA, MODELS, OPTIMIZERS, SCHEDULES
from gpu_studio.plan.devices import CPU, Machine, replica_count, replicas, visible_cards
from gpu_studio.plan.edits.cluster import set_cluster
from gpu_studio.plan.edits.visibility import only_on
from gpu_studio.plan.edits.visibility import without as without_cards
from gpu_studio.plan.keras_objects import LOSSES, METRICS
from gpu_studio.plan.options import (
    CHECKPOINT_LIMITS,
    CLUSTER_LIMITS,
    DATA_LIMITS,
    EARLY_STOPPING_LIMITS,
    PLACED_LIMITS,
    TRAINING_LIMITS,
    Option,
    nearest,
)
from gpu_studio.plan.rules.training_rules import measured
from gpu_studio.plan.starter import starter
from gpu_studio.plan.strategies import MIRRORED, NONE, strategy_of
from gpu_studio.plan.validation import RULES
from gpu_studio.plan.values import (
    Carve,
    Distribution,
    Named,
    Plan,
    Problem,
    Remedy,
    changing,
    shown,
)

LONGEST_KEY = 20
Value = TypeVar("Value")


def index_in(problem: Problem, values: tuple[Any, ...]) -> int | None:
    """The index in the first brackets of the problem's field; None if `values` does not have it."""
    number = problem.field.partition("[")[2].partition("]")[0]
    return int(number) if number.isdecimal() and int(number) < len(values) else None


def without(values: tuple[Value, ...], index: int) -> tuple[Value, ...]:
    """`values` without the one at `index`."""
    return values[:index] + values[index + 1 :]


def put(values: tuple[Value, ...], index: int, value: Value) -> tuple[Value, ...]:
    """`values` with the one at `index` replaced."""
    return (*values[:index], value, *values[index + 1 :])


def left(problem: Problem, options: Mapping[str, Any]) -> dict[str, Any]:
    """`options` without the one that the problem is about."""
    return {key: value for key, value in options.items() if key != problem.field.rpartition(".")[2]}


def leave_out(problem: Problem) -> str:
    """The label of the button that removes an option."""
    key = problem.field.rpartition(".")[2]
    return f"Leave {key} out" if len(key) <= LONGEST_KEY else "Leave it out"


def visible(problem: Problem, plan: Plan, machine: Machine) -> Iterator[Remedy]:
    """Hide what does not answer; else remove the name."""
    lost = [card for card in visible_cards(plan.devices, machine) if card.lost]
    if lost:
        label = "Hide it" if len(lost) == 1 else "Hide them"
        yield Remedy(
            label, lambda changed: without_cards(changed, machine, [card.device for card in lost])
        )
    seen = visible_cards(plan.devices, machine)
    first = next((card for card in seen if card.instance), None)
    if first is not None and len(seen) > 1:
        yield Remedy(f"Use {first.title} alone", partial(only_on, first))
    names = plan.devices.visible
    index = index_in(problem, names)
    if index is not None:
        yield changing(f"Take {shown(names[index])} out", "devices", visible=without(names, index))
    if strategy_of(plan).serves:
        yield changing("Compute on the CPU", "devices", visible=())


def growth(_problem: Problem, _plan: Plan, _machine: Machine) -> Iterator[Remedy]:
    """Keep the carve, which is more specific."""
    yield changing("Do not grow", "devices", memory_growth=False)


def carve(problem: Problem, plan: Plan, machine: Machine) -> Iterator[Remedy]:
    """As many slices as fit; or no slices."""
    carves = plan.devices.carve
    index = index_in(problem, carves)
    if index is None:
        return
    one = carves[index]
    if one.slices_mib and (one.device == CPU or machine.card(one.device)):
        fitting = Carve(one.device, equal_slices(one.device, len(one.slices_mib), machine))
        label = "No limits" if one.device == CPU else "Share what is free"
        yield changing(label, "devices", carve=put(carves, index, fitting))
    yield changing(
        f"Leave {machine.title(one.device)} whole", "devices", carve=without(carves, index)
    )


def strategy(_problem: Problem, plan: Plan, machine: Machine) -> Iterator[Remedy]:
    """Mirrored where there are several devices for it, else none."""
    several = len(replicas(replace(plan, distribution=Distribution(MIRRORED.name)), machine)) > 1
    for usual in (MIRRORED, NONE) if several else (NONE,):
        alone = Distribution(usual.name)
        yield changing(f"Use {usual.title}", "", distribution=alone, cluster=None)


def devices(problem: Problem, plan: Plan, _machine: Machine) -> Iterator[Remedy]:
    """Remove one name; keep as many as the strategy uses; each once; or use all there are."""
    names, used = plan.distribution.devices, strategy_of(plan).devices
    index = index_in(problem, names)
    if index is not None and len(names) > 1:
        yield changing(
            f"Take {shown(names[index])} out", "distribution", devices=without(names, index)
        )
    if used == "one" and names:
        yield changing(f"Use {shown(names[0])}", "distribution", devices=names[:1])
    yield changing("Name each once", "distribution", devices=tuple(dict.fromkeys(names)))
    label = "Use all devices" if used in ("many", "choice") else "Use the first device"
    yield changing(label, "distribution", devices=())


def parameter_device(_problem: Problem, _plan: Plan, _machine: Machine) -> Iterator[Remedy]:
    """Leave it to the trainer, or remove it for a strategy that has none."""
    yield changing("Leave it out", "distribution", parameter_device=None)


def all_reduce(_problem: Problem, _plan: Plan, _machine: Machine) -> Iterator[Remedy]:
    """The one that suits the devices."""
    yield changing("Use auto", "distribution", all_reduce="auto")


def placed(_problem: Problem, plan: Plan, _machine: Machine) -> Iterator[Remedy]:
    """Remove a placement that the strategy does not use.

    If it is used, only a person can fix it.
    """
    if not strategy_of(plan).places_layers:
        yield changing("Leave the placement out", "distribution", placed=None)


def with_fewer(_problem: Problem, _plan: Plan, _machine: Machine) -> Iterator[Remedy]:
    """Let a lost worker end the run."""
    yield changing("Never with fewer", "cluster", with_fewer=False)


def updates(_problem: Problem, _plan: Plan, _machine: Machine) -> Iterator[Remedy]:
    """What workers do that are equals."""
    yield changing("Leave it out", "cluster", updates="async")


def start(_problem: Problem, _plan: Plan, _machine: Machine) -> Iterator[Remedy]:
    """Start the workers here."""
    yield changing("Start them here", "cluster", start="local")


def cluster(_problem: Problem, plan: Plan, machine: Machine) -> Iterator[Remedy]:
    """Remove the part that the strategy does not use; or as many workers as can be."""
    if not strategy_of(plan).clusters:
        yield changing("Leave the cluster out", "", cluster=None)
    for count in range(len(visible_cards(plan.devices, machine)), 0, -1):
        yield Remedy(f"Use {plural(count, 'worker')}", partial(set_cluster, workers=count))


def model_name(_problem: Problem, plan: Plan, _machine: Machine) -> Iterator[Remedy]:
    """The nearest built-in, else the first that suits the data.

    With the given options, else without.
    """
    names = _likely(plan.model.name, MODELS)
    yield from (changing(f"Use {name}", "model", name=name) for name in names)
    yield from (changing(f"Use {name}", "model", name=name, options={}) for name in names)


def data_name(_problem: Problem, plan: Plan, machine: Machine) -> Iterator[Remedy]:
    """The nearest built-in, else the data of the starter plan."""
    usual = starter(machine).data.name
    for name in _likely(plan.data.name, DATA)[:1] if plan.data.name else [usual]:
        yield changing(f"Use {name}", "data", name=name)
    yield changing(f"Use {usual}", "data", name=usual, options={})


def model_option(problem: Problem, plan: Plan, _machine: Machine) -> Iterator[Remedy]:
    """Remove the option."""
    yield changing(leave_out(problem), "model", options=left(problem, plan.model.options))


def data_option(problem: Problem, plan: Plan, _machine: Machine) -> Iterator[Remedy]:
    """Remove the option."""
    yield changing(leave_out(problem), "data", options=left(problem, plan.data.options))


def split(_problem: Problem, _plan: Plan, _machine: Machine) -> Iterator[Remedy]:
    """Draw the samples at random."""
    yield changing("Split at random", "data", split="random", groups=None)


def groups(problem: Problem, _plan: Plan, _machine: Machine) -> Iterator[Remedy]:
    """Split by the groups, or remove them."""
    yield changing("Split by group", "data", split="grouped")
    yield changing(leave_out(problem), "data", groups=None)


def _likely(name: str | None, known: Iterable[str]) -> list[str]:
    names = list(known)
    close = nearest(name, names) if name else None
    return list(dict.fromkeys([close, *names])) if close else names


def batch(_problem: Problem, plan: Plan, machine: Machine) -> Iterator[Remedy]:
    """One sample for each replica."""
    count = max(1, replica_count(plan, machine))
    yield changing(f"Use {grouped(count)}", "training", batch_size=count)


def jit_compile(_problem: Problem, _plan: Plan, _machine: Machine) -> Iterator[Remedy]:
    """What the strategy or the layers do not allow is left out with "auto"."""
    yield changing("Train without XLA", "training", jit_compile="auto")


def optimizer_option(problem: Problem, plan: Plan, _machine: Machine) -> Iterator[Remedy]:
    """Remove the option; or all of them."""
    yield changing(leave_out(problem), "training", options=left(problem, plan.training.options))
    yield changing("Leave the options out", "training", options={})


def optimizer(_problem: Problem, plan: Plan, _machine: Machine) -> Iterator[Remedy]:
    """The nearest name."""
    name = nearest(plan.training.optimizer, OPTIMIZERS) or "adam"
    yield changing(f"Use {name}", "training", optimizer=name)
    yield changing("Use adam", "training", optimizer="adam")


def schedule(_problem: Problem, plan: Plan, _machine: Machine) -> Iterator[Remedy]:
    """The nearest name; or the defaults of this schedule; or none."""
    chosen = plan.training.schedule
    if chosen is None:
        return
    close = nearest(chosen.name, SCHEDULES)
    if close and close != chosen.name:
        yield changing(f"Use {close}", "training", schedule=Named(close, chosen.options))
    yield changing("Use its defaults", "training", schedule=Named(chosen.name))
    yield changing("No schedule", "training", schedule=None)


def loss(_problem: Problem, plan: Plan, _machine: Machine) -> Iterator[Remedy]:
    """The nearest name; or the loss that suits the data."""
    close = nearest(plan.training.loss.name, LOSSES)
    if close:
        yield changing(f"Use {close}", "training", loss=Named(close, plan.training.loss.options))
    yield changing("Use auto", "training", loss=Named("auto"))


def metric(problem: Problem, plan: Plan, _machine: Machine) -> Iterator[Remedy]:
    """The nearest name; or remove it."""
    metrics = plan.training.metrics
    index = index_in(problem, metrics)
    if index is None:
        return
    close = nearest(metrics[index].name, METRICS)
    if close:
        named = put(metrics, index, Named(close, metrics[index].options))
        yield changing(f"Use {close}", "training", metrics=named)
    yield changing("Leave it out", "training", metrics=without(metrics, index))


def stopping_monitor(_problem: Problem, plan: Plan, _machine: Machine) -> Iterator[Remedy]:
    """The loss, of the validation samples if there are any."""
    rule = plan.training.early_stopping
    if rule is not None:
        for name in _losses(plan):
            yield changing(
                f"Monitor {name}", "training", early_stopping=replace(rule, monitor=name)
            )


def checkpoint_monitor(_problem: Problem, plan: Plan, _machine: Machine) -> Iterator[Remedy]:
    """The loss, of the validation samples if there are any."""
    yield from (
        changing(f"Monitor {name}", "training.checkpoint", monitor=name) for name in _losses(plan)
    )


def _losses(plan: Plan) -> list[str]:
    return [name for name in ("val_loss", "loss") if name in measured(plan)]


Remedies = Callable[[Problem, Plan, Machine], Iterator[Remedy]]


def mend_of(problem: Problem, plan: Plan, machine: Machine) -> Remedy | None:
    """The first remedy that solves the problem and leaves fewer of them; None if there is none.

    Problems that the rules do not find themselves (a file that is not there) have none.
    """
    (mend,) = mends_of((problem,), plan, machine)
    return mend


def mends_of(
    problems: Sequence[Problem], plan: Plan, machine: Machine
) -> tuple[Remedy | None, ...]:
    """The remedy of each of the plan's problems, as in `mend_of`."""
    before = Findings(plan, machine)
    return tuple(before.mend_of(problem) for problem in problems)


class Findings:
    """Each rule's findings in a plan, so that only rules that read a changed part run again."""

    def __init__(self, plan: Plan, machine: Machine) -> None:
        self._plan, self._machine = plan, machine
        self._found = [tuple(rule(plan, machine)) for _, rule in RULES]
        self._count = sum(map(len, self._found))

    def mend_of(self, problem: Problem) -> Remedy | None:
        """The first remedy that solves the problem and leaves fewer of them.

        None if there is none.
        """
        if not any(problem in found for found in self._found):
            return None
        known = (remedies for field, remedies in REMEDIES if _is_in(problem.field, field))
        mends = (mend for each in known for mend in each(problem, self._plan, self._machine))
        return next(
            (mend for mend in mends if self._is_mended(mend.make(self._plan), problem)), None
        )

    def _is_mended(self, mended: Plan, problem: Problem) -> bool:
        # Unchanged parts are the same objects: comparing values would cost more than it saves.
        changed = {
            part
            for part in Plan.__slots__
            if getattr(mended, part) is not getattr(self._plan, part)
        }
        count = 0
        for (reads, rule), found in zip(RULES, self._found, strict=True):
            after = found if reads.isdisjoint(changed) else tuple(rule(mended, self._machine))
            count += len(after)
            if count >= self._count or problem in after:
                return False
        return True


def _is_in(field: str, whole: str) -> bool:
    return field == whole or field.startswith((f"{whole}.", f"{whole}["))


def _usual(part: str, option: Option) -> Remedies:
    """The remedy for a plain number: its default, unless that holds since the part is not given."""

    def default(_problem: Problem, plan: Plan, _machine: Machine) -> Iterator[Remedy]:
        if attrgetter(part)(plan) is not None:
            yield changing(f"Use {option.default}", part, **{option.name: option.default})

    return default


def _name(_problem: Problem, _plan: Plan, _machine: Machine) -> Iterator[Remedy]:
    yield changing(f"Call it {Plan().name}", "", name=Plan().name)


_NUMBERS = (
    ("training", TRAINING_LIMITS),
    ("training.checkpoint", CHECKPOINT_LIMITS),
    ("training.early_stopping", EARLY_STOPPING_LIMITS),
    ("data", DATA_LIMITS),
    ("distribution.placed", PLACED_LIMITS),
    ("cluster", CLUSTER_LIMITS),
)

REMEDIES: tuple[tuple[str, Remedies], ...] = (
    ("name", _name),
    ("devices.visible", visible),
    ("devices.memory_growth", growth),
    ("devices.carve", carve),
    ("model.name", model_name),
    ("model.options", model_option),
    ("data.name", data_name),
    ("data.options", data_option),
    ("data.split", split),
    ("data.groups", groups),
    ("training.batch_size", batch),
    ("training.jit_compile", jit_compile),
    ("training.options", optimizer_option),
    ("training.optimizer", optimizer),
    ("training.schedule", schedule),
    ("training.loss", loss),
    ("training.metrics", metric),
    ("training.early_stopping.monitor", stopping_monitor),
    ("training.checkpoint.monitor", checkpoint_monitor),
    ("distribution.strategy", strategy),
    ("distribution.devices", devices),
    ("distribution.parameter_device", parameter_device),
    ("distribution.all_reduce", all_reduce),
    *(
        (f"{part}.{option.name}", _usual(part, option))
        for part, limits in _NUMBERS
        for option in limits
    ),
    ("distribution.placed", placed),
    ("cluster.with_fewer", with_fewer),
    ("cluster.updates", updates),
    ("cluster.start", start),
    ("cluster", cluster),
)
"""The remedies for the problems of each field, or of what is in it."""
