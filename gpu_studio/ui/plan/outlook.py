"""The forecast of training a plan on this machine, in words, as far as it is certain.

`MemoryRow` draws one logical device's predicted memory, scaled to its limit.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QEnterEvent, QFocusEvent, QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from gpu_studio.common import figures
from gpu_studio.common.figures import grouped, plural, size_from_mib
from gpu_studio.placement.device_memory import PredictedMemory
from gpu_studio.placement.given_batches import given_batch, given_steps
from gpu_studio.placement.plan_facts import DataFacts
from gpu_studio.plan import (
    CPU,
    MIB,
    Machine,
    Placed,
    Plan,
    PlannedDevice,
    in_all,
    logical_devices,
    replica_count,
    replica_devices,
    replicas,
    shares_of,
    strategy_of,
)
from gpu_studio.plan.card_memory import outside_mib
from gpu_studio.ui.kit import LEFT, RIGHT, ThemeManager, Tokens, draw_focus, font
from gpu_studio.ui.kit.device_place import places
from gpu_studio.ui.plan.outlook_bar import BAR, draw_advised, draw_held, draw_parts
from gpu_studio.ui.plan.plan_view import AS_DATA_COME

MEANINGS = {
    "weights": "The model's variables.",
    "gradients": "How the loss changes with each trained weight.",
    "slots": (
        "What the optimizer remembers of each trained weight, as Adam "
        "does two averages of its gradients."
    ),
    "activations": "What the layers keep of the batch until the backward pass.",
    "other": "The batch itself, and what operations need for a moment.",
}
"""What each part is, for who has not met the word."""


@dataclass(frozen=True, slots=True)
class MemoryPart:
    """A part of the memory of a step: its `bytes`, and the `formula` that gives them."""

    name: str = ""
    bytes: int = 0
    formula: str = ""

    @property
    def reported(self) -> str:
        """Its name, and how its bytes are computed."""
        return "\n".join(filter(None, (MEANINGS.get(self.name, ""), self.formula)))

    @property
    def amount(self) -> str:
        """The bytes with their unit."""
        return figures.size(self.bytes)


@dataclass(frozen=True, slots=True)
class Prospect:
    """One logical device: its number, which gives its colour, its limit and its share, in words.

    `parts` are predicted, with their `total` and its `formula`; none until the model is known.
    `most` is what TensorFlow may take there, in bytes, and `now` what it would get of that beside
    others who hold the card's memory; None without a limit, or if that is unknown. `outside` is
    what CUDA and its libraries get of a whole card, in bytes; 0 where that does not apply. The
    total is what is known `without` what a library takes besides, for which `advised` bytes
    are to be left; where it may lack those, `lacks` says so. `at_most` is said before a total that
    is a bound.
    """

    place: int
    name: str
    limit: str
    share: str
    replica: bool
    parts: tuple[MemoryPart, ...] = ()
    total: int = 0
    formula: str = ""
    most: int | None = None
    now: int | None = None
    outside: int = 0
    without: str = ""
    advised: int = 0
    lacks: str = ""
    at_most: str = ""

    @property
    def over(self) -> bool:
        """Whether a step takes more memory than is available now."""
        return any(area is not None and self.total > area for area in (self.most, self.now))

    @property
    def held(self) -> float:
        """The share (0 to 1) of the bar, from its end, that others hold."""
        if self.most is None or self.now is None:
            return 0.0
        return max(0, self.most - self.now) / self._whole

    @property
    def lacking(self) -> float:
        """The share (0 to 1) of the bar that is advised besides, where there may be too little."""
        return self.advised / self._whole if self.lacks else 0.0

    @property
    def _whole(self) -> int:
        return max(self.total, self.most or 0, 1)

    @property
    def amount(self) -> str:
        """The total of the limit; the limit alone until something is predicted."""
        if not self.parts:
            return self.limit
        total = f"{self.at_most}{figures.size(self.total)}"
        if self.now is not None and self.most is not None and self.now < self.most:
            return f"{total} of {figures.size(self.now)} free"
        return f"{total} of {figures.size(self.most)}" if self.most else total

    @property
    def shares(self) -> tuple[float, ...]:
        """Each part as a share (0 to 1) of the limit.

        They are shares of the total if that is larger, or if there is no limit. Gradients appear
        while activations are freed, so the parts may be more than the total: then all are drawn
        smaller.
        """
        together = max(sum(part.bytes for part in self.parts), 1)
        return tuple(
            part.bytes / self._whole * min(1.0, self.total / together) for part in self.parts
        )

    @property
    def text(self) -> str:
        """All of it in a sentence."""
        limit = "" if self.most or not self.parts else f", {self.limit}"
        too_much = ", which is too much" if self.over else ""
        if self.lacks:
            too_much = f", which {self.lacks}"
        elif self.without and not self.over:
            too_much = f", without {self.without}"
        said = (
            f"{self.name}: {self.share}, {self.amount}{limit}{self._others}{self._cuda}{too_much}"
        )
        parts = ", ".join(f"{part.name} {part.amount}" for part in self.parts if part.bytes)
        return f"{said}: {parts}" if parts else said

    @property
    def _others(self) -> str:
        held = (self.most or 0) - (self.now if self.now is not None else self.most or 0)
        return (
            f"; others hold {figures.size(held)} of {figures.size(self.most or 0)}"
            if held > 0
            else ""
        )

    @property
    def _cuda(self) -> str:
        return (
            f"; CUDA and its libraries get {figures.size(self.outside)} of the card"
            if self.outside
            else ""
        )


def prospects(
    plan: Plan, machine: Machine, memory: Iterable[PredictedMemory] = ()
) -> tuple[Prospect, ...]:
    """Return the plan's logical devices, the batch of each, and the memory that it takes."""
    replica_names = replicas(plan, machine)
    shares = shares_of(plan, in_all(plan, replica_names))
    taken = {each.device: each for each in memory}
    logical = logical_devices(plan, machine)
    known = places(logical, machine)
    hopes = (
        Prospect(
            known[device.name],
            device.name,
            _limit(plan, device),
            _share(plan, device, replica_names, shares),
            device.name in replica_names,
            outside=_outside(device, machine),
        )
        for device in logical
    )
    return tuple(_predicted(prospect, taken.get(prospect.name)) for prospect in hopes)


