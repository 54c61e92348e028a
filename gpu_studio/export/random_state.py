"""The random numbers of dropout: the same in every step of every run, whoever computes it."""

from __future__ import annotations

from gpu_studio.export.facts import Facts

_STATES = """\
# Layers that draw random numbers keep their state in variables of their own.
weights = {id(variable) for variable in model.weights}
states = [each for each in model.variables if id(each) not in weights]
seeds = [int(np.asarray(state)[0]) for state in states]"""

_RESEED = """\
# Random numbers follow from the number of the step alone, so that any step can be done
# again; a layer draws fewer than 4,096 times in one.
for state, seed in zip(states, seeds):
    state.assign(tf.stack([seed, step * 4096]))"""


def state_names(facts: Facts) -> str:
    """The lines that find the random states of the model; empty if nothing draws."""
    return _STATES if facts.draws else ""


def reseeding(facts: Facts) -> str:
    """The lines at the beginning of a step that set the random states, where there is one replica."""
    return _RESEED if facts.draws else ""
