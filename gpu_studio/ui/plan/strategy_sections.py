"""The options that strategies have: each a section with its name, its control, and its error.

For options that name logical devices, the control is a list of devices to choose from.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QVBoxLayout, QWidget

from gpu_studio.common import figures
from gpu_studio.common.figures import plural, size_from_mib
from gpu_studio.hardware.links import links_in_words, reduce_choices
from gpu_studio.hardware.topology import Topology
from gpu_studio.placement.plan_facts import PlanFacts
from gpu_studio.plan import (
    ALL_REDUCES,
    CPU,
    Machine,
    Placed,
    Plan,
    PlannedDevice,
    Problem,
    Strategy,
    logical_devices,
    parameter_home,
    replica_devices,
    replicas,
    strategy_of,
)
from gpu_studio.plan.edits import distribution as edits
from gpu_studio.plan.edits.change import Change
from gpu_studio.plan.options import PLACED_LIMITS
from gpu_studio.ui.kit import GRID, ChoiceGroup, ChoiceRow, Elided, Label, Paragraph, ThemeManager
from gpu_studio.ui.kit.device_place import places
from gpu_studio.ui.kit.fields import Switch, WholeNumber
from gpu_studio.ui.plan.form.tab_order import follow_layout
from gpu_studio.ui.plan.plan_view import PlanView, ProblemLine


@dataclass(frozen=True, slots=True)
class StrategyAnswers:
    """The driver's answer about the links, and TensorFlow's about the plan.

    None until they come.
    """

    topology: Topology | None = None
    facts: PlanFacts | None = None

    @property
    def gradient_bytes(self) -> int:
        """The bytes of a step's gradients, one per trained weight; 0 until the model is known."""
        graph = self.facts.graph if self.facts else None
        return sum(layer.trainable_bytes for layer in graph.layers) if graph else 0


