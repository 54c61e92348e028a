"""What the script of a plan with several processes has more than others: it is started for each.

Only the first worker prints and writes, or the coordinator, where servers hold the variables. It
keeps a state from which a later start goes on to the same losses, with as many workers as there are
then; a signal to any worker, or to the coordinator, stops all of them after the same step.
"""

from __future__ import annotations

from gpu_studio.export.facts import ScriptFacts
from gpu_studio.export.script_text import fill, indented

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
_RUN_SERVED = """\
It is started
for the coordinator (chief), for each worker and for each server of variables (ps), with
all their addresses and which of them it is:

    export TF_CONFIG='{"cluster": {"chief": ["10.0.0.1:23456"],
                                   "worker": ["10.0.0.2:23456", "10.0.0.3:23456"],
                                   "ps": ["10.0.0.1:23457"]},
                       "task": {"type": "chief", "index": 0}}'
    python train.py
    python train.py --resume     (from what the coordinator kept in --output)

`gpu-studio export PLAN --to launch`, `--to sbatch` and `--to kubernetes` write files that
do so; without TF_CONFIG, workers and servers are threads of one process. The coordinator
alone reads the data, and writes. SIGTERM or SIGUSR1 makes it $ended; the
others end when it has. TensorFlow listens on all interfaces, whatever the address, and
asks for no password: keep the ports behind a firewall."""
_ENDED = "keep its state and end"
_ENDED_IN_FIT = "end, with what it has kept at an epoch's end"

_HEEDING = """\
WISHES = []  # the signals that have asked this process to stop
$often


def heed_signals():
    \"\"\"From now on these signals ask for a stop after a step.\"\"\"
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1):
        signal.signal(number, lambda number, _: WISHES.append(number))


"""
_OFTEN = "ASK_EVERY = 10  # steps: then the workers ask each other whether one is to stop"
AGREEING = """\
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


"""
KEPT = """\
def write_kept($given, numbers, arrays):
    \"\"\"Keep what a later start goes on from. What is there is always whole.\"\"\"
    $write


def read_kept($given):
    \"\"\"What $who has kept, if any: its numbers, and its arrays.\"\"\"
    kept = arguments.output / "state.npz"
    there = $is_there
    if there and not arguments.resume:
        # Else this start would go on from an earlier one's if it is started again.
        kept.replace(arguments.output / "state.before")
        there = False
    content = $content
    if not content:
        return {}, {}
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    return json.loads(str(arrays.pop("numbers"))), arrays
"""
_WRITE = """\
part = arguments.output / "state.part"
with part.open("wb") as file:
    np.savez(file, numbers=json.dumps(numbers), **arrays)
part.replace(arguments.output / "state.npz")"""
_WRITE_ONCE = f"""\
if is_first(strategy):
{indented(_WRITE, 4)}
on_all(strategy, tf.zeros(()))  # nobody goes on, or ends, before it is written"""
_READ = 'kept.read_bytes() if there else b""'
BY_FIRST = {
    "given": "arguments, strategy",
    "write": _WRITE_ONCE,
    "who": "the first worker",
    "is_there": "is_first(strategy) and kept.is_file()",
    "content": f"of_first(strategy, {_READ})",
    "total": "on_all(strategy, v.value).numpy()",
    "restored": "counted if is_first(strategy) else []",
}
_BY_COORDINATOR = {
    "given": "arguments",
    "write": _WRITE,
    "who": "an earlier start",
    "is_there": "kept.is_file()",
    "content": _READ,
    "total": "v.numpy()",
    "restored": "counted",
}
STATE = """\


def write_state($given, variables, metrics, best_weights, numbers):
    \"\"\"Keep what a later start goes on from.\"\"\"
    counted = [v for metric in metrics for v in metric.variables]
    arrays = {f"variable{n}": v.numpy() for n, v in enumerate(variables)}
    totals = [$total for v in counted]
    arrays |= {f"counted{n}": total for n, total in enumerate(totals)}
    arrays |= {f"best{n}": weights for n, weights in enumerate(best_weights or [])}
    write_kept($given, numbers, arrays)


def read_state($given, variables, metrics$begin):
    \"\"\"Go on from what $who has kept, if any; its numbers.\"\"\"
    numbers, arrays = read_kept($given)
    if not numbers:
        return {}
    $phases
    for n, variable in enumerate(variables):
        variable.assign(arrays[f"variable{n}"])
    counted = [v for metric in metrics for v in metric.variables]
    for n, variable in enumerate($restored):
        variable.assign(arrays[f"counted{n}"])
    best = [arrays[f"best{n}"] for n in range(len(variables)) if f"best{n}" in arrays]
    return {**numbers, "best_weights": best or None}
"""

_PHASES = """\
for _ in range(numbers["phase"]):
    variables = begin()"""
_SETUP = """\
$first
kept = [*model.variables, *optimizer.variables]
state = read_state($given, kept, $metrics$begin)
$again
step = state.get("step", 0)
$record
$saved

$saving
def keep(epoch, losses=(), sizes=()):
    $settle
    numbers = {"epoch": epoch, "step": step, "sizes": list(sizes)}
    numbers["losses"] = [float(loss) for loss in losses]
    $keep_phase
    $keep_record
    $keep_saved
    write_state($given, kept, $metrics, $best_weights, numbers)
"""
_SAVING = """\
def save(path):
    if first:  # one writer
        model.$save(path)
"""

_ASK = """\
if step % ASK_EVERY == 0 and one_is_to_stop(strategy):
    keep(epoch, losses, sizes)
    if first:
        print(f"stopped after step {step}: --resume goes on", flush=True)
    return"""
_HEED = """\
if WISHES:
    keep(epoch, losses, sizes)
    print(f"stopped after step {step}: --resume goes on", flush=True)
    return"""


def run_workers(facts: ScriptFacts) -> str:
    """Say how the script is started."""
    if facts.serves:
        return fill(_RUN_SERVED, ended=_ENDED_IN_FIT if facts.by_fit else _ENDED)
    return fill(_RUN, stopped=_STOPPED_IN_FIT if facts.by_fit else _STOPPED_ANYWHERE)


def helpers(facts: ScriptFacts) -> str:
    """Return the functions by which workers agree, and keep and read their state."""
    if not facts.clusters:
        return ""
    words = BY_FIRST if facts.agrees else _BY_COORDINATOR
    later = bool(facts.plan.training.phases)
    heeding = fill(_HEEDING, often=_OFTEN if facts.agrees else "")
    agreeing = AGREEING if facts.agrees else ""
    kept = fill(KEPT, **words)
    words = {**words, "begin": ", begin" if later else "", "phases": _PHASES if later else ""}
    state = "" if facts.by_fit else fill(STATE, **words)
    return heeding + agreeing + kept + state


def setup(facts: ScriptFacts) -> str:
    """Return the lines before the first epoch."""
    training = facts.plan.training
    rule, saves = training.early_stopping, training.checkpoint.every_epochs > 0
    saving = "save_weights" if facts.plan.model.python is not None else "save"
    weights = rule is not None and rule.restore_best
    return fill(
        _SETUP,
        first="first = is_first(strategy)" if facts.agrees else "",
        given="arguments, strategy" if facts.agrees else "arguments",
        saving=fill(_SAVING, save=saving) if facts.agrees else "",
        settle="losses = settle(losses)" if facts.apart else "",
        metrics="metrics" if training.metrics else "[]",
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
    return keep + (_ASK if facts.agrees else _HEED)
