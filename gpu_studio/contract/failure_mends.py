"""Changes of a plan that may help after a failure; each leaves a plan that can run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from gpu_studio.common.figures import grouped
from gpu_studio.contract.event_parts import SuggestedChange
from gpu_studio.plan import (
    Plan,
    PlanError,
    Problem,
    placement_of,
    strategy_of,
    validate,
    with_value,
)
from gpu_studio.plan.tables import to_tables

CLIP = 1.0
_NONE = object()


def against_want_of_memory(plan: Plan, *, cut: bool = True) -> list[SuggestedChange]:
    """Changes that make a plan need less memory, where nothing is predicted for it.

    `cut` says that the plan cuts the batches: of data that come in batches it makes none smaller.
    """
    mends = _against_want_of_memory(plan)
    return offered(plan, (each for each in mends if cut or each.field != "training.batch_size"))


def change_to(plan: Plan, mended: Plan, text: str) -> SuggestedChange:
    """The change that makes `mended` of `plan`: one field, or the table that has all that differs.

    Raises ValueError if there is no such table.
    """
    names: list[str] = []
    before: Any = to_tables(plan)
    after: Any = to_tables(mended)
    while isinstance(before, dict) and isinstance(after, dict):
        differing = [
            key for key in {**before, **after} if before.get(key, _NONE) != after.get(key, _NONE)
        ]
        if len(differing) != 1 or differing[0] not in after:
            break
        names.append(differing[0])
        before, after = before.get(differing[0], _NONE), after[differing[0]]
    if not names:
        raise ValueError("The plans do not differ in one table.")
    return SuggestedChange(text=text, field=".".join(names), value=after)


def against_divergence(plan: Plan, as_compiled: bool = False) -> list[SuggestedChange]:
    """Changes that keep a loss finite: smaller steps, clipped gradients, full precision.

    Of an optimizer `as_compiled` the plan changes neither rate nor options.
    """
    mends = () if as_compiled else _against_divergence(plan)
    return offered(plan, [*mends, *_more_precision(plan)])


def without_xla(plan: Plan) -> list[SuggestedChange]:
    """The plan without XLA, unless it asks for that already."""
    change = SuggestedChange(text="Train without XLA", field="training.jit_compile", value=False)
    return offered(plan, [change]) if plan.training.jit_compile is not False else []


def without_device(plan: Plan, device: str, replicas: Sequence[str]) -> list[SuggestedChange]:
    """The plan on the remaining devices, where it trains on several."""
    others = [name for name in replicas if name != device]
    if not others or strategy_of(plan).places_layers or device not in replicas:
        return []
    names = others[0] if len(others) == 1 else f"{len(others)} devices"
    return offered(
        plan,
        [SuggestedChange(text=f"Train on {names}", field="distribution.devices", value=others)],
    )


def offered(plan: Plan, mends: Iterable[SuggestedChange]) -> list[SuggestedChange]:
    """The changes that have an effect and cause no new problem in the plan."""
    before = set(validate(plan))
    return [mend for mend in mends if _can_be(plan, mend, before)]


def _can_be(plan: Plan, mend: SuggestedChange, before: set[Problem]) -> bool:
    try:
        mended = with_value(plan, mend.field, mend.value)
    except PlanError:
        return False
    return mended != plan and before.issuperset(validate(mended))


def _against_want_of_memory(plan: Plan) -> Iterator[SuggestedChange]:
    batch = plan.training.batch_size // 2
    yield SuggestedChange(text=f"Batch {grouped(batch)}", field="training.batch_size", value=batch)
    placed = placement_of(plan)
    if placed is not None:
        twice = placed.micro_batches * 2
        yield SuggestedChange(
            text=f"{twice} micro-batches", field="distribution.placed.micro_batches", value=twice
        )
        yield SuggestedChange(
            text="Recompute activations", field="distribution.placed.recompute", value=True
        )
    yield SuggestedChange(text="Mixed precision", field="training.mixed_precision", value=True)


def _against_divergence(plan: Plan) -> Iterator[SuggestedChange]:
    rate = plan.training.learning_rate / 2
    yield SuggestedChange(
        text=f"Halve the learning rate: {rate:g}", field="training.learning_rate", value=rate
    )
    if not any("clip" in name for name in plan.training.options):
        yield SuggestedChange(
            text="Clip the gradients", field="training.options.global_clipnorm", value=CLIP
        )


def _more_precision(plan: Plan) -> Iterator[SuggestedChange]:
    if plan.training.mixed_precision:
        yield SuggestedChange(text="Full precision", field="training.mixed_precision", value=False)
