"""Which layers of a model training leaves as they are, by the entries of `model.frozen`.

An entry is the name of a layer, of a model that holds layers, or a pattern of such names with `*`,
`?` and `[…]`; `*` also stands for a slash. An entry that begins with `!` thaws what it names. Of
several entries that name a layer, the last one decides; what none names stays as the model has it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from gpu_studio.plan.options import choose_one, nearest
from gpu_studio.plan.values import FEW, Phase, Plan, Problem, shown

FROZEN = "model.frozen"
THAW = "!"
Layers = Mapping[str, bool]
"""Layers by their paths, such as `base/conv_1`, and whether each is frozen."""


def frozen_layers(entries: Sequence[str], layers: Layers) -> Layers:
    """Return whether each layer is frozen; `layers` says which the model itself has frozen."""
    return _decided([(named_by(entry, layers), entry) for entry in entries], layers)


def _decided(entries: Sequence[tuple[list[str], str]], layers: Mapping[str, bool]) -> Layers:
    found = dict(layers)
    for paths, entry in entries:
        found |= dict.fromkeys(paths, not entry.startswith(THAW))
    return found


def named_by(entry: str, paths: Collection[str]) -> list[str]:
    """Return which of these paths the entry names, itself or a model that they are in."""
    pattern = entry.removeprefix(THAW)
    return [path for path in paths if any(fnmatchcase(name, pattern) for name in _names(path))]


def _names(path: str) -> Iterator[str]:
    """Yield the path, and those of the models that it is in: `a/b/c`, `a/b`, `a`."""
    while path:
        yield path
        path = path.rpartition("/")[0]


def unknown_entry(entries: Sequence[str], paths: Collection[str]) -> tuple[str, str] | None:
    """Return the first entry that names no layer, and what to do about it; None if each does."""
    for entry in entries:
        if not named_by(entry, paths):
            names = list(dict.fromkeys(name for path in paths for name in _names(path)))
            meant = entry.removeprefix(THAW)
            if len(names) > FEW and nearest(meant, names) is None:
                return entry, f"name one of its {len(names)} layers, such as {names[0]}"
            return entry, choose_one(meant, names)
    return None


def frozen_entries(plan: Plan) -> Iterator[Problem]:
    """Each entry is a name or a pattern, of the phases too."""
    later = {f"training.phases[{at}].frozen": p.frozen for at, p in enumerate(plan.training.phases)}
    for field, entries in {FROZEN: plan.model.frozen, **later}.items():
        for place, entry in enumerate(entries):
            if not entry.removeprefix(THAW).strip() or not entry.isprintable():
                yield Problem(
                    f"{field}[{place}]",
                    shown(entry),
                    'give the name of a layer or a pattern, such as "base/block_1*"; "!base" thaws',
                )


def phases(plan: Plan) -> Iterator[Problem]:
    """Each phase begins after the one before, with epochs left, and has a learning rate."""
    before, epochs = plan.training.initial_epoch, plan.training.epochs
    unknown = "epochs" in plan.training.as_in_script
    for place, phase in enumerate(plan.training.phases):
        field = f"training.phases[{place}]"
        if phase.after <= before or not (unknown or phase.after < epochs):
            wanted = " to ".join(dict.fromkeys((str(before + 1), str(epochs - 1))))
            wanted = f"{before + 1} or more" if unknown else wanted
            advice = f"give {wanted}, so that epochs of the phase before and its own are left"
            if before + 1 >= epochs and not unknown:
                advice = f"leave the phase out, or give training.epochs more than {before + 1}"
            yield Problem(f"{field}.after", str(phase.after), advice)
        if phase.learning_rate <= 0:
            yield Problem(f"{field}.learning_rate", f"{phase.learning_rate:g}", "give more than 0")
        before = phase.after


def phase_of(phases: Sequence[Phase], epoch: int) -> int:
    """Return the number of the phase that an epoch is in, both counted from 0."""
    return sum(phase.after <= epoch for phase in phases)


def with_frozen(plan: Plan, chosen: Collection[str], layers: Layers, *, frozen: bool) -> Plan:
    """Return the plan in which the chosen layers are frozen from the beginning, or trained."""
    entries = entries_with(plan.model.frozen, chosen, layers, frozen=frozen)
    return replace(plan, model=replace(plan.model, frozen=entries))


def entries_with(
    entries: Sequence[str], chosen: Collection[str], layers: Layers, *, frozen: bool
) -> tuple[str, ...]:
    """Return the entries by which the chosen layers too are frozen, or trained.

    `layers` are all that can be trained, as for `frozen_layers`. A model whose layers are all
    chosen, or frozen already, is named in their place. Entries that decide nothing any more are
    left out.
    """
    mark, before = "" if frozen else THAW, frozen_layers(entries, layers)
    others = {path for path in layers if path not in chosen and not (frozen and before[path])}
    return _needed([*entries, *(mark + name for name in _in_short(chosen, others))], layers)


def _in_short(chosen: Collection[str], others: Collection[str]) -> list[str]:
    """Name the chosen layers: by the outermost models that hold no others, else one by one."""
    around = {name for path in others for name in _names(path)}
    found = [[name for name in _names(path) if name not in around][-1] for path in chosen]
    return [_escaped(name) for name in dict.fromkeys(found)]


def _escaped(name: str) -> str:
    """Return the pattern that means exactly this name."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)


def _needed(entries: Sequence[str], layers: Layers) -> tuple[str, ...]:
    """Return the entries without those that change nothing.

    One that names no layer stays, so that a mistake is reported and not hidden.
    """
    kept = [(named_by(entry, layers), entry) for entry in entries]
    wanted, place = _decided(kept, layers), 0
    while place < len(kept):
        without = [*kept[:place], *kept[place + 1 :]]
        if kept[place][0] and _decided(without, layers) == wanted:
            kept = without
        else:
            place += 1
    return tuple(entry for _, entry in kept)
