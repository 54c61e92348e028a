"""The services that the parts of a window share: plan, machine, settings, actions, notice."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict, Unpack

from PySide6.QtWidgets import QWidget

from gpu_studio.ui.kit.action_set import ActionSet
from gpu_studio.ui.kit.notice import Notice
from gpu_studio.ui.kit.settings import Settings, settings_path
from gpu_studio.ui.kit.status_line import StatusLine
from gpu_studio.ui.kit.theme.manager import ThemeManager
from gpu_studio.ui.machine.checkup import Checkup
from gpu_studio.ui.machine.inventory import Inventory
from gpu_studio.ui.machine.live_machine import LiveMachine
from gpu_studio.ui.machine.sampler import SamplerClient
from gpu_studio.ui.plan.plan_document import PlanDocument
from gpu_studio.ui.plan.plan_facts import FactsReader
from gpu_studio.ui.plan.readiness import Readiness
from gpu_studio.ui.plan.resuming import Resuming
from gpu_studio.ui.runs.live_watch import LiveWatch
from gpu_studio.ui.window.actions import ACTIONS


class Given(TypedDict, total=False):
    """Services that are made already, for a window that shall not make the usual ones."""

    settings: Settings
    inventory: Inventory
    sampler: SamplerClient
    checkup: Checkup
    facts: FactsReader


@dataclass(frozen=True, slots=True)
class Services:
    """What the pages and the controllers of a window are given; it knows none of them.

    Dialogs open over `window`. The `actions` do nothing until they are bound to handlers.
    """

    window: QWidget
    runs_dir: Path
    theme: ThemeManager
    settings: Settings
    inventory: Inventory
    sampler: SamplerClient
    checkup: Checkup
    facts: FactsReader
    document: PlanDocument
    live_machine: LiveMachine
    readiness: Readiness
    resuming: Resuming
    live_watch: LiveWatch
    actions: ActionSet
    notice: Notice
    status_line: StatusLine

    def close(self) -> None:
        """Let go of all that is watched."""
        self.resuming.close()
        for watcher in (self.inventory, self.sampler, self.checkup, self.facts, self.live_watch):
            watcher.close()


def make_services(
    window: QWidget, runs_dir: Path, theme: ThemeManager, **given: Unpack[Given]
) -> Services:
    """The services of `window`: those that are given, and else the usual ones."""
    inventory, sampler = (
        given.get("inventory") or Inventory(),
        given.get("sampler") or SamplerClient(runs_dir),
    )
    checkup, facts = given.get("checkup") or Checkup(runs_dir), given.get("facts") or FactsReader()
    for watcher in (inventory, sampler, checkup, facts):
        watcher.setParent(window)
    document = PlanDocument(window)
    live_machine = LiveMachine(inventory, sampler, window)
    readiness = Readiness(document, live_machine, window, facts=facts)
    return Services(
        window=window,
        runs_dir=runs_dir,
        theme=theme,
        settings=given.get("settings") or Settings(settings_path()),
        inventory=inventory,
        sampler=sampler,
        checkup=checkup,
        facts=facts,
        document=document,
        live_machine=live_machine,
        readiness=readiness,
        resuming=Resuming(document, readiness, window),
        live_watch=LiveWatch(runs_dir, window),
        actions=ActionSet(window, theme, ACTIONS),
        notice=Notice(),
        status_line=StatusLine(theme),
    )
