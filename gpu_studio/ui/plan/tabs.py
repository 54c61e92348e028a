"""The tabs of the workspace, each created when it is first opened."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtWidgets import QWidget

from gpu_studio.ui.kit.action_set import ActionSet
from gpu_studio.ui.kit.theme.manager import ThemeManager
from gpu_studio.ui.machine.checkup import Checkup
from gpu_studio.ui.plan.plan_facts import FactsReader
from gpu_studio.ui.plan.workspace import Workspace

# Imported when opened: together they would delay the window's start by a tenth of a second.


def add_tabs(
    workspace: Workspace,
    theme: ThemeManager,
    facts: FactsReader,
    checkup: Checkup,
    actions: ActionSet,
    runs: Path | None = None,
) -> None:
    """Add the tabs to the workspace.

    `runs` is the folder of runs, of which one may have measured what a plan predicts.
    """
    workspace.add(
        "Devices",
        lambda: _devices(theme),
        "What TensorFlow sees of each device, and in which slices",
    )
    workspace.add(
        "Model",
        _with_facts(lambda: _model(theme), facts),
        "Which model, with which options, and its layers",
    )
    workspace.add(
        "Data", _with_facts(lambda: _data(theme), facts), "Which data, and what they look like"
    )
    workspace.add(
        "Training",
        _with_facts(lambda: _training(theme), facts),
        "How long, how fast, and with which optimizer it learns",
    )
    strategy = _with_facts(lambda: _strategy(theme, checkup), facts)
    workspace.add("Strategy", strategy, "How the work is spread over the devices")
    workspace.add(
        "Layers",
        _with_facts(lambda: _layers(theme, runs), facts),
        "Which layer runs on which device",
    )
    workspace.add("File", lambda: _file(actions, theme), "The plan as the text of its file")
    workspace.add(
        "Changes",
        lambda: _changes(actions),
        "What is different from the plan's file, or another plan",
    )


def _with_facts(make: Callable[[], QWidget], facts: FactsReader) -> Callable[[], QWidget]:
    def made() -> QWidget:
        editor = make()
        editor.set_facts(facts)  # type: ignore[attr-defined]
        return editor

    return made


def _devices(theme: ThemeManager) -> QWidget:
    from gpu_studio.ui.plan.devices_tab import DevicesTab

    return DevicesTab(theme)


def _model(theme: ThemeManager) -> QWidget:
    from gpu_studio.ui.plan.model_tab import ModelTab

    return ModelTab(theme)


def _data(theme: ThemeManager) -> QWidget:
    from gpu_studio.ui.plan.data_tab import DataTab

    return DataTab(theme)


def _training(theme: ThemeManager) -> QWidget:
    from gpu_studio.ui.plan.training_tab import TrainingTab

    return TrainingTab(theme)


def _strategy(theme: ThemeManager, checkup: Checkup) -> QWidget:
    from gpu_studio.ui.plan.strategy_tab import StrategyTab

    tab = StrategyTab(theme)
    tab.set_checkup(checkup)
    return tab


def _layers(theme: ThemeManager, runs: Path | None) -> QWidget:
    from gpu_studio.ui.plan.layers.layers_tab import LayersTab

    return LayersTab(theme, runs=runs)


def _file(actions: ActionSet, theme: ThemeManager) -> QWidget:
    from gpu_studio.ui.plan.file_tab import FileTab

    return FileTab(actions["copy_plan"], theme)


def _changes(actions: ActionSet) -> QWidget:
    from gpu_studio.ui.plan.changes_tab import ChangesTab

    return ChangesTab(actions["compare_plan"])
