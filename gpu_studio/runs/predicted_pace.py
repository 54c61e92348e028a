"""How fast a plan would train, from what is known already: nothing is asked, nothing is run."""

from __future__ import annotations

import os

from gpu_studio.lab.benchmark_results import TrainingPace
from gpu_studio.placement.estimate import estimated
from gpu_studio.placement.plan_facts import ModelFacts, decoded
from gpu_studio.placement.plan_step import global_batch, step_seconds
from gpu_studio.placement.work import links_in, threads_per_operation, times_in
from gpu_studio.plan import AbsolutePlan, Machine, replica_devices
from gpu_studio.runs.machine_figures import kept_figures
from gpu_studio.runs.questions.ask import kept
from gpu_studio.runs.questions.plan_question import kept_about, times_question


def predicted_pace(plan: AbsolutePlan, machine: Machine) -> TrainingPace | None:
    """The pace of the predicted step, by timed layers, else by FLOPs at the measured pace.

    None if TensorFlow has not been asked about the plan yet, or nothing was measured.
    """
    try:
        answer = kept_about(plan)
        facts = decoded(answer) if answer is not None else None
        if facts is None or (model := facts.model) is None:
            return None
        plan = facts.completed(plan)
        return _timed(plan, machine, model) or _estimated(plan, machine, model)
    except ValueError:  # an answer of another version
        return None


def _timed(plan: AbsolutePlan, machine: Machine, model: ModelFacts) -> TrainingPace | None:
    devices = replica_devices(plan, machine)
    answer = kept("times", times_question(plan, devices))
    if answer is None:
        return None
    times, links = times_in(answer, devices), links_in(answer, devices)
    threads = threads_per_operation(os.environ)
    seconds = step_seconds(plan, machine, model, times, links, threads)
    return _pace(plan, machine, seconds, "as its timed layers predict")


def _estimated(plan: AbsolutePlan, machine: Machine, model: ModelFacts) -> TrainingPace | None:
    figures = kept_figures(machine)
    devices, tf32 = replica_devices(plan, machine), plan.training.tf32
    found = estimated(model, devices, figures.flops, figures.links, tf32=tf32)
    if not found.in_seconds:
        return None
    threads = threads_per_operation(os.environ)
    seconds = step_seconds(plan, machine, model, found.times, found.links, threads)
    return _pace(plan, machine, seconds, f"as predicted by FLOPs {figures.known}")


def _pace(
    plan: AbsolutePlan, machine: Machine, seconds: float | None, known: str
) -> TrainingPace | None:
    return TrainingPace(global_batch(plan, machine) / seconds, known) if seconds else None
