"""The parts of a script that go through a split.

They share out its batches, read its results and evaluate a split.
"""

from __future__ import annotations

from gpu_studio.export.facts import ScriptFacts
from gpu_studio.export.script_text import call, fill
from gpu_studio.export.steps import evaluates

_SHARE_OUT = """\
def share_out(strategy, x, y):
    \"\"\"An even part of the batch for each replica, with the weights of its samples.\"\"\"
    parts = np.array_split(np.arange(len(x)), strategy.num_replicas_in_sync)

    def part(context):
        rows = parts[context.replica_id_in_sync_group]
        # A replica for which no sample is left gets one that weighs nothing: an empty batch
        # would turn the statistics of batch normalisation into NaN.
        weight = 1 / len(x) if len(rows) else 0.0
        rows = rows if len(rows) else [0]
        return tf.gather(x, rows), tf.gather(y, rows), tf.fill([len(rows)], weight)

    # Cut in host memory: each replica then fetches its own part.
    with tf.device("CPU:0"):
        return strategy.experimental_distribute_values_from_function(part)


"""

_CUT = """\
def cut(x, y$number):
    \"\"\"The batch in even $parts, with the weights of their samples.\"\"\"
    cuts = []
    for rows in np.array_split(np.arange(len(x)), $many):
        # Where no sample is left, there is one that weighs nothing: without any, the
        # statistics of batch normalisation would turn into NaN.
        weight = 1 / len(x) if len(rows) else 0.0
        rows = rows if len(rows) else [0]
        with tf.device("CPU:0"):
            part = tf.gather(x, rows), tf.gather(y, rows), tf.fill([len(rows)], weight)
        cuts.append(part)
    return cuts


"""

_RESULTS = """\
def results_of($losses, sizes$with_metrics):
    \"\"\"The mean loss over the samples$and_metrics of a pass.\"\"\"
    # Only here does Python wait for the devices: reading a number makes it wait.
    results = {"loss": float(np.average(np.array(losses, np.float64), weights=sizes))}
    $metrics
    return results
"""

_READ_METRICS = """\
for metric in metrics:
    $summed
    results[metric.name] = float(metric.result())
    metric.reset_state()"""

_SUMMED = """\
for variable in metric.variables:  # each worker has counted its own samples
    variable.assign(on_all(strategy, variable.value))"""

_EVALUATE = """\
def evaluate($parameters):
    \"\"\"The mean loss$and_metrics over a split, in its own order.\"\"\"
    losses, sizes, in_order = [], [], np.arange(len(split[0]))
    $loop
        losses.append(evaluate_step($batch))
        sizes.append(len(x))
    return results_of($taken, sizes$with_metrics)
"""

_LOOP = "for x, y in batches(split, batch_size, in_order):"

_NUMBERED = """\
# Layers may draw random numbers here too: steps count down from -1, training's from 0.
for number, (x, y) in enumerate(batches(split, batch_size, in_order)):
    step = tf.constant(-1 - number, tf.int64)"""

SHOW = """\
def show(title, results):
    \"\"\"One line, easy to read and to parse.\"\"\"
    values = "  ".join(f"{name}={value:.9g}" for name, value in results.items())
    print(f"{title}  {values}", flush=True)
"""
SHOW_MEANS = SHOW.replace("={value:", "={np.mean(value):")
"""The same where a metric gives several numbers, of which the mean is shown."""


def passes(facts: ScriptFacts) -> str:
    """Return the functions `share_out` or `cut`, `results_of`, `evaluate` and `show`.

    Functions that the script does not need are left out.
    """
    shared = _SHARE_OUT if facts.several else _cut(facts)
    evaluate = f"{_evaluate(facts)}\n\n" if evaluates(facts) else ""
    return f"{shared}{_results(facts)}\n\n{evaluate}{SHOW}"


def _cut(facts: ScriptFacts) -> str:
    if facts.serves and not facts.apart:
        return fill(_CUT, number=", number", parts="parts", many="number")
    micro = {"number": "", "parts": "micro-batches", "many": "MICRO_BATCHES"}
    return fill(_CUT, **micro) if facts.in_parts else ""


def batch(facts: ScriptFacts) -> str:
    """Return the arguments of a step: a batch, or what the replicas get of it."""
    return "*share_out(strategy, x, y)" if facts.several else "x, y"


def evaluated(facts: ScriptFacts, split: str, target: str, indent: int) -> str:
    """Return the line that evaluates a split."""
    return call(f"{target} = ", "evaluate", [*_given(facts), split, "batch_size"], indent=indent)


def _results(facts: ScriptFacts) -> str:
    return fill(
        _RESULTS,
        metrics=fill(_READ_METRICS, summed=_SUMMED if facts.agrees else "")
        if facts.plan.training.metrics
        else "",
        **words(facts),
    )


def _evaluate(facts: ScriptFacts) -> str:
    parameters = ", ".join([*_given(facts), "split", "batch_size"])
    numbered = facts.numbers_evaluation
    return fill(
        _EVALUATE,
        parameters=parameters,
        loop=_NUMBERED if numbered else _LOOP,
        batch=batch(facts) + (", step" if numbered else ""),
        **words(facts),
    )


def _given(facts: ScriptFacts) -> list[str]:
    metrics = ["metrics"] if facts.plan.training.metrics else []
    strategy = ["strategy"] if facts.several else ["settle"] if facts.apart else []
    return ["evaluate_step", *metrics, *strategy]


def words(facts: ScriptFacts) -> dict[str, str]:
    """Return what is said about the metrics wherever results are; empty if there are none."""
    there = bool(facts.plan.training.metrics)
    return {
        "with_metrics": ", metrics" if there else "",
        "and_metrics": " and the metrics" if there else "",
        "losses": "strategy, losses" if facts.agrees and there else "losses",
        "taken": "settle(losses)"
        if facts.apart
        else "strategy, losses"
        if facts.agrees and there
        else "losses",
    }