def facts(
    plan: Plan, machine: Machine, data: DataFacts | None = None
) -> tuple[tuple[str, str], ...]:
    """Return names and values of what is certain before training.

    The steps of an epoch are included once the data are known. `plan` is completed by the data.
    """
    shares = shares_of(plan, replica_count(plan, machine))
    each = " or ".join(grouped(each) for each in sorted(set(shares), reverse=True))
    count = _steps(data, sum(shares)) if data else 0
    steps = f" × {plural(count, 'step')}" if count else ""
    whose = f", {AS_DATA_COME}" if data and given_batch(data.streamed) else ""
    return (
        ("replicas", f"{len(shares)}{_on_the_same(plan, machine) if len(shares) > 1 else ''}"),
        ("global batch", f"{plural(sum(shares), 'sample')}{whose}"),
        _cut(plan) or ("each replica", each),
        ("epochs", f"{_epochs(plan)}{steps}"),
    )


def _steps(data: DataFacts, batch: int) -> int:
    return given_steps(data.streamed) if data.streamed else data.steps(batch)


def _epochs(plan: Plan) -> str:
    left = "epochs" in plan.training.as_in_script
    return "as in the script" if left else grouped(plan.training.epochs)


def _on_the_same(plan: Plan, machine: Machine) -> str:
    """Say where replicas share hardware, so that nobody expects them to be faster."""
    there = [device.physical for device in replica_devices(plan, machine)]
    return ", on the same cores" if len(there) > 1 and set(there) == {CPU} else ""


def _cut(plan: Plan) -> tuple[str, str] | None:
    if not strategy_of(plan).places_layers:
        return None
    return "micro-batches", grouped((plan.distribution.placed or Placed()).micro_batches)


def _predicted(prospect: Prospect, memory: PredictedMemory | None) -> Prospect:
    if memory is None:
        return prospect
    parts = tuple(MemoryPart(name, part.bytes, part.formula) for name, part in memory.parts)
    return replace(
        prospect,
        parts=parts,
        total=memory.total,
        formula=memory.total_formula,
        most=memory.limit_bytes,
        now=memory.free_bytes,
        without=memory.without,
        advised=memory.room_bytes,
        lacks=memory.lacking,
        at_most=memory.at_most,
    )


def _limit(plan: Plan, device: PlannedDevice) -> str:
    if device.name.startswith("CPU"):
        return "host memory, no limit"
    if device.limit_mib is not None:
        return f"up to {size_from_mib(device.limit_mib)}"
    return "grows as needed" if plan.devices.memory_growth else "the whole card"


def _outside(device: PlannedDevice, machine: Machine) -> int:
    card = None if device.limit_mib is not None else machine.card(device.physical)
    return (outside_mib(card) or 0) * MIB if card is not None else 0


