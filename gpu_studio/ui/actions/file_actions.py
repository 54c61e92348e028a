"""Plans and their files."""

from __future__ import annotations

from gpu_studio.plan import RUNNABLE_STRATEGIES
from gpu_studio.ui.action_spec import ActionSpec


def _template(strategy: str) -> ActionSpec:
    title = strategy.replace("_", " ")
    return ActionSpec(
        f"new_{strategy}",
        "File",
        f"New plan: {title}",
        f"Make a plan that trains the digits with the strategy {strategy} on this machine",
        lambda window: window.plan_files.new_from_template(strategy),
        submenu="New from template",
    )


FILE: tuple[ActionSpec, ...] = (
    ActionSpec(
        "new_starter",
        "File",
        "New starter plan",
        "Make a plan that suits this machine, ready to train",
        lambda window: window.plan_files.new_starter(),
        "Ctrl+N",
        "plus",
    ),
    *(_template(strategy) for strategy in RUNNABLE_STRATEGIES),
    ActionSpec(
        "open_plan",
        "File",
        "Open plan…",
        "Open a *.plan.toml file; you can also drop one on the window",
        lambda window: window.plan_files.choose_and_open(),
        "Ctrl+O",
        "open",
    ),
    ActionSpec(
        "save_plan",
        "File",
        "Save plan",
        "Write the plan to its file",
        lambda window: window.repairs.save(),
        "Ctrl+S",
        "save",
        1,
    ),
    ActionSpec(
        "save_plan_as",
        "File",
        "Save plan as…",
        "Write the plan to another file",
        lambda window: window.plan_files.save_as(),
        "Ctrl+Shift+S",
        group=1,
    ),
    ActionSpec(
        "compare_plan",
        "File",
        "Compare plan with…",
        "Show the fields in which the plan differs from that of another file",
        lambda window: window.plan_files.choose_and_compare(),
        group=1,
    ),
    ActionSpec(
        "export_python",
        "File",
        "Export as Python…",
        "Write a script in plain TensorFlow and Keras that trains the plan without GPU Studio",
        lambda window: window.scripts.choose_and_write(),
        "Ctrl+E",
        group=1,
    ),
    ActionSpec(
        "save_devices",
        "File",
        "Save devices as CSV…",
        "Write the cards and their figures to a file, as gpu-studio devices --csv has them",
        lambda window: window.devices_page.save_csv(),
        group=2,
    ),
    ActionSpec(
        "quit",
        "File",
        "Quit",
        "Close the window; runs that are alive can go on",
        lambda window: window.close(),
        "Ctrl+Q",
        group=3,
    ),
)
