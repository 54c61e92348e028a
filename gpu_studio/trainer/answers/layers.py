"""The layers of a plan's model: what each costs, and how long each takes.

For the costs, everything is built as a run builds it, on the CPU. One training step is traced
into a graph; no step is run. The times are measured by training, on each kind of device.
"""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from gpu_studio import plan as plans
from gpu_studio.placement.correction import MeasuredPeak
from gpu_studio.placement.plan_facts import ModelFacts, encoded
from gpu_studio.placement.work import LayerTime
from gpu_studio.plan import Placed
from gpu_studio.plan.strategies.placed import placing
from gpu_studio.trainer.environment import limit_memory, settle
from gpu_studio.trainer.errors import TrainedBeforeError, TrainerError, UserCodeError
from gpu_studio.trainer.failures import FailureContext, explain
from gpu_studio.trainer.user_code.telling import root_words

AGAIN_S = 60.0
"""Seconds after which it is said again what is computed: a fifth of those of silence after which
whoever asks gives up."""


def layer_costs(
    about: dict[str, Any], progress: Callable[[str], None]
) -> tuple[dict[str, Any], bool]:
    """Describe the model of the plan in `about`.

    Also say whether the answer lasts as long as the plan and its files stay as they are.
    """
    limit_memory()
    plan = plans.loads(about["plan"])
    settle(plan)
    progress("importing TensorFlow")
    import tensorflow as tf

    from gpu_studio.trainer.answers.data import training_as_asked

    tf.get_logger().setLevel("ERROR")
    with training_as_asked(about, progress):
        facts = _facts(plan, about["data"], progress)
    return encoded(facts), not facts.model_error and not facts.training_error


def _facts(plan: plans.Plan, data: dict[str, Any], progress: Callable[[str], None]) -> ModelFacts:
    from gpu_studio.trainer.answers import building
    from gpu_studio.trainer.layer_state import kept_states

    policy = building.set_precision(plan)
    dataset = building.stand_in(data)
    progress("building the model")
    try:
        model = building.model_of(plan, dataset)
    # Whatever Keras raises about a model, the window must be told.
    except Exception as error:  # noqa: BLE001
        return _refused("Keras cannot build this model", error, policy)
    progress("tracing a training step")
    notes = building.notes_of(plan, model, dataset, data)
    try:
        facts = _of_a_step(plan, dataset, model, progress)
        known = replace(facts, policy=policy, states=kept_states(model))
        return replace(known, notes=(*notes, *facts.notes))
    except TrainerError as error:
        # More can be said about the layers than that their training is refused.
        facts = building.facts_untrained(dataset, model)
        refused = replace(facts, training_error=error.message, advice=error.suggestions)
        return replace(refused, policy=policy, learners={}, slots={}, notes=notes)
    except Exception as error:  # noqa: BLE001
        return _refused("Keras cannot train this model on these data", error, policy)


def _of_a_step(
    plan: plans.Plan, dataset: Any, model: Any, progress: Callable[[str], None]
) -> ModelFacts:
    from gpu_studio.trainer.answers import building

    words = LastingWords(progress)
    try:
        facts = building.facts_of(
            plan.training,
            dataset,
            model,
            loaded=building.from_file(plan.model),
            at_once=True,
            traced=partial(words.say, "looking at what each layer holds"),
        )
        words.say("rehearsing the step")
        return replace(facts, steps=dict(facts.steps))
    finally:
        words.end()


class LastingWords:
    """Says what is computed again and again: for a deep model that may take minutes.

    Who asks takes silence for a process that hangs. What is computed here comes to an end, as no
    code of the user's has a part in it.
    """

    def __init__(self, progress: Callable[[str], None]) -> None:
        self._progress, self._text = progress, ""
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._say_again, daemon=True)

    def say(self, text: str) -> None:
        """Say it now, and then every minute."""
        self._text = text
        self._progress(text)
        if self._thread.ident is None:
            self._thread.start()

    def end(self) -> None:
        """Say nothing any more."""
        self._ended.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _say_again(self) -> None:
        with suppress(OSError):  # nobody listens any more, which ends the process elsewhere
            while not self._ended.wait(AGAIN_S):
                self._progress(self._text)


def is_out_of_memory(error: BaseException | None) -> bool:
    """Return whether the host ran out of memory, judging by Python's or TensorFlow's words."""
    return isinstance(error, MemoryError) or "OOM when allocating" in str(error)


