"""The options that strategies have."""

from __future__ import annotations

from PySide6.QtWidgets import QHBoxLayout, QWidget

from gpu_studio.common import figures
from gpu_studio.hardware.links import links_in_words, reduce_choices
from gpu_studio.plan import ALL_REDUCES, Placed, logical_devices
from gpu_studio.plan.edits import distribution as edits
from gpu_studio.plan.edits.change import Change
from gpu_studio.plan.limits import PLACED_LIMITS
from gpu_studio.plan.replication import replica_devices
from gpu_studio.plan.strategies import Strategy
from gpu_studio.ui.kit.choosing.choosable import ChoiceGroup, ChoiceRow
from gpu_studio.ui.kit.fields import Switch, WholeNumber
from gpu_studio.ui.kit.labels import Label, Paragraph
from gpu_studio.ui.kit.theme.manager import ThemeManager
from gpu_studio.ui.kit.theme.tokens import GRID
from gpu_studio.ui.plan.plan_view import PlanView
from gpu_studio.ui.plan.strategy.device_list import StrategyDeviceList
from gpu_studio.ui.plan.strategy.section import Section, StrategyAnswers
from gpu_studio.ui.plan.strategy.strategy_rows import one_device_rows, parameter_rows, replica_rows


class ReplicaDevices(Section):
    """Which logical devices hold a replica."""

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__("devices", "distribution.devices", theme, parent)
        self.list = StrategyDeviceList("replica", theme, several=True)
        self.list.picked.connect(self._pick)
        self.column.addWidget(self.list)
        self._view: PlanView | None = None

    def is_used_by(self, strategy: Strategy) -> bool:
        """Whether the strategy has it."""
        return strategy.replicates

    def show_option(self, view: PlanView, known: StrategyAnswers) -> None:
        """Check the devices that hold a replica."""
        del known
        self._view = view
        count = len(replica_devices(view.plan, view.machine))
        named = "as named" if view.plan.distribution.devices else "all that suit"
        self.caption.setText(f"{named}: {count} of {len(logical_devices(view.plan, view.machine))}")
        self.list.show_rows(replica_rows(view.plan, view.machine))

    def _pick(self, device: str, used: bool) -> None:
        if self._view is None:
            return
        machine = self._view.machine
        text = f"{'use' if used else 'leave out'} {device}"
        self.edited.emit(
            Change(lambda plan: edits.use_device(plan, device, machine, used=used), text)
        )


class OneDevice(Section):
    """Which logical device does all the work."""

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__("device", "distribution.devices", theme, parent)
        self.list = StrategyDeviceList("device", theme, several=False)
        self.list.picked.connect(self._pick)
        self.column.addWidget(self.list)

    def is_used_by(self, strategy: Strategy) -> bool:
        """Whether the strategy has it."""
        return strategy.devices == "one"

    def show_option(self, view: PlanView, known: StrategyAnswers) -> None:
        """Choose the plan's device."""
        del known
        self.list.show_rows(one_device_rows(view.plan, view.machine))

    def _pick(self, device: str) -> None:
        text = f"use {device or 'the first device'}"
        self.edited.emit(Change(lambda plan: edits.use_one_device(plan, device or None), text))


class ParameterDevice(Section):
    """Where central storage keeps the variables."""

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__("parameter device", "distribution.parameter_device", theme, parent)
        self.list = StrategyDeviceList("parameter device", theme, several=False)
        self.list.picked.connect(self._pick)
        self.column.addWidget(self.list)

    def is_used_by(self, strategy: Strategy) -> bool:
        """Whether the strategy has it."""
        return strategy.has_parameter_device

    def show_option(self, view: PlanView, known: StrategyAnswers) -> None:
        """Choose the plan's parameter device."""
        self.caption.setText(
            f"{_size(known)} each way in a step, for each replica" if known.gradient_bytes else ""
        )
        self.list.show_rows(parameter_rows(view.plan, view.machine))

    def _pick(self, device: str) -> None:
        text = f"keep variables on {device}" if device else "keep variables where usual"
        self.edited.emit(
            Change(lambda plan: edits.set_parameter_device(plan, device or None), text)
        )


