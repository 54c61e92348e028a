"""The phases of a training: other layers frozen, and a new optimizer with its own rate.

It is what a program does that compiles its model anew between two calls of `fit`: what the
optimizer before knew is lost, and what averages it kept are the weights.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import tensorflow as tf

from gpu_studio.contract import PhaseBegan
from gpu_studio.plan import Named
from gpu_studio.trainer import keras_objects
from gpu_studio.trainer.models.building import freeze
from gpu_studio.trainer.placed import PlacedProgram
from gpu_studio.trainer.session import Session


def keeps_averages(session: Session) -> bool:
    """Whether the optimizer keeps averages, which are the weights where its phase or run ends."""
    return bool(keras_objects.averages(session.optimizer))


def begin_phase(session: Session, number: int) -> PhaseBegan:
    """Freeze the layers of phase `number`, from 1, and begin with its optimizer; say so.

    Raises ModelError for layers that cannot be frozen, and PlanRefused for an optimizer.
    """
    plan, program, model = session.plan, session.program, session.model
    phase = plan.training.phases[number - 1]
    constant = replace(plan.training, learning_rate=phase.learning_rate, schedule=Named("constant"))
    steps = session.passes.steps_per_epoch or 0
    with tf.device(session.spread.made_on), session.spread.strategy.scope():
        freeze(model, phase.frozen)
        optimizer = keras_objects.make_optimizer(
            constant, steps, steps * constant.trained_epochs, model
        )
        placed = program.placed if isinstance(program, PlacedProgram) else model
        # As in a session: slots lie where their variables do.
        optimizer.build(placed.trainable_variables)
        program.begin_with(optimizer)
    session.optimizer, session.phase = optimizer, number
    count = sum(int(np.prod(variable.shape)) for variable in model.trainable_variables)
    return PhaseBegan(
        number=number + 1,
        after=phase.after,
        optimizer=keras_objects.optimizer_name(optimizer),
        learning_rate=phase.learning_rate,
        parameters=count,
    )