def _refused(what: str, error: Exception, policy: str) -> ModelFacts:
    passing = is_out_of_memory(error) or is_out_of_memory(error.__cause__)
    passing = passing or isinstance(error, TrainedBeforeError)
    facts = ModelFacts(policy=policy, of_the_moment=passing)
    if isinstance(error, TrainerError):
        details = error.trace if isinstance(error, UserCodeError) else ""
        return replace(facts, model_error=error.message, advice=error.suggestions, details=details)
    if facts.of_the_moment:
        return replace(facts, model_error=explain(error).message, advice=_MEMORY)
    words, details = root_words(error), "".join(traceback.format_exception(error))
    advice = _NAMES if "not a valid scope name" in words else _SHAPES
    return replace(facts, model_error=f"{what}: {words}", advice=advice, details=details)


_MEMORY = (
    "Choose a smaller model, or fewer units.",
    "Look who else uses the memory of this machine.",
)
_SHAPES: tuple[str, ...] = (
    "Hold the shape of the data against the model's input.",
    "Check the model's options.",
)
_NAMES: tuple[str, ...] = (
    "TensorFlow takes names of layers in the letters A to Z, a to z, digits and _ . - / only.",
)


SMALL_PART = 4
Progress = Callable[[str], None]


def layer_times(about: dict[str, Any], progress: Progress) -> tuple[dict[str, Any], bool]:
    """Measure the plan in `about`: times by the name of the measured device. The answer lasts.

    A kind of device is a physical device, whose slices are equally fast. Steps of two sizes, the
    whole batch and a quarter of it, are trained on one logical device of each kind, one kind
    after the other. To learn how fast tensors travel, some are sent between the kinds; between
    slices of one device nothing is copied. The answer also says what the steps of the whole batch
    held.
    """
    plan = plans.loads(about["plan"])
    settle(plan)
    progress("importing TensorFlow")
    import tensorflow as tf

    tf.get_logger().setLevel("ERROR")
    devices = about["devices"]
    context = FailureContext()
    try:
        found = {device: _on(plan, device, progress, context) for device in devices}
    except tf.errors.OpError as error:
        raise _explained(error, context) from error
    times, held = ({device: each[place] for device, each in found.items()} for place in (0, 1))
    return msgspec.to_builtins(
        {"times": times, "links": _links(devices, progress), "held": held}
    ), True


def _explained(error: Exception, context: FailureContext) -> Exception:
    """Return an error of TensorFlow's in plain words if it is want of a device's memory."""
    found = explain(error, context)
    return TrainerError(found.message) if found.kind == "out_of_memory" else error


def _links(devices: Sequence[str], progress: Progress) -> dict[str, float]:
    """Return for each device the bytes per second from its slowest sender.

    None if nothing is copied.
    """
    from gpu_studio.trainer.answers.measurements import bandwidth

    found: dict[str, float] = {}
    for target in devices:
        for source in devices:
            if source == target:
                continue
            progress(f"sending from {source} to {target}")
            rate = bandwidth(source, target)
            if rate is not None:
                found[target] = min(rate, found.get(target, rate))
    return found


def _on(
    plan: plans.Plan, device: str, progress: Progress, context: FailureContext
) -> tuple[dict[str, LayerTime], MeasuredPeak]:
    """Return each layer's time on a device, and what a step of the whole batch held there."""
    from gpu_studio.trainer import session
    from gpu_studio.trainer.answers.measurements import (
        line_through,
        measured,
        seconds_in_parts,
        share_of,
    )
    from gpu_studio.trainer.layer_state import kept_states

    progress(f"building the model on {device}")
    heard = context.hearing(lambda _event: None)
    built = session.build(_all_on(plan, device), Path(), heard)
    batch = built.cut.batch
    progress(f"training steps of {batch} samples on {device}")
    large = measured(built, batch)
    small, share = large, None
    if batch >= 2 * SMALL_PART and kept_states(built.model) is None:
        progress(f"training steps of {batch // SMALL_PART} samples on {device}")
        small = measured(built, batch // SMALL_PART)
        if device.startswith("CPU"):  # A card runs one operation after the other.
            progress(f"training steps in {SMALL_PART} micro-batches on {device}")
            share = share_of(small, large, SMALL_PART, seconds_in_parts(built, batch, SMALL_PART))
    paths = (seat.path for seat in built.program.placed.seats)  # type: ignore[attr-defined]
    return line_through(small, large, paths, share), MeasuredPeak(batch, large.held)


def _all_on(plan: plans.Plan, device: str) -> plans.Plan:
    """Return the plan with every layer on one device, in one piece.

    Layers that the plan does not name are placed where their input is.
    """
    training = replace(plan.training, early_stopping=None)
    return replace(plan, training=training, distribution=placing(Placed(), (device,)))
