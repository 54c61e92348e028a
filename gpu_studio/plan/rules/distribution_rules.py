"""Rules for `[distribution]`: a strategy that runs, existing devices, and work for each.

For `[distribution.placed]` also non-empty micro-batches and possible splits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gpu_studio.common.figures import grouped
from gpu_studio.plan.devices import (
    CPU,
    Machine,
    PlannedDevice,
    cpus,
    default_devices,
    gpus,
    halves_leave_one_out,
    in_all,
    is_logical_name,
    logical_devices,
    nccl_refusals,
)
from gpu_studio.plan.keras_objects import OPTIMIZERS, keras_name
from gpu_studio.plan.options import PLACED_LIMITS, bounded, choose_one
from gpu_studio.plan.rules.device_rules import there_are
from gpu_studio.plan.strategies import (
    BY_NAME,
    PLACED,
    RUNNABLE_STRATEGIES,
    STRATEGIES,
    cluster_of,
    placement_of,
    strategy_of,
)
from gpu_studio.plan.values import ALL_REDUCES, Plan, Problem, listed, path_to, shown


def strategy(plan: Plan) -> Iterator[Problem]:
    """The strategy is known, and this version runs it."""
    chosen = plan.distribution.strategy
    if chosen not in STRATEGIES:
        yield Problem(
            "distribution.strategy", shown(chosen), choose_one(chosen, RUNNABLE_STRATEGIES)
        )
    elif chosen not in RUNNABLE_STRATEGIES:
        able = listed(RUNNABLE_STRATEGIES, "or")
        why = strategy_of(plan).why_not
        advice = f"{why[:1].lower()}{why[1:].rstrip('.')}: choose {able}"
        yield Problem("distribution.strategy", shown(chosen), advice)


def compiled_steps(plan: Plan) -> Iterator[Problem]:
    """XLA compiles the steps of a strategy that keeps to one device, and no others."""
    chosen = plan.distribution.strategy
    if plan.training.jit_compile is not True or chosen not in RUNNABLE_STRATEGIES:
        return
    if not strategy_of(plan).compiles_steps:
        able = listed((shown(each.name) for each in BY_NAME.values() if each.compiles_steps), "or")
        advice = f'XLA compiles for one device: write "auto", or choose the strategy {able}'
        yield Problem("training.jit_compile", f"true with strategy {shown(chosen)}", advice)


def devices_of_strategy(plan: Plan) -> Iterator[Problem]:
    """`devices` and `parameter_device` are given only if the strategy uses them."""
    chosen, strategy = plan.distribution, strategy_of(plan)
    yield from strategy.problems(chosen)
    if chosen.parameter_device is not None and not strategy.has_parameter_device:
        able = listed(shown(each.name) for each in BY_NAME.values() if each.has_parameter_device)
        advice = (
            f"leave it out; only the strategy {able} keeps its variables on a device of their own"
        )
        yield Problem("distribution.parameter_device", shown(chosen.parameter_device), advice)


def device_names(plan: Plan, machine: Machine | None) -> Iterator[Problem]:
    """Every logical device named is one that TensorFlow will see, and is named once."""
    chosen = plan.distribution
    named = [
        (f"distribution.devices[{index}]", device) for index, device in enumerate(chosen.devices)
    ]
    for device in [each for each, count in Counter(chosen.devices).items() if count > 1]:
        yield Problem(
            "distribution.devices", f"given {shown(device)} more than once", "name each device once"
        )
    if chosen.parameter_device is not None:
        named.append(("distribution.parameter_device", chosen.parameter_device))
    for field, device in named:
        yield from logical_problems(field, device, plan, machine)


def all_reduce(plan: Plan, machine: Machine | None) -> Iterator[Problem]:
    """The all-reduce is known. NCCL is used only for whole cards, halves only for an even count."""
    chosen = plan.distribution.all_reduce
    if chosen not in ALL_REDUCES:
        yield Problem("distribution.all_reduce", shown(chosen), choose_one(chosen, ALL_REDUCES))
    strategy = strategy_of(plan)
    if not strategy.sums_gradients:
        return
    if chosen in ALL_REDUCES and chosen not in strategy.all_reduces:
        said = f"{shown(chosen)} with strategy {shown(strategy.name)}"
        advice = f"choose {listed(strategy.all_reduces, 'or')}, which work between processes"
        yield Problem("distribution.all_reduce", said, advice)
        return
    if chosen == "nccl":
        yield from _nccl(plan, machine)
    elif chosen == "hierarchical_copy":
        yield from _halves(plan, machine)


def _halves(plan: Plan, machine: Machine | None) -> Iterator[Problem]:
    names, known = plan.distribution.devices, _certain(plan, machine)
    count = len(names or default_devices(known or ()))
    if halves_leave_one_out(count):
        advice = (
            "it sums two equal halves and would leave out the last replica: "
            'choose "auto", or use an even number'
        )
        yield Problem(
            "distribution.all_reduce", f'"hierarchical_copy" with {count} replicas', advice
        )


def _nccl(plan: Plan, machine: Machine | None) -> Iterator[Problem]:
    for where, why in nccl_refusals(_replica_devices(plan, machine)):
        advice = f'{why}: choose "auto", which takes what suits the devices'
        yield Problem("distribution.all_reduce", f'"nccl" {where}', advice)


def enough_for_each(plan: Plan, machine: Machine | None) -> Iterator[Problem]:
    """A global batch has at least one sample for every replica."""
    training, chosen, cluster = plan.training, plan.distribution, cluster_of(plan)
    if (
        training.batch_scope != "global"
        or training.batch_size < 1
        or (
            cluster is not None and cluster.workers != cluster.workers_counted
        )  # reported by its rule
        or not (strategy_of(plan).replicates or strategy_of(plan).serves)
    ):
        return
    names = chosen.devices or [device.name for device in _replica_devices(plan, machine)]
    names = [CPU] if strategy_of(plan).serves else names
    count = in_all(plan, names or [CPU])
    if training.batch_size < count:
        advice = (
            f'{count} replicas share a batch: give {count} or more, or set batch_scope = "replica"'
        )
        yield Problem("training.batch_size", str(training.batch_size), advice)


def _replica_devices(plan: Plan, machine: Machine | None) -> tuple[PlannedDevice, ...]:
    """The logical devices that hold replicas, as far as that is certain without a machine."""
    known, names = _certain(plan, machine), plan.distribution.devices
    if known is not None:
        chosen = set(names or default_devices(known))
        return tuple(device for device in known if device.name in chosen)
    if names:
        return tuple(PlannedDevice(name, name) for name in names)
    return gpus(plan.devices, _carved_cards(plan))


def _carved_cards(plan: Plan) -> tuple[str, ...]:
    return tuple(carve.device for carve in plan.devices.carve if carve.device != CPU)


def _certain(plan: Plan, machine: Machine | None) -> tuple[PlannedDevice, ...] | None:
    """All logical devices; None if the plan alone does not determine the number of cards."""
    if machine:
        return logical_devices(plan, machine)
    if not plan.devices.visible:
        return None
    cards = [device for device in plan.devices.visible if device != CPU]
    return gpus(plan.devices, cards) + cpus(plan.devices)


def logical_problems(
    field: str, device: str, plan: Plan, machine: Machine | None
) -> Iterator[Problem]:
    """Why the logical device in `field` is wrong: its form, or that TensorFlow will not see it."""
    if not is_logical_name(device):
        yield Problem(
            field,
            shown(device),
            'write the name that TensorFlow gives a logical device, "GPU:0" or "CPU:0"',
        )
        return
    known = _certain(plan, machine)
    if known is None and device.startswith("GPU"):
        return
    logical = cpus(plan.devices) if known is None else known
    if device not in [each.name for each in logical]:
        why = (
            f"; {there_are(machine)}"
            if machine and device.startswith("GPU") and not machine.cards
            else ""
        )
        yield Problem(
            field, shown(device), f"there is no such logical device: there {_are(logical)}{why}"
        )


def _are(logical: tuple[PlannedDevice, ...]) -> str:
    """`are GPU:0 … GPU:3 and CPU:0`."""
    spans: list[str] = []
    for kind in ("GPU", "CPU"):
        names = [device.name for device in logical if device.name.startswith(kind)]
        spans += names if len(names) <= 2 else [f"{names[0]} … {names[-1]}"]
    return f"{'is' if len(logical) == 1 else 'are'} {listed(spans)}"


PART = "distribution.placed"
LAYERS = f"{PART}.layers"

WHOLE_WEIGHT_OPTIMIZERS = ("adafactor", "muon", "lamb")
"""They look at a weight as a whole: its rows and columns, its singular values, or its norm."""

WHOLE_WEIGHT_OPTIONS = ("clipnorm",)
"""Options of every optimizer that do so."""


def places(plan: Plan, machine: Machine | None) -> Iterator[Problem]:
    """The part appears only with its strategy, and each layer is on devices that TensorFlow sees.

    Each device is named once. Whether the model has the layers is for the trainer to say.
    """
    part = plan.distribution.placed
    if part is None:
        return
    if not strategy_of(plan).places_layers:
        advice = f'leave [distribution.placed] out, or choose strategy = "{PLACED.name}"'
        yield Problem(PART, f"given with strategy {shown(plan.distribution.strategy)}", advice)
    yield from bounded(PART, part, PLACED_LIMITS)
    for layer, devices in part.layers.items():
        yield from _places_of_layer(path_to(LAYERS, layer), devices, plan, machine)


def micro_batches(plan: Plan) -> Iterator[Problem]:
    """Every micro-batch has at least one sample."""
    part, batch = placement_of(plan), plan.training.batch_size
    if part and 1 <= batch < part.micro_batches:
        most = f"a batch of {grouped(batch)} samples has at most {grouped(batch)} parts"
        advice = f"{most}: give {batch} or less, or a larger batch_size"
        yield Problem(f"{PART}.micro_batches", str(part.micro_batches), advice)


def whole_weights(plan: Plan) -> Iterator[Problem]:
    """No layer is split if the optimizer needs its weights whole."""
    part = placement_of(plan)
    split = [layer for layer, devices in part.layers.items() if len(devices) > 1] if part else []
    if not split:
        return
    advice = f"give {shown(split[0])} one device, or"
    name = keras_name(plan.training.optimizer, OPTIMIZERS)
    if name in WHOLE_WEIGHT_OPTIMIZERS:
        said = f"{shown(name)} with layers split over devices"
        yield Problem(
            "training.optimizer", said, f'it looks at whole weights: {advice} choose "adam"'
        )
    for option in WHOLE_WEIGHT_OPTIONS:
        if plan.training.options.get(option):
            said = "given with layers split over devices"
            why = f"it looks at whole weights: {advice} write global_clipnorm"
            yield Problem(f"training.options.{option}", said, why)


def _places_of_layer(
    field: str, devices: tuple[str, ...], plan: Plan, machine: Machine | None
) -> Iterator[Problem]:
    if not devices:
        yield Problem(field, "empty", "name the device, or the devices, that the layer runs on")
    for device in [each for each, count in Counter(devices).items() if count > 1]:
        yield Problem(field, f"given {shown(device)} more than once", "name each device once")
    for device in dict.fromkeys(devices):
        yield from logical_problems(field, device, plan, machine)
