"""What the script of a plan with several workers has more than others: it is started once for each.

Only the first worker prints and writes. The workers keep a state from which a later start goes on
to the same losses, with as many of them as there are then; any worker's signal stops all of them
after the same step.
"""

from __future__ import annotations

from gpu_studio.export.facts import ScriptFacts
from gpu_studio.export.script_text import fill

_RUN = """\
It is started
once for each worker, with all their addresses and the number of the worker:

    export TF_CONFIG='{"cluster": {"worker": ["10.0.0.1:23456", "10.0.0.2:23456"]},
                       "task": {"type": "worker", "index": 0}}'
    python train.py
    python train.py --resume     (from what the first worker kept in --output)

`gpu-studio export PLAN --to launch`, `--to sbatch` and `--to kubernetes` write files that
do so. All workers read the same data; only the first one writes. SIGTERM or SIGUSR1, to
any of them, makes all $stopped."""
_STOPPED_ANYWHERE = "keep their state after the same step, and end"
_STOPPED_IN_FIT = "end after the same step; what is kept is each epoch's end"

_AGREEING = """\
WISHES = []  # the signals that have asked this worker to stop
ASK_EVERY = 10  # steps: then the workers ask each other whether one is to stop


def heed_signals():
    \"\"\"From now on these signals ask for a stop after a step.\"\"\"
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1):
        signal.signal(number, lambda number, _: WISHES.append(number))


def is_first(strategy):
    \"\"\"Whether this is the worker that prints and writes for all.\"\"\"
    return not strategy.cluster_resolver.task_id


def on_all(strategy, value, wanted=True):
    \"\"\"The sum of the workers' values, on all of them; 0 of what is not wanted.\"\"\"
    nothing = tf.zeros_like(value)
    mine = [tf.identity(value) if wanted else nothing]  # that of its first replica
    parts = strategy.experimental_distribute_values_from_function(
        lambda context: mine.pop() if mine else nothing
    )
    return strategy.reduce("SUM", parts, axis=None)


def one_is_to_stop(strategy):
    \"\"\"Whether any worker was asked to stop: all give the same answer.\"\"\"
    return bool(on_all(strategy, tf.constant(float(len(WISHES)))))


def of_first(strategy, content):
    \"\"\"The bytes that the first worker has, on all: they need share no folder.\"\"\"
    first = is_first(strategy)
    size = int(on_all(strategy, tf.constant(len(content), tf.float64), first))
    if size == 0:
        return b""
    # Two bytes a number, which float32 holds exactly: cards add up floats.
    pairs = np.zeros(-(-size // 2), np.uint16)
    if first:
        pairs.view(np.uint8)[:size] = np.frombuffer(content, np.uint8)
    pairs = on_all(strategy, tf.constant(pairs, tf.float32), first).numpy()
    return pairs.astype(np.uint16).tobytes()[:size]


def write_kept(arguments, strategy, numbers, arrays):
    \"\"\"Keep what a later start goes on from. What is there is always whole.\"\"\"
    if is_first(strategy):
        part = arguments.output / "state.part"
        with part.open("wb") as file:
            np.savez(file, numbers=json.dumps(numbers), **arrays)
        part.replace(arguments.output / "state.npz")
    on_all(strategy, tf.zeros(()))  # nobody goes on, or ends, before it is written


def read_kept(arguments, strategy):
    \"\"\"What the first worker has kept, if any: its numbers, and its arrays.\"\"\"
    kept = arguments.output / "state.npz"
    there = is_first(strategy) and kept.is_file()
    if there and not arguments.resume:
        # Else this start would go on from an earlier one's if it is started again.
        kept.replace(arguments.output / "state.before")
        there = False
    content = of_first(strategy, kept.read_bytes() if there else b"")
    if not content:
        return {}, {}
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    return json.loads(str(arrays.pop("numbers"))), arrays
"""
_STATE = """\


def write_state(arguments, strategy, variables, metrics, best_weights, numbers):
    \"\"\"Keep what a later start goes on from.\"\"\"
    counted = [v for metric in metrics for v in metric.variables]
    arrays = {f"variable{n}": v.numpy() for n, v in enumerate(variables)}
    totals = [on_all(strategy, v.value).numpy() for v in counted]
    arrays |= {f"counted{n}": total for n, total in enumerate(totals)}
    arrays |= {f"best{n}": weights for n, weights in enumerate(best_weights or [])}
    write_kept(arguments, strategy, numbers, arrays)


def read_state(arguments, strategy, variables, metrics$begin):
    \"\"\"Go on from what the first worker has kept, if any; its numbers.\"\"\"
    numbers, arrays = read_kept(arguments, strategy)
    if not numbers:
        return {}
    $phases
    for n, variable in enumerate(variables):
        variable.assign(arrays[f"variable{n}"])
    counted = [v for metric in metrics for v in metric.variables]
    for n, variable in enumerate(counted if is_first(strategy) else []):
        variable.assign(arrays[f"counted{n}"])
    best = [arrays[f"best{n}"] for n in range(len(variables)) if f"best{n}" in arrays]
    return {**numbers, "best_weights": best or None}
"""

