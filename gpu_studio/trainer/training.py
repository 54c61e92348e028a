"""A plan trained from its first step, or its checkpoint, to its end."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gpu_studio.plan import Plan
from gpu_studio.runs.directory import RunDirectory
from gpu_studio.runs.event_writer import EventWriter
from gpu_studio.runs.events import Finished, Log, StateChanged
from gpu_studio.trainer import resuming, session, user_code
from gpu_studio.trainer.checkpoints import Checkpoints
from gpu_studio.trainer.control import Control
from gpu_studio.trainer.failures import Scene
from gpu_studio.trainer.loop import Loop
from gpu_studio.trainer.progress import Reached
from gpu_studio.trainer.telemetry import Telemetry


def train_plan(
    run: RunDirectory, plan: Plan, writer: EventWriter, control: Control, reached: Reached, scene: Scene
) -> Finished:
    """Train, telling `writer` and heeding `control`; how it ended. Raises TrainerError, and what TensorFlow raises.

    `scene` is given what a failure will be told by.
    """
    stored = resuming.stored(run)
    scene.session = made = session.build(plan, scene.base, writer.write)
    scene.meter = session.memory_meter(made)
    told = user_code.codes_imported_by_name(plan, scene.base)
    for code in told:
        writer.write(code)
    if plan.devices.log_placement:
        writer.write(Log(message="Where each operation was placed stands in trainer.log."))
    if stored is not None:
        reached.progress, said = resuming.progress_in(stored[0], made)
        writer.write(said)
        for warned in resuming.other_draws(stored[0], made):
            writer.write(warned)
    telemetry = Telemetry(run, writer, scene.meter)
    try:
        return _loop(run, made, writer, control, reached, telemetry, stored[1] if stored else {})
    finally:
        for code in user_code.codes_imported_by_name(plan, scene.base):
            if code not in told:  # a layer may import something only when it is trained
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
        made.dataset.check()  # a file that was changed explains it better than what TensorFlow made of that
        raise
    finally:
        telemetry.close()
        checkpoints.close()
