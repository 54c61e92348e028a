"""The functions `train` and `main` of a script: they create everything, and loop over the epochs.

At the end of an epoch it saves the model and stops early, by the plan's rules and the metric
that decides which epoch was the best.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpu_studio.export import passes, phases, workers
from gpu_studio.export import steps as compiled
from gpu_studio.export.data import split_names
from gpu_studio.export.facts import ScriptFacts
from gpu_studio.export.joined_updates import LET_UPDATE_FOR_ALL
from gpu_studio.export.model import counts_tokens
from gpu_studio.export.model import parameters as model_parameters
from gpu_studio.export.optimizers import optimizer_parameters
from gpu_studio.export.prepared import preparing
from gpu_studio.export.saving import (
    saves,
    saving_at_end,
    saving_at_end_of_epoch,
    saving_in_epoch,
    saving_setup,
)
from gpu_studio.export.script_text import call, fill, indented
from gpu_studio.export.stopping import (
    after_stopping,
    due_validation,
    stopping_at_end_of_epoch,
    stopping_setup,
)
from gpu_studio.export.strategies import written_as

_MAIN = """\
def main():
    \"\"\"Read the arguments, set up the devices, and train.\"\"\"
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    $output
    $resume
    arguments = parser.parse_args()
    $directory

    $load
    $set_up
    $begin


if __name__ == "__main__":
    main()
"""
"""The function `main` of a script, which both of its forms have."""

_TRAIN = """\
def train($parameters):
    \"\"\"Train from the first step to the last.\"\"\"
    $strategy
    $precision
    parts = load_data()
    $found
    # In host memory, whatever the devices: batches are sent to them as they are needed.
    with tf.device("CPU:0"):
        $splits = [tuple(map(tf.constant, part)) for part in parts]
    batch_size = BATCH_SIZE$times
    samples = len(training[0])
    $steps_per_epoch

    $scope
    $logits
    loss_of = make_loss($found_later)
    $make_metrics
    $make_steps

    $count_steps
    $before
    for epoch in range($epochs):
        $phase
        losses, sizes = $begun
        $order
        for x, y in $batches:
            $share
            losses.append(train_step($batch))
            sizes.append(len(x))
            $in_epoch
        results = results_of($taken, sizes$with_metrics)
        $validate
        $show
        if not np.isfinite(results["loss"]):
            raise SystemExit("The loss is no number any more: lower the learning rate.")
        $save
        $stop
        $keep
    $after
    $test


$main"""

_ON_HOST = """\
# The host computes what nothing below puts on a device. TensorFlow would take the first
# card for it, which need not be one of those that train.
with tf.device("CPU:0"):
    train(arguments)"""

_ON_HOST_OF_COORDINATOR = """\
cluster, task = cluster_named()
if task["type"] != "chief":
    serve(cluster, task)
    return
