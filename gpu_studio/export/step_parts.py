"""What every kind of compiled step has: the model's call, the scaled loss, random numbers.

The random numbers of dropout are the same in every step of every run, on any device.
"""

from __future__ import annotations

from gpu_studio.export.facts import ScriptFacts

_SCALED = "scaled = optimizer.scale_loss(loss)  # larger where float16 needs it"

_OUTPUTS_OF = """\
def outputs_of(x, training):
    \"\"\"The model's only output, also out of a dictionary or list, in float32.\"\"\"
    (outputs,) = keras.tree.flatten(model(x, training=training))
    return tf.cast(outputs, tf.float32)
"""


def scaling(facts: ScriptFacts) -> dict[str, str]:
    """Return the line that scales the loss, if any, and what gradients are then computed of."""
    return (
        {"scaled": _SCALED, "target": "scaled"}
        if facts.scales
        else {"scaled": "", "target": "loss"}
    )


def called(facts: ScriptFacts, training: str) -> str:
    """Return the model's outputs as an expression.

    They are float32 even where the file's model returns another type.
    """
    return (
        f"outputs_of(x, training={training})"
        if facts.from_file
        else f"model(x, training={training})"
    )


def unwrapping(facts: ScriptFacts) -> str:
    """Return the function that extracts the outputs of a model.

    It is empty unless nothing is known here about the model.
    """
    return _OUTPUTS_OF if facts.from_file else ""


_STATES = """\
# Layers that draw random numbers keep their state in variables of their own.
states = [each for each in model.variables if each.name == "seed_generator_state"]
seeds = [int(np.asarray(state)[0]) for state in states]"""

_SHARED = """\
# Layers without a seed draw from a state that Keras keeps under no public name.
shared = keras.src.random.seed_generator.global_seed_generator()
states, seeds = [*states, shared.state], [*seeds, SEED]"""

SHARE = """\
# Each replica runs in a thread of its own, and Keras keeps a shared state for each.
global_state = keras.src.backend.common.global_state
global_state.set_global_attribute("global_seed_generator", shared)"""

_IN_REPLICA = """\
# Random numbers follow from the step and the replica alone, so that any step can be done
# again; a layer draws fewer than 4,096 times in one.
replica = tf.distribute.get_replica_context().replica_id_in_sync_group
draw = (step * replicas + tf.cast(replica, tf.int64)) * 4096
drawn = [(state, tf.stack([seed, draw])) for state, seed in zip(states, seeds)]"""

_RESEED = """\
# Random numbers follow from the number of the step alone, so that any step can be done
# again; a layer draws fewer than 4,096 times in one.
for state, seed in zip(states, seeds):
    state.assign(tf.stack([seed, step * 4096]))"""


def state_names(facts: ScriptFacts) -> str:
    """Return the lines that find the random states of the model; empty if nothing draws."""
    if not facts.draws:
        return ""
    return f"{_STATES}\n{_SHARED}" if facts.from_file else _STATES


def drawn_in_replica(facts: ScriptFacts) -> str:
    """Return the lines that give the random states at the beginning of a replica's step.

    Empty if nothing draws.
    """
    return _IN_REPLICA if facts.draws else ""


def reseeding(facts: ScriptFacts) -> str:
    """Return the lines that set the random states at the beginning of a step.

    They serve plans with one replica.
    """
    return _RESEED if facts.draws else ""
