"""Whether steps of a plan run: some are trained for real, in a process that may run out of memory.

Nothing of it is kept. What the plan's callbacks would do is left out, for they may write anywhere.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from gpu_studio import plan as plans
from gpu_studio.trainer.environment import limit_memory, settle
from gpu_studio.trainer.errors import TrainerError

if TYPE_CHECKING:
    from gpu_studio.contract import DeviceMemory
    from gpu_studio.trainer.failures import FailureContext
    from gpu_studio.trainer.progress import TrainingProgress
    from gpu_studio.trainer.session import Session

STEPS: Final = 30
LEAST_STEPS: Final = 8
LONGEST_S: Final = 20.0
"""No step finds the same pieces of memory free: what is nearly full may fail in a later one only.
Steps that take long are fewer."""
IN_A_CALL: Final = 4
"""A run calls its compiled function with one step first, and then with more."""
WANT_OF_MEMORY: Final = "out_of_memory"


def proof(about: dict[str, Any], progress: Callable[[str], None]) -> tuple[dict[str, Any], bool]:
    """Train some steps of the plan in `about`, and evaluate a batch; say if there was memory.

    With `runs` come the most bytes that each device held (`held`) and whether XLA compiled the
    steps (`xla`), without it `why`, and on which `device` there was none. With `host` this process
    gets no more memory than the machine has free; of each card's one part in `kept` is kept back,
    nothing if it is 0 or its limit is not known; on which devices it was comes with `why`, as
    `kept`. The answer never lasts. Raises TrainerError for all else that goes wrong.
    """
    if about["host"]:
        limit_memory()
    plan = only_steps(plans.loads(about["plan"]))
    settle(plan)
    progress("importing TensorFlow")
    import tensorflow as tf

    from gpu_studio.trainer.failures import FailureContext, explain
    from gpu_studio.trainer.failures.library_memory import never_began

    tf.get_logger().setLevel("ERROR")
    # Which plan would fit instead is what the next proof says, and takes longer to foretell.
    context = FailureContext(plan=plan, base=Path(about["base"]), hurried=lambda: True)
    keeping = _KeptBack(about["kept"])
    try:
        held = _trained(plan, context, keeping, progress)
    # Whatever TensorFlow raises is explained as that of a run.
    except Exception as error:
        found = explain(error, context)
        lacked = found.kind == WANT_OF_MEMORY or isinstance(error, MemoryError)
        if not lacked or never_began(str(error)):  # a smaller batch would not begin either
            raise TrainerError(found.message, found.suggestions) from error
        where = {"device": found.device or "", "kept": keeping.devices}
        return {"runs": False, "why": found.message, **where}, False
    by_xla = context.session is not None and context.session.program.by_xla
    return {"runs": True, "held": held, "xla": by_xla}, False


def only_steps(plan: plans.Plan) -> plans.Plan:
    """The plan without what a run does beside its steps.

    A schedule takes no memory, and might not end its warm-up in so few epochs.
    """
    checkpoint = replace(plan.training.checkpoint, every_epochs=0, every_steps=0)
    training = replace(
        plan.training,
        checkpoint=checkpoint,
        callbacks=(),
        early_stopping=None,
        schedule=None,
        epochs=STEPS,
    )
    return replace(plan, training=training)


def _trained(
    plan: plans.Plan, context: FailureContext, keeping: _KeptBack, progress: Callable[[str], None]
) -> dict[str, int]:
    """Train, and return the most bytes that each device held, without what was kept back."""
    from gpu_studio.trainer import devices, session
    from gpu_studio.trainer.phases import begin_phase
    from gpu_studio.trainer.progress import TrainingProgress

    progress(f"building the model, for a batch of {plan.training.batch_size}")
    tell = context.hearing(lambda _event: None)
    context.session = made = session.build(plan, context.base, tell)
    context.meter = meter = session.memory_meter(made)
    before = meter.read()
    back = keeping.of(before, made.spread.replicas)
    progress(f"training steps with a batch of {plan.training.batch_size}")
    with devices.on_host():
        at = _train(made, TrainingProgress())
        # A later phase may train more layers: all of them have to fit.
        for number in range(1, len(plan.training.phases) + 1):
            begin_phase(made, number)
            at = _train(made, at)
        _evaluate(made)
    taken = {device: len(each) * each.dtype.size for device, each in back.items()}
    pairs = zip(meter.read(), before, strict=True)
    return {
        now.device: max(built.peak, now.peak - taken.get(now.device, 0)) for now, built in pairs
    }


@dataclass(slots=True)
class _KeptBack:
    """Keeps back one `part` in so many of what devices may hold, and knows on which `devices`."""

    part: int
    devices: list[str] = field(default_factory=list)

    def of(self, memory: Sequence[DeviceMemory], devices: Collection[str]) -> dict[str, Any]:
        """Take it from each of `devices` whose limit is known, for as long as this is held."""
        import tensorflow as tf

        back = {}
        for each in memory:
            if self.part and each.limit and each.device in devices:
                self.devices.append(each.device)
                with tf.device(each.device):
                    back[each.device] = tf.zeros([each.limit // self.part // tf.float32.size])
        return back


def _train(made: Session, at: TrainingProgress) -> TrainingProgress:
    """Train steps from there on, and return how far it has come."""
    first, began = at.step, time.monotonic()
    while at.step - first < STEPS and not (at.passes and made.passes.ends):
        trained = at.step - first
        if trained >= LEAST_STEPS and time.monotonic() - began > LONGEST_S:
            break
        left = made.passes.left(at) or STEPS
        count = min(IN_A_CALL if trained else 1, left, STEPS - trained)
        call = made.program.train(made.passes.steps_from(at), at.step, count)
        at, _sizes = made.passes.after(at, call)
        if at.pass_over:
            made.passes.end()
            at = at.after_epoch()
    return at


def _evaluate(made: Session) -> None:
    split = made.dataset.validation
    if split and made.program.evaluates:
        reading = made.reading(split, 1)
        reading.begin(0)
        made.program.evaluate(reading.iterator, 0, 1)
