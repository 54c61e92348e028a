"""What a script for `fit` has more where it is started once for each of several workers.

Keras hands batches to the replicas of one process; here each worker takes its replicas' parts of
the batches that all of them read. The workers keep a state at the end of each epoch, from which a
later start goes on to the same losses, with as many of them as there are then.
"""

from __future__ import annotations

from gpu_studio.export.fitted import FittedPlan
from gpu_studio.export.script_text import call, fill, functions_of, source_below_imports

_GOES_ON = """\
LEFT_OUT = []  # how many batches of the first pass an earlier start has trained on


class GoesOn(keras.src.backend.tensorflow.trainer.TFEpochIterator):
    \"\"\"Goes on within a pass: Keras counts the batches of each, and asks for no more.\"\"\"

    def reset(self):
        super().reset()
        if LEFT_OUT and LEFT_OUT[0]:
            rest = self.data_adapter.get_tf_dataset().skip(LEFT_OUT[0])
            distribute = self._distribute_strategy.experimental_distribute_dataset
            self._current_iterator = iter(distribute(rest))
            self._steps_seen = LEFT_OUT[0]
        LEFT_OUT.clear()


def done_of_pass(dataset, steps):
    \"\"\"How many batches of the pass under way are among so many.\"\"\"
    batches = int(dataset.cardinality())
    if batches == tf.data.INFINITE_CARDINALITY or not steps:
        return steps
    if batches == tf.data.UNKNOWN_CARDINALITY:
        batches = sum(1 for _ in dataset)
    return steps % batches


"""
_SHARED_OUT = """\
def share_out_batches(strategy):
    \"\"\"Let `fit` give each replica of each worker its part of a batch.

    The parts are as even as can be, and all workers read the same batches: Keras would
    have each of them read its own, and cut those.
    \"\"\"
    replicas = strategy.num_replicas_in_sync
    mine = len(strategy.extended.worker_devices)
    first = (strategy.cluster_resolver.task_id or 0) * mine  # alone it has no number

    def cut(batch):
        size = tf.shape(keras.tree.flatten(batch)[0], tf.int64)[0]
        share, extra = size // replicas, size % replicas

        def part(number):
            start = number * share + tf.minimum(number, extra)
            stop = start + share + tf.cast(number < extra, tf.int64)
            return keras.tree.map_structure(lambda each: each[start:stop], batch)

        return tf.data.Dataset.range(first, first + mine).map(part)

    def parts_of(dataset):
        whole = tf.data.Dataset.zip((dataset,))  # also of what is no tuple
        return strategy.distribute_datasets_from_function(lambda _: whole.flat_map(cut))

    def reducing(reduce):
        # Over workers Keras 3.15 takes the mean of an axis that a number does not have.
        def reduced(values, strategy, reduction):
            if reduction == "concat":
                return reduce(values, strategy, reduction)
            return keras.tree.map_structure(
                lambda each: strategy.reduce("MEAN", each, axis=None), values
            )

        return reduced

    strategy.experimental_distribute_dataset = parts_of
    trainer = keras.src.backend.tensorflow.trainer
    trainer.TFEpochIterator = GoesOn
    trainer.reduce_per_replica = reducing(trainer.reduce_per_replica)


"""

_READ_HERE = functions_of("strategies/parameter_server.py", "read_batches_here")

