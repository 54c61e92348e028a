"""Optimizers.

By name with options, refused in words, and what is not refused works on several replicas.
"""

from __future__ import annotations

import json
import subprocess

import pytest
import warm_python
from hypothesis import given, settings
from hypothesis import strategies as st
from patience import PATIENCE_S

from gpu_studio.plan.catalogue import OPTIMIZERS
from gpu_studio.plan.values import Training
from gpu_studio.trainer.errors import PlanRefused

pytestmark = pytest.mark.slow


def made(optimizer="adam", **options):
    from gpu_studio.trainer.keras_objects import make_optimizer

    return make_optimizer(
        Training(optimizer=optimizer, options=options, learning_rate=0.25), 10, 100
    )


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_that_every_optimizer_of_the_catalogue_is_keras_own(name):
    optimizer = made(name)
    assert type(optimizer).__name__.lower() == name.replace("_", "")
    assert type(optimizer).__module__.startswith("keras.")
    assert float(optimizer.learning_rate) == 0.25


def test_that_options_reach_keras_and_may_be_whole_numbers():
    optimizer = made("sgd", momentum=0.9, nesterov=True, global_clipnorm=1, weight_decay=0.01)
    assert (optimizer.momentum, optimizer.nesterov, optimizer.weight_decay) == (0.9, True, 0.01)
    assert optimizer.global_clipnorm == 1.0


def test_that_averaged_weights_become_the_models_weights():
    import keras

    variable = keras.Variable([0.0])
    optimizer = made("sgd", use_ema=True, ema_momentum=0.5, ema_overwrite_frequency=2)
    optimizer.build([variable])
    for _ in range(2):
        optimizer.apply([keras.ops.convert_to_tensor([4.0])], [variable])
    # The steps lead to -1 and -2; the average starts with the first and is halfway to the second.
    assert float(variable.numpy()[0]) == pytest.approx(-1.5)


def test_that_float16_gets_its_loss_scaled_and_bfloat16_does_not():
    import keras

    scaled = {}
    try:
        for policy in ("float32", "mixed_bfloat16", "mixed_float16"):
            keras.config.set_dtype_policy(policy)
            scaled[policy] = isinstance(made(), keras.optimizers.LossScaleOptimizer)
    finally:
        keras.config.set_dtype_policy("float32")
    assert scaled == {"float32": False, "mixed_bfloat16": False, "mixed_float16": True}


@pytest.mark.parametrize(
    ("optimizer", "options", "words", "advice"),
    [
        ("adm", {}, r'training\.optimizer is "adm"', "adam"),
        ("LossScaleOptimizer", {}, r'training\.optimizer is "LossScaleOptimizer"', "adam"),
        (
            "sgd",
            {"momentun": 0.9},
            r"training\.options\.momentun is not an option of sgd",
            "momentum",
        ),
        ("sgd", {"beta_1": 0.9}, r"beta_1 is not an option of sgd", "momentum"),
        ("sgd", {"momentum": "0.9"}, r'options\.momentum is "0\.9" \(a string\)', "below 1"),
        ("sgd", {"momentum": True}, r"options\.momentum is true", "below 1"),
        ("sgd", {"nesterov": 1}, r"options\.nesterov is 1", "true or false"),
        ("adam", {"beta_2": 1}, r"options\.beta_2 is 1", "below 1"),
        ("adam", {"epsilon": float("inf")}, r"options\.epsilon is inf", "number"),
        ("adam", {"clipnorm": 0}, r"options\.clipnorm is 0", "above 0"),
        ("adam", {"weight_decay": -0.1}, r"options\.weight_decay is -0\.1", "0 or more"),
        (
            "adam",
            {"gradient_accumulation_steps": 1},
            r"gradient_accumulation_steps is 1",
            "2 or more",
        ),
        (
            "adam",
            {"learning_rate": 0.1},
            r"options\.learning_rate stands where it has no effect",
            "training.learning_rate",
        ),
        ("adam", {"name": "mine"}, r"options\.name is not an option", ""),
        (
            "adam",
            {"clipnorm": 1.0, "clipvalue": 1.0},
            "Only one of `clipnorm`, `clipvalue`",
            "training.options",
        ),
        ("muon", {"exclude_layers": [1]}, r"options\.exclude_layers is 1", "string"),
    ],
)
def test_that_a_wrong_optimizer_or_option_is_refused_with_advice(optimizer, options, words, advice):
    with pytest.raises(PlanRefused, match=words) as refused:
        made(optimizer, **options)
    assert advice in refused.value.suggestions[0]