arguments.output.mkdir(parents=True, exist_ok=True)
set_up_devices()
strategy = make_strategy()
heed_signals()
# The host computes what nothing below puts on a device.
with tf.device("CPU:0"):
    train(arguments, strategy)"""

_ON_HOST_OF_WORKER = """\
# First of all: TensorFlow starts its devices when it joins the cluster. It then takes
# SIGTERM to itself, and swallows it.
heed_signals()
strategy = make_strategy()
heed_signals()
# The host computes what nothing below puts on a device.
with tf.device("CPU:0"):
    train(arguments, strategy)"""

_NEXT_PHASE = """\
while phase < len(PHASES) and PHASES[phase][0] <= epoch:
    kept = begin_next()"""
_ALL_BATCHES = "batches(training, batch_size, order_of(samples, epoch))"
_NEXT_BATCHES = """\
# The next $asked batches, or what is left of this pass over the samples.
passes, begun = divmod($done, steps_of_pass)
order = order_of(samples, passes)[begun * batch_size :][: $asked * batch_size]"""
_RESUME = 'parser.add_argument("--resume", action="store_true")'
_BEGUN = 'state.pop("losses", []), state.pop("sizes", [])'
_REST = "rest = $order[sum(sizes) :]  # without what is done"
_OUTPUT = 'parser.add_argument("--output", type=Path, default=Path("trained"))'
_DIRECTORY = "arguments.output.mkdir(parents=True, exist_ok=True)"

_PRECISION = """\
# Layers compute in 16 bits and keep their weights in 32. bfloat16 has float32's range;
# cards before Ampere do not compute it fast, and get float16 with a scaled loss.
cards = tf.config.list_physical_devices("GPU")
details = map(tf.config.experimental.get_device_details, cards)
old = any(each.get("compute_capability", (8, 0)) < (8, 0) for each in details)
policy = "mixed_float16" if old else "mixed_bfloat16"
keras.mixed_precision.set_global_policy(policy)"""

_PRECISION_OF_CPUS = """\
# Layers compute in 16 bits and keep their weights in 32. bfloat16 has float32's range, so
# that the loss needs no scaling.
keras.mixed_precision.set_global_policy("mixed_bfloat16")"""

_SCOPE = """\
# In the strategy's scope, variables are made where it keeps them: $where.
with strategy.scope():
    $make"""

_MAKE = """\
model = build_model($model_arguments)
$prepare
$place
optimizer = make_optimizer($optimizer_arguments)
$place_updates
# Built now, so that its variables lie where the model's do. Left to the first
# step, all of them would land on the first device.
optimizer.build(model.trainable_variables)
$join
$slots"""


def training(facts: ScriptFacts) -> str:
    """The functions `train` and `main`."""
    metrics = bool(facts.plan.training.metrics)
    counts = facts.draws or facts.plan.training.checkpoint.every_steps > 0 or facts.clusters
    several_later = facts.several and facts.plan.training.batch_scope == "replica"
    return fill(
        _TRAIN,
        main=main(facts),
        **_epochs(facts),
        precision=precision(facts),
        found=_found(facts),
        splits=_unpacked(split_names(facts)),
        times=" * strategy.num_replicas_in_sync" if several_later else "",
        steps_per_epoch=_counted(facts),
        phase=_phase(facts),
        scope=_scope(facts),
        logits=_asked(facts),
        found_later=facts.found_later,
        make_metrics=f"metrics, update_metrics = make_metrics({facts.found_later})"
        if metrics
        else "",
        make_steps=_make_steps(facts, 4),
        before=_before(facts),
        share="shares = share_out(strategy, x, y)" if facts.several else "",
        batch=_training_batch(facts),
        count_steps="\n".join(_counters(facts, counts)),
        in_epoch="\n".join(_in_epoch(facts, counts)),
        validate=_validated(facts),
        save=saving_at_end_of_epoch(facts),
        stop=stopping_at_end_of_epoch(facts),
        after="\n".join(filter(None, (after_stopping(facts), saving_at_end(facts)))),
        test=_tested(facts),
        **passes.words(facts),
    )


def _counters(facts: ScriptFacts, counts: bool) -> Iterator[str]:
    if counts and not facts.clusters:
        yield "step = 0"
    if facts.plan.training.steps_per_epoch and not facts.clusters:
        yield "done = 0"
    if at_most := facts.plan.training.validation_steps:
        yield f"samples_evaluated = {at_most} * batch_size"
        yield "validation = [each[:samples_evaluated] for each in validation]"


def _in_epoch(facts: ScriptFacts, counts: bool) -> Iterator[str]:
    if counts:
        yield "step += 1"
    if facts.plan.training.steps_per_epoch and not facts.clusters:
        yield "done += 1"
    if saving := saving_in_epoch(facts):
        yield saving


def _epochs(facts: ScriptFacts) -> dict[str, str]:
    """Return what the loop over the epochs begins with, and what shows and keeps one."""
    asked = facts.plan.training.steps_per_epoch
    shown = 'show(f"epoch {epoch + 1}/{arguments.epochs}", results)'
    done = "step - len(sizes)" if facts.clusters else "done"
    order = fill(_NEXT_BATCHES, asked=str(asked), done=done) if asked else ""
    if facts.clusters:
        rest = fill(_REST, order="order" if asked else "order_of(samples, epoch)")
        return {
            "parameters": "arguments, strategy",
            "strategy": "",
            "epochs": 'state.get("epoch", 0), arguments.epochs',
            "begun": _BEGUN,
            "order": f"{order}\n{rest}".lstrip("\n"),
            "batches": "batches(training, batch_size, rest)",
            "show": f"if first:\n    {shown}" if facts.agrees else shown,
            "keep": "keep(epoch + 1)",
        }
    return {
        "parameters": "arguments",
        "strategy": "strategy = make_strategy()" if written_as(facts.plan).has_scope else "",
        "epochs": "arguments.epochs",
        "begun": "[], []",
        "order": order,
        "batches": "batches(training, batch_size, order)" if asked else _ALL_BATCHES,
        "show": shown,
        "keep": "",
    }


def _before(facts: ScriptFacts) -> str:
    """Return the lines before the first epoch."""
    if facts.clusters:
        steps = _make_steps(facts, 8)
        later = phases.following(facts, steps, compiled.names(facts))
        return "\n".join(filter(None, [later, workers.setup(facts)]))
    return "\n".join(filter(None, [stopping_setup(facts), saving_setup(facts)]))


def main(facts: ScriptFacts) -> str:
    """Return the function `main`, and its call."""
    return fill(
        _MAIN,
        output=_OUTPUT if saves(facts) else "",
        resume=_RESUME if facts.clusters else "",
        directory=_DIRECTORY if saves(facts) and not facts.serves else "",
        set_up="" if facts.serves else "set_up_devices()",
        load="load_libraries(CUDA_LIBRARIES)" if facts.may_use_cards else "",
        begin=_begin(facts),
    )


def _begin(facts: ScriptFacts) -> str:
    """Return the lines that call `train`."""
    if facts.serves:
        return _ON_HOST_OF_COORDINATOR
    if facts.clusters:
        return _ON_HOST_OF_WORKER
    chooses_devices = written_as(facts.plan).has_scope or facts.placed is not None
    return _ON_HOST if chooses_devices else "train(arguments)"


_ASSUMED = """\
logits = ends_in_logits(model)
# The model was not known when this script was written.
fits = tuple(model.outputs[0].shape[1:]) == ($outputs,)
if not fits$more:
    raise SystemExit("Export the plan again, once its page has shown this model.")"""
_SIGMOID = " or not (logits or np.any(training[1] % 1))"


def _asked(facts: ScriptFacts) -> str:
    """Return the lines that ask a model of which nothing was known."""
    if facts.logits != "logits":
        return ""
    values = facts.met.kind == "values"
    return fill(_ASSUMED, outputs=facts.outputs, more=_SIGMOID if values else "")


_STEPS_PER_EPOCH = "steps_per_epoch = -(-samples // batch_size)  # rounded up"
_SOME_STEPS = """\
steps_of_pass = -(-samples // batch_size)  # rounded up
steps_per_epoch = min($asked, steps_of_pass)"""


def _counted(facts: ScriptFacts) -> str:
    """Return the lines that count the steps of an epoch, where anything needs their number."""
    if asked := facts.plan.training.steps_per_epoch:
        lines = fill(_SOME_STEPS, asked=str(asked))
        needed = "steps_per_epoch" in optimizer_parameters(facts)
        return lines if needed else lines.split("\n")[0]
    return _STEPS_PER_EPOCH if "steps_per_epoch" in optimizer_parameters(facts) else ""


def _make_steps(facts: ScriptFacts, indent: int) -> str:
    names = ", ".join(compiled.names(facts))
    return call(f"{names} = ", "make_steps", compiled.parameters(facts), indent=indent)


def _phase(facts: ScriptFacts) -> str:
    if facts.clusters:
        return _NEXT_PHASE if facts.plan.training.phases else ""
    joins = LET_UPDATE_FOR_ALL if facts.joins else ""
    place = "place_updates(optimizer)" if facts.placed else ""
    return phases.beginning(facts, _make_steps(facts, 16), joins, place)


def precision(facts: ScriptFacts) -> str:
    """Return the lines that set the precision; empty for float32."""
    if not facts.plan.training.mixed_precision:
        return ""
    chosen = facts.devices
    on_cpus = facts.serves or (bool(chosen) and all(name.startswith("CPU") for name in chosen))
    return _PRECISION_OF_CPUS if on_cpus else _PRECISION


def _found(facts: ScriptFacts) -> str:
    lines = []
    if "classes" in (facts.outputs, *model_parameters(facts)):
        lines.append("classes = 1 + max(int(y.max()) for _, y in parts)")
    if counts_tokens(facts):
        lines.append("tokens = 1 + max(int(x.max()) for x, _ in parts)")
    return "\n".join(lines)


def _unpacked(names: list[str]) -> str:
    return f"({names[0]},)" if len(names) == 1 else ", ".join(names)


def _scope(facts: ScriptFacts) -> str:
    arguments = {"steps_per_epoch": "steps_per_epoch", "epochs": "arguments.epochs"}
    make = fill(
        _MAKE,
        model_arguments=", ".join(model_parameters(facts)),
        optimizer_arguments=", ".join(arguments[name] for name in optimizer_parameters(facts)),
        prepare=preparing(facts),
        place="place(model)" if facts.placed else "",
        place_updates="place_updates(optimizer)" if facts.placed else "",
        join=LET_UPDATE_FOR_ALL if facts.joins else "",
        slots=phases.slots_moved(facts, "optimizer"),
    ).rstrip("\n")
    written = written_as(facts.plan)
    return fill(_SCOPE, where=written.variables, make=make) if written.has_scope else make


def _training_batch(facts: ScriptFacts) -> str:
    step = ", tf.constant(step, tf.int64)" if facts.draws else ""
    if facts.several:
        return f"*shares{step}"
    if facts.serves:
        return "x, y, step"
    return f"cut(x, y){step}" if facts.in_parts else f"x, y{step}"


def _validated(facts: ScriptFacts) -> str:
    if not facts.validates:
        return ""
    prefixed = 'results |= {f"val_{name}": value for name, value in validated.items()}'
    due = due_validation(facts)
    lines = f"{passes.evaluated(facts, 'validation', 'validated', 12 if due else 8)}\n{prefixed}"
    return f"if {due}:\n{indented(lines, 4)}" if due else lines


def _tested(facts: ScriptFacts) -> str:
    if not facts.tests:
        return ""
    prefixed = 'show("test", {f"test_{name}": value for name, value in results.items()})'
    if facts.agrees:
        prefixed = f"if first:\n    {prefixed}"
    return f"{passes.evaluated(facts, 'test', 'results', 4)}\n{prefixed}"
