"""Every action of the window, declared once: its name, where it stands, its shortcut, what it says, what it does."""

from __future__ import annotations

from gpu_studio.ui.action_spec import ActionSpec
from gpu_studio.ui.actions.code_actions import CODE
from gpu_studio.ui.actions.edit_actions import EDIT
from gpu_studio.ui.actions.file_actions import FILE
from gpu_studio.ui.actions.help_actions import HELP
from gpu_studio.ui.actions.plan_actions import PLAN_PARTS
from gpu_studio.ui.actions.plot_actions import PLOTS
from gpu_studio.ui.actions.queue_actions import ADD, HABITS, QUEUE
from gpu_studio.ui.actions.run_actions import RUN
from gpu_studio.ui.actions.runs_actions import RUNS
from gpu_studio.ui.actions.train_actions import CHECKPOINTS, LOG, PLACEMENT
from gpu_studio.ui.actions.view_actions import VIEW

ACTIONS: tuple[ActionSpec, ...] = (
    *FILE,
    *EDIT,
    *CODE,
    *PLACEMENT,
    *RUN[:1],
    *ADD,
    *RUN[1:],
    *QUEUE,
    *RUNS,
    *CHECKPOINTS,
    *HABITS,
    *VIEW,
    *PLOTS,
    *LOG,
    *PLAN_PARTS,
    *HELP,
)
