"""The part of a script that loads the data and splits them."""

from __future__ import annotations

from gpu_studio.export.data_sets import loading
from gpu_studio.export.facts import Facts
from gpu_studio.export.filling import fill
from gpu_studio.export.splitting import split_head, split_lines

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


def shuffled(samples, epoch):
    \"\"\"The order of the training samples in an epoch: by seed and epoch alone.

    Any epoch can be trained again, or trained elsewhere, in the same order.
    \"\"\"
    with tf.device("CPU:0"):
        numbers = tf.range(samples, dtype=tf.int64)
        seed = tf.constant([SEED, epoch], tf.int64)
        return tf.random.experimental.stateless_shuffle(numbers, seed=seed)
"""

_GATHER = "return rows.map(lambda each: (tf.gather(x, each), tf.gather(y, each))).prefetch(8)"
_GATHER_BYTES = """\
parts = rows.map(lambda each: (tf.gather(x, each), tf.gather(y, each)))
# Images are bytes until they are wanted, and then numbers from 0 to $most.
return parts.map(lambda x, y: ($numbers, y)).prefetch(8)"""


def data(facts: Facts) -> str:
    """The functions `load_data`, `batches` and `shuffled`."""
    head, load = loading(facts)
    names = split_names(facts)
    whole = fill(
        _LOAD,
        names=" and ".join(filter(None, [", ".join(names[:-1]), names[-1]])),
        load=load,
        split=split_lines(facts.plan.data.split, _held_out(facts)),
        result=_result(facts),
    )
    head += split_head(facts.plan.data.split, _held_out(facts))
    return head + whole + fill(_BATCHES, gather=_gather(facts))


def _gather(facts: Facts) -> str:
    if facts.source.folder is None:
        return _GATHER
    if facts.source.scale == "none":
        return fill(_GATHER_BYTES, most="255", numbers="tf.cast(x, tf.float32)")
    return fill(_GATHER_BYTES, most="1", numbers="tf.cast(x, tf.float32) / 255")


def split_names(facts: Facts) -> list[str]:
    """The splits that there are, by name and in the order in which `load_data` returns them."""
    wanted = {"training": True, "validation": facts.validates, "test": facts.tests}
    return [name for name, there in wanted.items() if there]


def _held_out(facts: Facts) -> dict[str, float]:
    data = facts.plan.data
    test = 0.0 if facts.source.brings_test else data.test_fraction
    validation = 0.0 if facts.source.brings_validation else data.validation_fraction
    return {name: share for name, share in (("test", test), ("validation", validation)) if share > 0}


def _result(facts: Facts) -> str:
    shares = _held_out(facts)
    parts = []
    for name in split_names(facts):
        if name in shares or (name == "training" and shares):
            parts.append(f"(x[{name}_rows], y[{name}_rows])")
        else:
            parts.append({"training": "(x, y)", "validation": "(x_val, y_val)", "test": "(x_test, y_test)"}[name])
    whole = ", ".join(parts)
    if len(whole) <= 77:
        return f"[{whole}]"
    inner = "\n".join(f"        {part}," for part in parts)
    return f"[\n{inner}\n    ]"