def _share(
    plan: Plan, device: PlannedDevice, replica_names: tuple[str, ...], shares: tuple[int, ...]
) -> str:
    if strategy_of(plan).places_layers:
        return _layers(plan, device.name, replica_names[:1])
    if device.name not in replica_names:
        return "no replica"
    return plural(shares[replica_names.index(device.name)], "sample")


def _layers(plan: Plan, name: str, first: tuple[str, ...]) -> str:
    """Return what is placed there.

    A layer that is not placed goes with its neighbours; if none is placed, to the first device.
    """
    layers = (plan.distribution.placed or Placed()).layers
    here = sum(name in names for names in layers.values())
    if not layers and name in first:
        return "all layers"
    return plural(here, "layer") if here else "no layer"


_PAD, _DOT, _NAME_LEFT, _APART = 4, 8, 15, 8


class MemoryRow(QWidget):
    """Paints one device. `pointed` fires when the pointer or the focus enters it."""

    pointed = Signal()

    def __init__(
        self, theme: ThemeManager, prospect: Prospect, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._prospect = prospect
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)
        self._tell()

    @property
    def prospect(self) -> Prospect:
        """The device shown."""
        return self._prospect

    def show_prospect(self, prospect: Prospect) -> None:
        """Show this device."""
        if prospect != self._prospect:
            higher = bool(prospect.parts) != bool(self._prospect.parts)
            self._prospect = prospect
            self._tell()
            self.update()
            if higher:
                self.updateGeometry()

    def _tell(self) -> None:
        self.setAccessibleName(f"predicted memory of {self._prospect.name}")
        self.setAccessibleDescription(self._prospect.text)
        self.setToolTip(self._prospect.text)

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """The name and its figures, and the bar if anything is predicted."""
        bar = BAR + 4 if self._prospect.parts else 0
        return QSize(200, int(self.fontMetrics().height() + bar + 2 * _PAD))

    def enterEvent(self, event: QEnterEvent) -> None:  # noqa: N802 - Qt's name
        """Report the pointer."""
        super().enterEvent(event)
        self.pointed.emit()

    def focusInEvent(self, event: QFocusEvent) -> None:  # noqa: N802 - Qt's name
        """Report the focus."""
        super().focusInEvent(event)
        self.pointed.emit()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the device."""
        del event
        tokens = self._theme.tokens
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        draw_focus(painter, self, tokens, 6)
        line = QRectF(_PAD, _PAD, self.width() - 2 * _PAD, self.fontMetrics().height())
        self._paint_line(painter, line, tokens)
        if self._prospect.parts:
            area = QRectF(_PAD, line.bottom() + 3, line.width(), BAR)
            draw_parts(
                painter,
                area,
                self._prospect.shares,
                tokens.device_colour(self._prospect.place),
                tokens,
            )
            draw_advised(painter, area, sum(self._prospect.shares), self._prospect.lacking, tokens)
            draw_held(painter, area, self._prospect.held, tokens)

    def _paint_line(self, painter: QPainter, line: QRectF, tokens: Tokens) -> None:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(tokens.device_colour(self._prospect.place)))
        painter.drawEllipse(QPointF(line.left() + _DOT / 2, line.center().y()), _DOT / 2, _DOT / 2)
        painter.setFont(font("mono"))
        painter.setPen(QColor(tokens.text))
        painter.drawText(line.adjusted(_NAME_LEFT, 0, 0, 0), LEFT, self._prospect.name)
        after = _NAME_LEFT + painter.fontMetrics().horizontalAdvance(self._prospect.name) + 10
        painter.setFont(font("text"))
        fine = tokens.warning if self._prospect.lacks else tokens.text
        painter.setPen(QColor(tokens.bad if self._prospect.over else fine))
        share = QFontMetrics(font("caption")).horizontalAdvance(self._prospect.share)
        amount = self._amount(int(line.width()) - after - share - _APART)
        painter.drawText(line, RIGHT, amount)
        beside = line.adjusted(
            after, 0, -painter.fontMetrics().horizontalAdvance(amount) - _APART, 0
        )
        painter.setFont(font("caption"))
        painter.setPen(QColor(tokens.muted))
        words = painter.fontMetrics().elidedText(
            self._prospect.share, Qt.TextElideMode.ElideRight, max(0, int(beside.width()))
        )
        painter.drawText(beside, LEFT, words)

    def _amount(self, area: int) -> str:
        """Return the total and the limit or, if they do not fit, the total.

        Widths are in pixels. The bar itself is drawn to the limit.
        """
        amount = self._prospect.amount
        fits = QFontMetrics(font("text")).horizontalAdvance(amount) <= area
        return amount if fits else amount.partition(" of ")[0].partition(", ")[0]
