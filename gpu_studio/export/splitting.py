"""How a script keeps samples aside: the same as a run, without GPU Studio.

As `trainer.data.split_ways` does it: whoever changes the one changes the other.
"""

from __future__ import annotations

from gpu_studio.export.filling import fill
from gpu_studio.export.literals import literal
from gpu_studio.plan.values import DataSplit

# What the trainer's split starts from besides the plan's seed.
_PURPOSE = 0x5B117

_GENERATOR = """\
# Drawn by a seed of its own, so that the same samples are held out every time.
generator = np.random.Generator(np.random.PCG64([$purpose, SEED]))"""

_IN_TURN = """\
$order
$counts
parts = np.split(order, $cuts)
$rows = map(np.sort, parts)"""

_STRATIFIED_HEAD = '''\
def shares(counts, wanted, keep):
    """How many samples each class gives, so that all give `wanted` together.

    A class gives one or more, and keeps `keep` of them, if it has so many.
    """
    exact = counts * wanted / counts.sum()
    given = np.floor(exact).astype(counts.dtype)
    rest = wanted - given.sum()
    given[np.argsort(given - exact, kind="stable")[:rest]] += 1
    least = np.minimum(1, counts - 1)
    return np.clip(given, least, np.maximum(least, counts - keep))


'''

_STRATIFIED = """\
$generator
# Each class has its share in every split.
order = generator.permutation(len(x))
order = order[np.argsort(y[order], kind="stable")]
_, whole = np.unique(y, return_counts=True)
# The how-manieth of its class each sample is.
place = np.arange(len(x)) - np.repeat(np.cumsum(whole) - whole, whole)
left = whole
$counts
$held
training_rows = np.sort(order[place >= 0])"""

_HELD_OF_CLASSES = """\
given = np.repeat(shares(left, $name, $keep), whole)
$rows = np.sort(order[(place >= 0) & (place < given)])
place, left = place - given, left - shares(left, $name, $keep)"""

_GROUPED_HEAD = '''\
def groups_for(wanted, order, count, keep):
    """Whole groups with no more samples than wanted, or else the smallest.

    It keeps `keep` groups for the other splits.
    """
    chosen = []
    for group in order:
        if count[group] <= wanted and len(chosen) < len(order) - keep:
            chosen.append(group)
            wanted -= count[group]
    return chosen or [order[np.argmin(count[order])]]


'''

_GROUPED = """\
$generator
# Of no group are there samples in two splits.
_, group, count = np.unique(groups, return_inverse=True, return_counts=True)
order = generator.permutation(len(count))
$counts
$held
training_rows = np.flatnonzero(np.isin(group, order))"""

_HELD_OF_GROUPS = """\
chosen = groups_for($name, order, count, $keep)
$rows = np.flatnonzero(np.isin(group, chosen))
order = order[~np.isin(order, chosen)]"""

_ORDERED = """\
# In order: the last samples test, those before them validate.
order = np.arange(len(x))[::-1]"""


def split_head(split: DataSplit, shares: dict[str, float]) -> str:
    """What the lines of `split_lines` call."""
    heads = {"stratified": _STRATIFIED_HEAD, "grouped": _GROUPED_HEAD}
    return heads.get(split, "") if shares else ""


def split_lines(split: DataSplit, shares: dict[str, float]) -> str:
    """The lines that make `training_rows`, and the rows of each split that has a share; empty if none has."""
    if not shares:
        return ""
    counts = "\n".join(_counts(shares))
    generator = fill(_GENERATOR, purpose=literal(_PURPOSE))
    if split == "stratified":
        return fill(_STRATIFIED, generator=generator, counts=counts, held=_held_in_turn(_HELD_OF_CLASSES, shares))
    if split == "grouped":
        return fill(_GROUPED, generator=generator, counts=counts, held=_held_in_turn(_HELD_OF_GROUPS, shares))
    order = _ORDERED if split == "ordered" else f"{generator}\norder = generator.permutation(len(x))"
    return fill(
        _IN_TURN,
        order=order,
        counts=counts,
        rows=", ".join([f"{name}_rows" for name in shares] + ["training_rows"]),
        cuts="[test, test + validation]" if len(shares) == 2 else f"[{next(iter(shares))}]",
    )


def _counts(shares: dict[str, float]) -> list[str]:
    """How many samples each split takes; the shares of later ones are of what is left."""
    left = {"test": "len(x)", "validation": "(len(x) - test)" if "test" in shares else "len(x)"}
    return [f"{name} = max(1, round({left[name]} * {literal(share)}))" for name, share in shares.items()]


def _held_in_turn(lines: str, shares: dict[str, float]) -> str:
    """The lines for each split that has a share; each leaves something for those that come after, and for training."""
    left = range(len(shares), 0, -1)
    return "\n".join(
        fill(lines, name=name, rows=f"{name}_rows", keep=str(keep)) for name, keep in zip(shares, left, strict=True)
    )