_KEEPING = """\
class KeepsState(keras.callbacks.Callback):
    \"\"\"Keeps what a later start goes on from, and ends all after the same step.\"\"\"

    def __init__(self, arguments, strategy, state, others$phases):
        super().__init__()
        self.arguments, self.strategy, self.others = arguments, strategy, others
        self.numbers, self.arrays = state
        self.steps, self.last = self.numbers.get("steps", 0), self.arrays
        $kept_phases

    def optimizers(self):
        held = [self.model.optimizer, *vars(self.model).values()]
        found = [each for each in held if isinstance(each, keras.optimizers.Optimizer)]
        return list({id(each): each for each in found}.values())

    def variables(self):
        \"\"\"All that decides how training goes on; metrics begin anew with each epoch.\"\"\"
        counted = {id(each) for each in self.model.metrics_variables}
        weights = [each for each in self.model.variables if id(each) not in counted]
        weights.append(keras.src.random.seed_generator.global_seed_generator().state)
        return [*weights, *(v for each in self.optimizers() for v in each.variables)]

    def on_train_begin(self, logs=None):
        self.remembered = [KeptAttributes(each) for each in self.others]
        if not self.numbers:
            return
        $begin_phases
        with self.strategy.scope():
            for optimizer, places in zip(self.optimizers(), self.numbers["trained"]):
                if places and not optimizer.built:
                    optimizer.build([self.model.variables[place] for place in places])
        for place, variable in enumerate(self.variables()):
            variable.assign(self.arrays[f"variable{place}"])
        for kept, remembered in zip(self.numbers["callbacks"], self.remembered):
            remembered.restore(kept, self.arrays)

    def on_train_batch_end(self, batch, logs=None):
        self.steps += 1
        $stop

    def on_epoch_end(self, epoch, logs=None):
        $agree
        held = enumerate(self.variables())
        self.last = {f"variable{n}": np.asarray(v) for n, v in held}
        self.keep(epoch + 1)

    def on_train_end(self, logs=None):
        if self.last:
            self.keep(self.arguments.epochs)

    def keep(self, epoch):
        # By the end `fit` has made averages the weights: a later start goes on from
        # those of the last epoch.
        arrays = {**self.last}
        places = {id(each): place for place, each in enumerate(self.model.variables)}
        numbers = {"epoch": epoch, "steps": self.steps, "trained": []}
        for each in self.optimizers():
            inner = getattr(each, "inner_optimizer", each)
            trained = inner._trainable_variables if each.built else []
            numbers["trained"].append([places[id(v)] for v in trained])
        states = [
            each.state(arrays, f"callback{place}")
            for place, each in enumerate(self.remembered)
        ]
        numbers["callbacks"] = [kept for kept, _ in states]
        write_kept($given, numbers, arrays)


"""
_STOP_ALL = """\
if self.steps % ASK_EVERY == 0 and one_is_to_stop(self.strategy):
    if is_first(self.strategy):
        print(f"stopped after step {self.steps}: --resume goes on", flush=True)
    raise SystemExit"""
_STOP = """\
if WISHES:
    print(f"stopped after step {self.steps}: --resume goes on", flush=True)
    raise SystemExit"""
_AGREE = """\
ending = tf.constant(float(self.model.stop_training))
mine = len(self.strategy.extended.worker_devices)
workers = self.strategy.num_replicas_in_sync // mine
if on_all(self.strategy, ending) not in (0.0, float(workers)):
    raise SystemExit("A callback ends the training of some workers only.")"""
_BEGIN_PHASES = """\
for after, rate, frozen in PHASES:
    if after < self.numbers["epoch"]:
        self.phases.begin(rate, frozen)"""


def fit_workers(fitted: FittedPlan) -> str:
    """The functions by which workers share batches, and keep their state; empty without workers."""
    if not fitted.facts.clusters:
        return ""
    later = bool(fitted.plan.training.phases)
    keeping = fill(
        _KEEPING,
        phases=", phases" if later else "",
        kept_phases="self.phases = phases" if later else "",
        begin_phases=_BEGIN_PHASES if later else "",
        stop=_STOP_ALL if fitted.facts.agrees else _STOP,
        agree=_AGREE if fitted.facts.agrees else "",
        given="self.arguments, self.strategy" if fitted.facts.agrees else "self.arguments",
    )
    handed = _SHARED_OUT if fitted.facts.agrees else _READ_HERE
    return f"{_GOES_ON}{handed}{source_below_imports('callbacks/kept.py')}\n\n{keeping}"


SETUP = """\
share_out_batches(strategy)
first = is_first(strategy)
state = read_kept(arguments, strategy)
begun = state[0].get("epoch", 0)"""
"""The lines of `train` before the data."""
SETUP_SERVED = """\
read_batches_here(strategy)
keras.src.backend.tensorflow.trainer.TFEpochIterator = GoesOn
state = read_kept(arguments)
begun = state[0].get("epoch", 0)"""
"""These lines where servers hold the variables."""


SKIPPED_OF_ARRAYS = """\
trained = state[0].get("steps", 0)
passes = itertools.count(trained // steps_of_pass)
LEFT_OUT.append(trained % steps_of_pass)"""
"""The lines that go on within a pass over arrays."""
SKIPPED_OF_STREAM = """\
trained = state[0].get("steps", 0)
again = isinstance(training, tf.data.Dataset)  # which can be read more than once
LEFT_OUT.append(done_of_pass(training, trained) if again else trained)"""
"""The lines that go on within a stream."""
ONE_WRITER = """\
if not first:
    writers = keras.callbacks.CSVLogger, keras.callbacks.ModelCheckpoint
    nothing = keras.callbacks.Callback
    kept = [nothing() if type(each) in writers else each for each in kept]"""
"""The lines that leave files to the first worker."""


def kept_state(fitted: FittedPlan, others: str) -> str:
    """Return the expression that makes the callback which keeps the state, also of others."""
    phases = ["later"] if fitted.plan.training.phases else []
    given = ["arguments", "strategy", "state", others, *phases]
    return call("", "KeepsState", given, indent=8)