class Section(QWidget):
    """Shown only for strategies that have the option. `edited(Change)` is the user's change."""

    edited = Signal(object)

    def __init__(
        self, title: str, field: str, theme: ThemeManager, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._field = field
        self.caption = Elided(role="caption")
        self.problems = ProblemLine(theme)
        heading = QHBoxLayout()
        heading.addWidget(Label(title.upper(), "section"))
        heading.addWidget(self.caption)
        heading.addStretch(1)
        self.column = QVBoxLayout(self)
        self.column.setContentsMargins(0, 0, 0, 0)
        self.column.setSpacing(4)
        self.column.addLayout(heading)
        self.column.addWidget(self.problems)

    def show_view(self, view: PlanView, known: StrategyAnswers) -> None:
        """Show the option as the plan has it."""
        used = self.is_used_by(strategy_of(view.plan))
        if used:
            wrong = self.problems_in(view)
            self.problems.say(tuple(f"{each.received}: {each.advice}" for each in wrong))
            self.show_option(view, known)
        self.setVisible(used)

    def problems_in(self, view: PlanView) -> tuple[Problem, ...]:
        """The problems that are said below the heading: all of the field and what is in it."""
        return view.problems_at(self._field)

    def is_used_by(self, strategy: Strategy) -> bool:
        """Whether the strategy has the option."""
        raise NotImplementedError

    def show_option(self, view: PlanView, known: StrategyAnswers) -> None:
        """Show the option's value in the plan."""
        raise NotImplementedError


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
            self.column.addLayout(option_line(name, field))
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


def option_line(name: str, field: QWidget) -> QHBoxLayout:
    """An option's name, and its field at the right end."""
    row = QHBoxLayout()
    row.setSpacing(GRID)
    label = Label(name, "muted")
    label.setBuddy(field)
    row.addWidget(label)
    row.addStretch(1)
    row.addWidget(field)
    return row


_COLUMNS = 2


class StrategyDeviceList(QWidget):
    """The rows of devices that were already shown stay, and so does the focus.

    `picked(device, checked)` is the user's choice; in a list that offers a single choice, `checked`
    is always True.
    """

    picked = Signal(str, bool)

    def __init__(
        self, what: str, theme: ThemeManager, parent: QWidget | None = None, *, several: bool
    ) -> None:
        super().__init__(parent)
        self._what = what
        self._theme = theme
        self._several = several
        self._group: ChoiceGroup | None = None
        self.rows: dict[str, ChoiceRow] = {}
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(2)

    def show_rows(self, rows: Sequence[StrategyRow]) -> None:
        """Show these devices."""
        if [row.device for row in rows] != list(self.rows):
            self._rebuild(rows)
        for row in rows:
            self.rows[row.device].say(row.note, place=row.place)
            if self._several:
                self.rows[row.device].setChecked(row.checked)
        if self._group is not None:
            self._group.show_chosen(next((row.device for row in rows if row.checked), "-"))

    def _rebuild(self, rows: Sequence[StrategyRow]) -> None:
        for old in self.rows.values():
            self._grid.removeWidget(old)
            old.hide()
            old.deleteLater()
        if self._group is not None:
            self._group.deleteLater()
        self.rows = {row.device: self._made(row) for row in rows}
        for place, made in enumerate(self.rows.values()):
            self._grid.addWidget(made, place // _COLUMNS, place % _COLUMNS)
        follow_layout(self)
        self._group = None if self._several else ChoiceGroup(self.rows, _COLUMNS, self)
        if self._group is not None:
            self._group.chosen.connect(lambda device: self.picked.emit(device, True))

    def _made(self, row: StrategyRow) -> ChoiceRow:
        made = ChoiceRow(
            row.title,
            f"{self._what}: {row.title}",
            self._theme,
            mark="square" if self._several else "round",
            one_line=True,
        )
        if self._several:
            made.clicked.connect(lambda checked, device=row.device: self._check(device, checked))
        return made

    def _check(self, device: str, checked: bool) -> None:
        if not checked and not any(row.isChecked() for row in self.rows.values()):
            # At least one must do the work: a plan that names none means all.
            self.rows[device].setChecked(True)
            return
        self.picked.emit(device, checked)


LEFT_OPEN = ""
"""The row of a choice that the plan leaves open."""


@dataclass(frozen=True, slots=True)
class StrategyRow:
    """A row: its device, or LEFT_OPEN; its text, its colour, and whether it is checked."""

    device: str
    title: str
    note: str = ""
    place: int | None = None
    checked: bool = False


def replica_rows(plan: Plan, machine: Machine) -> tuple[StrategyRow, ...]:
    """Return every logical device, checked if it holds a replica.

    Devices that the plan names and the machine lacks are included.
    """
    replica_names = replicas(plan, machine)
    return tuple(
        replace(row, checked=row.device in replica_names)
        for row in _every(plan, machine, replica_names)
    )


def one_device_rows(plan: Plan, machine: Machine) -> tuple[StrategyRow, ...]:
    """Return every logical device, after an entry that leaves the choice open.

    The plan's choice is checked.
    """
    named = plan.distribution.devices
    open_ = replace(plan, distribution=replace(plan.distribution, devices=()))
    first = StrategyRow(
        LEFT_OPEN, "the first one", f"here {', '.join(replicas(open_, machine))}", checked=not named
    )
    return (
        first,
        *(replace(row, checked=row.device in named[:1]) for row in _every(plan, machine, named)),
    )


def parameter_rows(plan: Plan, machine: Machine) -> tuple[StrategyRow, ...]:
    """Return every logical device as the home of the variables, and leaving that open."""
    named = plan.distribution.parameter_device
    open_ = replace(plan, distribution=replace(plan.distribution, parameter_device=None))
    usual = StrategyRow(
        LEFT_OPEN, "as usual", f"here {parameter_home(open_, machine)}", checked=named is None
    )
    return (
        usual,
        *(
            replace(row, checked=row.device == named)
            for row in _every(plan, machine, (named or "",))
        ),
    )


def _every(plan: Plan, machine: Machine, named: tuple[str, ...]) -> Iterator[StrategyRow]:
    known = logical_devices(plan, machine)
    place = places(known, machine)
    for device in known:
        yield StrategyRow(device.name, device.name, _what(device, machine), place[device.name])
    names = {device.name for device in known}
    yield from (
        StrategyRow(name, name, "not among the logical devices")
        for name in dict.fromkeys(named)
        if _gone(name, names)
    )


def _gone(name: str, names: set[str]) -> bool:
    return bool(name) and name not in names


def _what(device: PlannedDevice, machine: Machine) -> str:
    if device.physical == CPU:
        return plural(machine.cpu_cores, "core")
    if device.limit_mib is not None:
        return f"{size_from_mib(device.limit_mib)} of {machine.title(device.physical)}"
    card = machine.card(device.physical)
    return size_from_mib(card.total_mib) if card and card.total_mib else "a whole card"