class AllReduce(Section):
    """How the gradients of the replicas are summed, with what each way does on this machine."""

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__("all-reduce", "distribution.all_reduce", theme, parent)
        self.rows = {name: ChoiceRow(name, f"all-reduce {name}", theme) for name in ALL_REDUCES}
        self.group = ChoiceGroup(self.rows, 1, self)
        self.group.chosen.connect(self._choose)
        for row in self.rows.values():
            self.column.addWidget(row)

    def is_used_by(self, strategy: Strategy) -> bool:
        """Whether the strategy has it."""
        return strategy.sums_gradients

    def show_option(self, view: PlanView, known: StrategyAnswers) -> None:
        """Say of each what it does here, and choose the plan's."""
        devices = replica_devices(view.plan, view.machine)
        links = links_in_words(devices, view.machine, known.topology)
        self.caption.setText(
            " ".join(each for each in (_sum(known), f"over {links}" if links else "") if each)
        )
        for way in reduce_choices(view.plan, view.machine, known.topology):
            self.rows[way.name].say(way.words, way.tag, way.why_not)
        self.group.show_chosen(view.plan.distribution.all_reduce)

    def _choose(self, name: str) -> None:
        text = f"sum gradients: {name.replace('_', ' ')}"
        self.edited.emit(Change(lambda plan: edits.set_all_reduce(plan, name), text))


class PlacedOptions(Section):
    """Into how many parts a batch is cut, and what a stage keeps of each."""

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__("pipeline", "distribution.placed", theme, parent)
        limit = next(each for each in PLACED_LIMITS if each.name == "micro_batches")
        self.micro_batches = WholeNumber("micro-batches", int(limit.least), int(limit.most))
        self.micro_batches.setMinimumWidth(12 * GRID)
        self.recompute = Switch("recompute activations", on="recomputed", off="kept")
        self.recompute.set_tip(
            "A stage keeps only its inputs and computes the rest again: less memory, more time"
        )
        self.micro_batches.edited.connect(self._cut)
        self.recompute.edited.connect(self._keep)
        for name, field in (("micro-batches", self.micro_batches), ("activations", self.recompute)):
            self.column.addLayout(_line(name, field))
        self.column.addWidget(
            Paragraph("Which layer runs on which device is said in the tab Layers.", "caption")
        )

    def is_used_by(self, strategy: Strategy) -> bool:
        """Whether the strategy has it."""
        return strategy.places_layers

    def show_option(self, view: PlanView, known: StrategyAnswers) -> None:
        """Show the plan's numbers."""
        del known
        part = view.plan.distribution.placed or Placed()
        self.micro_batches.show_value(part.micro_batches)
        self.recompute.show_value(part.recompute)

    def _cut(self, count: int) -> None:
        change = Change(
            lambda plan: edits.set_micro_batches(plan, count),
            "change micro-batches",
            "distribution.placed.micro_batches",
        )
        self.edited.emit(change)

    def _keep(self, recompute: bool) -> None:
        text = "recompute activations" if recompute else "keep activations"
        self.edited.emit(Change(lambda plan: edits.set_recompute(plan, recompute), text))


def _sum(known: StrategyAnswers) -> str:
    return f"of {_size(known)} a step" if known.gradient_bytes else ""


def _size(known: StrategyAnswers) -> str:
    return figures.size(known.gradient_bytes)


def _line(name: str, field: QWidget) -> QHBoxLayout:
    row = QHBoxLayout()
    row.setSpacing(GRID)
    label = Label(name, "muted")
    label.setBuddy(field)
    row.addWidget(label)
    row.addStretch(1)
    row.addWidget(field)
    return row