_PHASES = """\
for _ in range(numbers["phase"]):
    variables = begin()"""
_SETUP = """\
first = is_first(strategy)
kept = [*model.variables, *optimizer.variables]
state = read_state(arguments, strategy, kept, $metrics$begin)
$again
step = state.get("step", 0)
$record
$saved

def save(path):
    if first:  # one writer
        model.$save(path)

def keep(epoch, losses=(), sizes=()):
    numbers = {"epoch": epoch, "step": step, "sizes": list(sizes)}
    numbers["losses"] = [float(loss) for loss in losses]
    $keep_phase
    $keep_record
    $keep_saved
    write_state(arguments, strategy, kept, $metrics, $best_weights, numbers)
"""

_ASK = """\
if step % ASK_EVERY == 0 and one_is_to_stop(strategy):
    keep(epoch, losses, sizes)
    if first:
        print(f"stopped after step {step}: --resume goes on", flush=True)
    return"""


def run_workers(facts: ScriptFacts) -> str:
    """Say how the script is started."""
    return fill(_RUN, stopped=_STOPPED_IN_FIT if facts.by_fit else _STOPPED_ANYWHERE)


def helpers(facts: ScriptFacts) -> str:
    """Return the functions by which workers agree, and keep and read their state."""
    if not facts.clusters:
        return ""
    if facts.by_fit:
        return _AGREEING
    later = bool(facts.plan.training.phases)
    state = fill(_STATE, begin=", begin" if later else "", phases=_PHASES if later else "")
    return _AGREEING + state


def setup(facts: ScriptFacts) -> str:
    """Return the lines before the first epoch."""
    training = facts.plan.training
    rule, saves = training.early_stopping, training.checkpoint.every_epochs > 0
    saving = "save_weights" if facts.plan.model.python is not None else "save"
    weights = rule is not None and rule.restore_best
    return fill(
        _SETUP,
        metrics="metrics" if training.metrics else "[]",
        save=saving,
        begin=", begin_next" if training.phases else "",
        again="kept = [*model.variables, *optimizer.variables]" if training.phases else "",
        keep_phase='numbers["phase"] = phase' if training.phases else "",
        record=_record(weights=weights) if rule else "",
        keep_record='numbers |= {"record": record, "waited": waited}' if rule else "",
        saved=_SAVED if saves else "",
        keep_saved='numbers |= {"best": best, "saved": [each.name for each in saved]}'
        if saves
        else "",
        best_weights="best_weights" if weights else "None",
    )


_SAVED = """\
best = state.get("best")
saved = [arguments.output / name for name in state.get("saved", [])]"""


def _record(*, weights: bool) -> str:
    lines = ['record, waited = state.get("record"), state.get("waited", 0)']
    return "\n".join([*lines, *(['best_weights = state.get("best_weights")'] if weights else [])])


def in_epoch(facts: ScriptFacts) -> str:
    """Return the lines after each step."""
    every = facts.plan.training.checkpoint.every_steps
    keep = f"if step % {every} == 0:\n    keep(epoch, losses, sizes)\n" if every else ""
    return keep + _ASK
