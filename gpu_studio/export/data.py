"""The part of a script that loads the data and splits them."""

from __future__ import annotations

from collections.abc import Sequence

from gpu_studio.export.data_sets import loading
from gpu_studio.export.facts import ScriptFacts
from gpu_studio.export.script_text import fill, literal
from gpu_studio.plan import DataSplit, Plan

# The second seed of the trainer's split, besides the plan's own.
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
order = order[np.argsort($classes[order], kind="stable")]
_, whole = np.unique($classes, return_counts=True)
# Each sample's rank within its class.
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
# No group has samples in two splits.
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
    """Return the functions that the lines of `split_lines` call."""
    heads = {"stratified": _STRATIFIED_HEAD, "grouped": _GROUPED_HEAD}
    return heads.get(split, "") if shares else ""


def split_lines(split: DataSplit, shares: dict[str, float], classes: str = "y") -> str:
    """Return the lines that make `training_rows`, and the rows of each split with a share.

    `classes` is the class of each sample as an expression. Empty if no split has a share.
    """
    if not shares:
        return ""
    counts = "\n".join(_counts(shares))
    generator = fill(_GENERATOR, purpose=literal(_PURPOSE))
    if split == "stratified":
        return fill(
            _STRATIFIED,
            generator=generator,
            counts=counts,
            held=_held_in_turn(_HELD_OF_CLASSES, shares),
            classes=classes,
        )
    if split == "grouped":
        return fill(
            _GROUPED,
            generator=generator,
            counts=counts,
            held=_held_in_turn(_HELD_OF_GROUPS, shares),
        )
    order = (
        _ORDERED if split == "ordered" else f"{generator}\norder = generator.permutation(len(x))"
    )
    return fill(
        _IN_TURN,
        order=order,
        counts=counts,
        rows=", ".join([f"{name}_rows" for name in shares] + ["training_rows"]),
        cuts="[test, test + validation]" if len(shares) == 2 else f"[{next(iter(shares))}]",
    )


def _counts(shares: dict[str, float]) -> list[str]:
    """Return how many samples each split takes; later shares are of what is left."""
    left = {"test": "len(x)", "validation": "(len(x) - test)" if "test" in shares else "len(x)"}
    return [
        f"{name} = max(1, round({left[name]} * {literal(share)}))" for name, share in shares.items()
    ]


def _held_in_turn(lines: str, shares: dict[str, float]) -> str:
    """Return the lines for each split with a share.

    Each split leaves something for those after it, and for training.
    """
    left = range(len(shares), 0, -1)
    return "\n".join(
        fill(lines, name=name, rows=f"{name}_rows", keep=str(keep))
        for name, keep in zip(shares, left, strict=True)
    )


_LOAD = """\
def load_data():
    \"\"\"The samples and targets of each split: $names.\"\"\"
    $load
    $split
    return $result


"""

_BATCHES = """\
def batches(split, batch_size, order):
    \"\"\"The batches of one pass over a split, its samples in this order.\"\"\"
    x, y = split
    rows = tf.data.Dataset.from_tensor_slices(order).batch(batch_size)
    # The next batches are gathered while the devices are busy with this one.
    $gather
"""

_SHUFFLED = """\
def order_of(samples, epoch):
    \"\"\"The order of the training samples in an epoch: by seed and epoch alone.

    Any epoch can be trained again, or trained elsewhere, in the same order.
    \"\"\"
    with tf.device("CPU:0"):
        numbers = tf.range(samples, dtype=tf.int64)
        seed = tf.constant([SEED, epoch], tf.int64)
        return tf.random.experimental.stateless_shuffle(numbers, seed=seed)
"""
_UNSHUFFLED = """\
def order_of(samples, epoch):
    \"\"\"The order of the training samples in an epoch: that of the data.\"\"\"
    with tf.device("CPU:0"):
        return tf.range(samples, dtype=tf.int64)
"""

_GATHER = "return rows.map(lambda each: (tf.gather(x, each), tf.gather(y, each))).prefetch(8)"
_GATHER_BYTES = """\
parts = rows.map(lambda each: (tf.gather(x, each), tf.gather(y, each)))
# Images are bytes until they are wanted, and then numbers from 0 to $most.
return parts.map(lambda x, y: ($numbers, y)).prefetch(8)"""
_GATHER_FILES = """\
parts = rows.map(lambda each: (tf.gather(x, each), tf.gather(y, each)))
# Images are read when they are wanted, and are then numbers from 0 to $most.
read = parts.map(lambda x, y: (pictures(x), y), num_parallel_calls=tf.data.AUTOTUNE)
return read.map(lambda x, y: ($numbers, y)).prefetch(8)"""


def data(facts: ScriptFacts) -> str:
    """The functions `load_data`, `batches` and `order_of`."""
    head, load = loading(facts)
    made = fill(_BATCHES, gather=_gather(facts)) + "\n\n" + ordering(facts.plan)
    return head + loaded(facts, load, split_names(facts)) + made


def ordering(plan: Plan) -> str:
    """Return the function that gives the order of an epoch."""
    return _SHUFFLED if plan.training.shuffle else _UNSHUFFLED


def loaded(facts: ScriptFacts, load: str, names: Sequence[str]) -> str:
    """Return the function `load_data` and what it calls; `load` are lines that make x and y."""
    held = _held_out(facts)
    whole = fill(
        _LOAD,
        names=" and ".join(filter(None, [", ".join(names[:-1]), names[-1]])),
        load=load,
        split=split_lines(facts.plan.data.split, held, _classes(facts)),
        result=_result(facts, names),
    )
    return split_head(facts.plan.data.split, held) + whole


def _classes(facts: ScriptFacts) -> str:
    target = facts.source.target
    if target.one_hot:
        return "y.argmax(axis=-1)"
    return "y" if target.shape == () else "y[:, 0]"


def _gather(facts: ScriptFacts) -> str:
    if not facts.source.of_images:
        return _GATHER
    gather = _GATHER_FILES if facts.source.in_files else _GATHER_BYTES
    if facts.source.scale == "none":
        return fill(gather, most="255", numbers="tf.cast(x, tf.float32)")
    return fill(gather, most="1", numbers="tf.cast(x, tf.float32) / 255")


def split_names(facts: ScriptFacts) -> list[str]:
    """Return the names of the existing splits, in the order in which `load_data` returns them."""
    wanted = {"training": True, "validation": facts.validates, "test": facts.tests}
    return [name for name, there in wanted.items() if there]


def _held_out(facts: ScriptFacts) -> dict[str, float]:
    data = facts.plan.data
    test = 0.0 if facts.source.brings_test else data.test_fraction
    validation = 0.0 if facts.source.brings_validation else data.validation_fraction
    return {
        name: share for name, share in (("test", test), ("validation", validation)) if share > 0
    }


def _result(facts: ScriptFacts, names: Sequence[str]) -> str:
    shares = _held_out(facts)
    parts = []
    for name in names:
        if name in shares or (name == "training" and shares):
            parts.append(f"(x[{name}_rows], y[{name}_rows])")
        else:
            parts.append(
                {"training": "(x, y)", "validation": "(x_val, y_val)", "test": "(x_test, y_test)"}[
                    name
                ]
            )
    whole = ", ".join(parts)
    if len(whole) <= 77:
        return f"[{whole}]"
    inner = "\n".join(f"        {part}," for part in parts)
    return f"[\n{inner}\n    ]"
