"""Every action of the window, declared once: its name, menu, shortcut and description."""

from __future__ import annotations

from gpu_studio.ui.kit import ActionSpec
from gpu_studio.ui.window.actions.lab_actions import BENCHMARK
from gpu_studio.ui.window.actions.plan_actions import (
    CODE,
    DEVICES,
    EDIT,
    FILE,
    HELP,
    PLAN_PARTS,
    VIEW,
)
from gpu_studio.ui.window.actions.run_actions import ADD, HABITS, QUEUE, RUN, RUNS
from gpu_studio.ui.window.actions.study_actions import STUDIES
from gpu_studio.ui.window.actions.train_actions import CHECKPOINTS, LOG, PLACEMENT, PLOTS

ACTIONS: tuple[ActionSpec, ...] = (
    *FILE,
    *EDIT,
    *CODE,
    *PLACEMENT,
    *RUN[:1],
    *ADD,
    *RUN[1:],
    *QUEUE,
    *STUDIES,
    *RUNS,
    *BENCHMARK,
    *CHECKPOINTS,
    *HABITS,
    *VIEW,
    *PLOTS,
    *LOG,
    *PLAN_PARTS,
    *DEVICES,
    *HELP,
)
