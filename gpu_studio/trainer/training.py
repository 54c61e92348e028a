"""Train a plan from its first step, or from its checkpoint, to its end."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gpu_studio.contract.directory import RunDirectory
from gpu_studio.contract.event_writer import EventWriter
from gpu_studio.contract.events import Finished, Log, StateChanged
from gpu_studio.plan import Plan
from gpu_studio.trainer import resuming, session, user_code
from gpu_studio.trainer.checkpoints import Checkpoints
from gpu_studio.trainer.control import Control
from gpu_studio.trainer.failures import FailureContext
from gpu_studio.trainer.loop import Loop
from gpu_studio.trainer.progress import Reached
from gpu_studio.trainer.telemetry import Telemetry


def train_plan(
    run: RunDirectory,
    plan: Plan,
    writer: EventWriter,
    control: Control,
    reached: Reached,
    context: FailureContext,
) -> Finished:
    """Train, reporting to `writer` and obeying `control`; return how it ended.

    `context` is given what explains a failure. Raises TrainerError, and what TensorFlow raises.
    """
    stored = resuming.stored(run)
    context.session = made = session.build(plan, context.base, writer.write)
    context.meter = session.memory_meter(made)
    reported = user_code.codes_imported_by_name(plan, context.base)
    for code in reported:
        writer.write(code)
    if plan.devices.log_placement:
        writer.write(Log(message="Where each operation was placed stands in trainer.log."))
    if stored is not None:
        reached.progress, said = resuming.progress_in(stored[0], made)
        writer.write(said)
        for warned in resuming.other_draws(stored[0], made):
            writer.write(warned)
    telemetry = Telemetry(run, writer, context.meter)
    try:
        return _loop(run, made, writer, control, reached, telemetry, stored[1] if stored else {})
    finally:
        for code in user_code.codes_imported_by_name(plan, context.base):
            if code not in reported:  # a layer may import something only when it is trained
                writer.write(code)


def _loop(
    run: RunDirectory,
    made: session.Session,
    writer: EventWriter,
    control: Control,
    reached: Reached,
    telemetry: Telemetry,
    arrays: Mapping[str, np.ndarray],
) -> Finished:
    checkpoints = Checkpoints(run.checkpoints, made.plan.training.checkpoint, writer.write)
    try:
        loop = Loop(made, control, telemetry, checkpoints, reached)
        if arrays:
            resuming.restore(loop, made, arrays)
        telemetry.start()
        writer.write(StateChanged(state="running"))
        return loop.run()
    except Exception:
        made.dataset.check()  # a changed file explains it better than TensorFlow's error
        raise
    finally:
        telemetry.close()
        checkpoints.close()