plain = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
anything = plain | st.lists(plain, max_size=2)
names = st.sampled_from(
    ["momentum", "clipnorm", "nesterov", "beta_1", "use_ema", "ema_momentum"]
) | st.text(max_size=8)


@settings(max_examples=60)
@given(st.sampled_from(OPTIMIZERS), st.dictionaries(names, anything, max_size=3))
def test_that_any_options_make_an_optimizer_or_are_refused(optimizer, options):
    from gpu_studio.trainer.keras_objects import make_optimizer

    training = Training(optimizer=optimizer, options=options)
    try:
        made_one = make_optimizer(training, 1, 1)
    except PlanRefused as refused:
        made_one = refused
    assert getattr(made_one, "suggestions", None) or hasattr(made_one, "apply")


# Two logical CPUs have to be made before TensorFlow starts, so this is a process of its own. Its
# result: for every optimizer and strategy how far two steps take it from one device. As the trainer
# does, it sums the gradients over the replicas first and keeps Keras from summing them again.
TWO_REPLICAS = """
import json, sys
import numpy as np, tensorflow as tf
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
from gpu_studio.plan.values import Training
from gpu_studio.trainer.keras_objects import make_optimizer
from gpu_studio.trainer.replica_updates import update_by_sums
import keras

START = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)

def stepped(strategy, training):
    with strategy.scope():
        variable = keras.Variable(START)
        optimizer = make_optimizer(training, 1, 2)
        optimizer.build([variable])
    replicas = strategy.num_replicas_in_sync
    update_by_sums(optimizer, strategy)
    def replica():
        context = tf.distribute.get_replica_context()
        gradient = tf.constant(START ** 2 + 0.1) * 2.0 / replicas
        if replicas > 1:
            gradient = context.all_reduce("SUM", gradient)
        optimizer.apply([gradient], [variable])
    step = tf.function(lambda: strategy.run(replica))
    step(); step()
    return np.asarray(variable.value.read_value())

cpus = ["CPU:0", "CPU:1"]
strategies = {
    "mirrored": tf.distribute.MirroredStrategy(cpus, tf.distribute.ReductionToOneDevice()),
    "central_storage": tf.distribute.experimental.CentralStorageStrategy(cpus, "CPU:0"),
}
results = {}
for name, options in json.loads(sys.argv[1]):
    training = Training(optimizer=name, options=options, learning_rate=0.05)
    alone = stepped(tf.distribute.get_strategy(), training)
    for kind, strategy in strategies.items():
        off = float(np.abs(stepped(strategy, training) - alone).max())
        results[f"{name} {sorted(options)} {kind}"] = off, float(np.abs(alone - START).max())
print(json.dumps(results))
"""

CASES = [
    *((name, {}) for name in OPTIMIZERS),
    ("sgd", {"clipnorm": 0.05}),
    ("sgd", {"global_clipnorm": 0.05, "weight_decay": 0.1}),
    ("sgd", {"clipvalue": 0.02}),
    ("sgd", {"use_ema": True, "ema_overwrite_frequency": 1}),
    ("sgd", {"gradient_accumulation_steps": 2}),
    ("adamw", {"gradient_accumulation_steps": 2, "use_ema": True, "ema_overwrite_frequency": 1}),
]


def test_that_an_optimizer_steps_on_two_replicas_as_on_one():
    command = [*warm_python.command("-c"), TWO_REPLICAS, json.dumps(CASES)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    results = json.loads(done.stdout)
    assert len(results) == 2 * len(CASES)
    for case, (off, moved) in results.items():
        assert moved > 1e-5, case
        assert off == pytest.approx(0, abs=1e-6), case


def test_that_the_rate_of_a_compiled_optimizer_can_be_set_after_a_phase_has_set_it():
    import keras

    from gpu_studio.plan import Named
    from gpu_studio.trainer.keras_objects import make_optimizer

    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile(keras.optimizers.Adam(0.5), "mse")
    phase = Training(optimizer="auto", learning_rate=0.25, schedule=Named("constant"))
    optimizer = make_optimizer(phase, 10, 100, model)
    assert float(optimizer.learning_rate) == 0.25
    optimizer.learning_rate = 0.125  # as ReduceLROnPlateau does
    assert float(optimizer.learning_rate) == 0.125
