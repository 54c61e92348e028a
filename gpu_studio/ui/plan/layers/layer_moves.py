"""How layers move to another device: by dragging or by keys, and with what effect.

The effect of a drop is known while still dragging: it is the change of the plan, or why it is
impossible. Layers are dragged as data that any window of this program can read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QMimeData, QPoint, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QKeyEvent, QKeySequence, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from gpu_studio.common import figures
from gpu_studio.common.figures import plural
from gpu_studio.placement.known_problems import why_not_split
from gpu_studio.placement.plan_facts import GraphLayer, ModelFacts, ModelGraph
from gpu_studio.placement.stage_memory import samples_at_once
from gpu_studio.placement.work import most_bytes
from gpu_studio.plan import Machine, Placed, Plan, listed, logical_devices, validate
from gpu_studio.plan.edits import distribution
from gpu_studio.plan.edits.change import Change
from gpu_studio.ui.kit import ThemeManager, font, mix, readable
from gpu_studio.ui.plan.layers.board import OPEN, not_there, running_on


@dataclass(frozen=True, slots=True)
class LayerDrop:
    """Layers over a device's lane; with `split` the device gets a part of their units."""

    layers: tuple[str, ...]
    device: str
    split: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """`said` is the effect of the drop or, if `change` is None, why it is impossible."""

    said: str
    change: Change | None = None


@dataclass(frozen=True, slots=True)
class Ground:
    """What verdicts depend on, computed once for all drops.

    `running` is where each layer is now, by name. `problems` are those that the plan already has,
    as field and received value.
    """

    plan: Plan
    machine: Machine
    model: ModelFacts
    layers: Mapping[str, GraphLayer]
    running: Mapping[str, tuple[str, ...]]
    limits: Mapping[str, float | None]
    problems: frozenset[tuple[str, str]]


def ground_of(plan: Plan, machine: Machine, model: ModelFacts, graph: ModelGraph) -> Ground:
    """Return what verdicts about drops on this plan depend on."""
    logical = logical_devices(plan, machine)
    return Ground(
        plan,
        machine,
        model,
        {layer.name: layer for layer in graph.layers},
        running_on(plan, machine, graph),
        most_bytes(logical, machine),
        frozenset((each.field, each.received) for each in validate(plan, machine)),
    )


def verdict(drop: LayerDrop, ground: Ground) -> Verdict:
    """Return whether the layers can be dropped there, and with what effect."""
    refusal = next(_refusals(drop, ground), "")
    if refusal:
        return Verdict(refusal)
    change = change_of(drop, ground.running)
    new = _new_problem(ground, change.make(ground.plan))
    return Verdict(new) if new else Verdict(_said(drop, ground.running), change)


def change_of(drop: LayerDrop, running: Mapping[str, tuple[str, ...]]) -> Change:
    """Return the change that a drop asks for; `running` is where each layer runs now."""
    layers, device = drop.layers, drop.device
    what = layers[0] if len(layers) == 1 else plural(len(layers), "layer")
    if device == OPEN:
        return Change(lambda plan: distribution.take_off(plan, layers), f"leave {what} open")
    if drop.split:
        return Change(
            lambda plan: distribution.split_with(plan, layers, device, running),
            f"split {what} with {device}",
        )
    return Change(
        lambda plan: distribution.run_on(plan, layers, device), f"move {what} to {device}"
    )


def _refusals(drop: LayerDrop, ground: Ground) -> Iterator[str]:
    """List everything that prevents a drop, the plainest reason first."""
    strangers = [name for name in drop.layers if name not in ground.layers]
    if not drop.layers:
        yield "No layer is selected."
    elif strangers:
        yield f"The layer {strangers[0]} is not one of this model's."
    elif drop.device != OPEN and drop.device not in ground.limits:
        yield not_there(drop.device)
    elif not drop.split and _is_there(drop, ground.plan):
        yield _already(drop)
    else:
        layers = [ground.layers[name] for name in drop.layers]
        yield from _split_refusals(drop, layers, ground.running)
        yield from _size_refusals(drop, layers, ground)


def _is_there(drop: LayerDrop, plan: Plan) -> bool:
    places = distribution.places_of(plan)
    wanted = (drop.device,) if drop.device != OPEN else ()
    return all(places.get(layer, ()) == wanted for layer in drop.layers)


def _already(drop: LayerDrop) -> str:
    what = f"The layer {drop.layers[0]}" if len(drop.layers) == 1 else "All of them"
    if drop.device == OPEN:
        return f"{what} {'is' if len(drop.layers) == 1 else 'are'} left open already."
    order = "in a lane, layers stand in the order in which they run"
    return f"{what} {'is' if len(drop.layers) == 1 else 'are'} on {drop.device} already; {order}."


def _split_refusals(
    drop: LayerDrop, layers: Sequence[GraphLayer], running: Mapping[str, tuple[str, ...]]
) -> Iterator[str]:
    if not drop.split:
        return
    if drop.device == OPEN:
        yield "A layer is split over devices: drop it on one of them."
        return
    for layer in layers:
        now = running[layer.name]
        if drop.device in now:
            yield (
                f"The layer {layer.name} is on {drop.device} already: drop it "
                "on another device to split it."
            )
        elif why_not := why_not_split(layer, (*now, drop.device)):
            yield why_not


def _size_refusals(drop: LayerDrop, layers: Sequence[GraphLayer], ground: Ground) -> Iterator[str]:
    """List layers that are too large for the device even if nothing else is on it."""
    limit = ground.limits.get(drop.device)
    if limit is None:
        return
    for layer in layers:
        parts = len(ground.running[layer.name]) + 1 if drop.split else 1
        held = _held(layer, ground) // parts
        if held > limit:
            there = figures.size(int(limit))
            yield (
                f"The layer {layer.name} alone takes {figures.size(held)} in a step, and "
                f"{drop.device} has {there}."
            )


def _held(layer: GraphLayer, ground: Ground) -> int:
    """Return the least bytes that layers hold.

    They are weights, gradients, the optimizer's slots, and what the backward pass needs of the
    batch.
    """
    state = layer.weight_bytes + layer.trainable_bytes + ground.model.slots.get(layer.name, 0)
    placed = ground.plan.distribution.placed or Placed()
    batch = max(1, ground.plan.training.batch_size)
    return state + layer.kept_bytes * samples_at_once(batch, max(1, placed.micro_batches), 1)


def _new_problem(ground: Ground, after: Plan) -> str:
    """Return what the plan's own rules say against the change."""
    new = [
        each
        for each in validate(after, ground.machine)
        if (each.field, each.received) not in ground.problems
    ]
    return f"{new[0].field} would be {new[0].received}: {new[0].advice}." if new else ""


def _said(drop: LayerDrop, running: Mapping[str, tuple[str, ...]]) -> str:
    if drop.device == OPEN:
        return "drop to leave open"
    if not drop.split:
        return f"drop to run on {drop.device}"
    devices = dict.fromkeys(
        device for layer in drop.layers for device in (*running[layer], drop.device)
    )
    return f"drop to split over {listed(devices)}"


_RADIUS = 8.0
_MIDDLE = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
_LEFT = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft | Qt.TextFlag.TextWordWrap
_WIDEST = 280
_PAD = 10
_OFFSET = QPoint(14, 18)


class DropMark(QWidget):
    """A dashed frame with the description of a valid drop."""

    def __init__(self, theme: ThemeManager, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self.text = ""
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()

    def show_text(self, text: str, where: QRect) -> None:
        """Show the frame there."""
        self.text = text
        self.setGeometry(where)
        self.raise_()
        self.show()
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the frame and the words."""
        del event
        tokens = self._theme.tokens
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        pen = QPen(QColor(tokens.accent), 1.5)
        pen.setDashPattern([4, 3])
        painter.setPen(pen)
        ground = mix(tokens.accent, tokens.surface, 0.08)
        painter.setBrush(QColor(ground))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), _RADIUS, _RADIUS)
        painter.setFont(font("caption"))
        painter.setPen(QColor(readable(tokens.accent, ground, tokens.text)))
        painter.drawText(self.rect().adjusted(4, 2, -4, -2), _MIDDLE, self.text)


class PointerHint(QWidget):
    """A short text beside the pointer: why the layers cannot be dropped here."""

    def __init__(self, theme: ThemeManager, window: QWidget) -> None:
        super().__init__(window)
        self._theme = theme
        self._window = window
        self.text = ""
        self.setFont(font("caption"))
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()

    def say(self, text: str, pointer: QPoint) -> None:
        """Show it at this place of the window, moved so that all of it is visible."""
        self.text = text
        self.setAccessibleName(text)
        self.resize(self.sizeHint())
        window = self._window.rect().adjusted(4, 4, -4, -4)
        spot = pointer + _OFFSET
        left = max(window.left(), min(spot.x(), window.right() - self.width()))
        top = (
            spot.y()
            if spot.y() + self.height() <= window.bottom()
            else pointer.y() - self.height() - 6
        )
        self.move(left, max(window.top(), top))
        self.raise_()
        self.show()
        self.update()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """The size of the text, which is wrapped if it is long."""
        area = QRect(0, 0, _WIDEST, 400)
        words = self.fontMetrics().boundingRect(area, int(_LEFT), self.text)
        return QSize(words.width() + 2 * _PAD + 20, words.height() + 14)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the text, and a sign for an invalid drop."""
        del event
        tokens = self._theme.tokens
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        ground = mix(tokens.bad, tokens.surface, 0.12)
        painter.setPen(QPen(QColor(tokens.bad), 1))
        painter.setBrush(QColor(ground))
        painter.drawRoundedRect(
            QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), _RADIUS, _RADIUS
        )
        painter.setPen(QPen(QColor(tokens.bad), 1.6))
        sign = QRectF(_PAD, self.height() / 2 - 5.5, 11, 11)
        painter.drawEllipse(sign)
        painter.drawLine(sign.topLeft() + QPoint(2, 2), sign.bottomRight() - QPoint(2, 2))
        painter.setPen(QColor(readable(tokens.bad, ground, tokens.text)))
        painter.drawText(self.rect().adjusted(_PAD + 19, 0, -_PAD + 2, 0), int(_LEFT), self.text)


FORMAT = "application/x-gpu-studio-layers+json"
MOST = 100_000


def carrying(layers: Sequence[str]) -> QMimeData:
    """Return mime data with the names of these layers."""
    data = QMimeData()
    data.setData(FORMAT, json.dumps({"layers": list(layers)}).encode())
    return data


def carried(data: QMimeData) -> tuple[str, ...]:
    """Return the layers in mime data, each once.

    None are returned if it holds none, or something else under this name.
    """
    if not data.hasFormat(FORMAT):
        return ()
    try:
        layers = json.loads(bytes(data.data(FORMAT).data()))["layers"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return ()
    if (
        not isinstance(layers, list)
        or len(layers) > MOST
        or not all(isinstance(each, str) for each in layers)
    ):
        return ()
    return tuple(dict.fromkeys(layers))


GONE = (Qt.Key.Key_Delete, Qt.Key.Key_Backspace)
_CTRL, _ALT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.AltModifier
_KEYPAD = Qt.KeyboardModifier.KeypadModifier


def held(event: QKeyEvent) -> Qt.KeyboardModifier:
    """Return the modifiers held with this key, without that of the keypad."""
    return event.modifiers() & ~_KEYPAD


def digit(event: QKeyEvent) -> tuple[int, bool] | None:
    """The device number, from 0 on, of Ctrl and a digit, and whether to split: with Alt too."""
    number = event.key() - int(Qt.Key.Key_1)
    if held(event) in (_CTRL, _CTRL | _ALT) and 0 <= number < 9:
        return number, bool(held(event) & _ALT)
    return None


def kept(event: QEvent, meant: Callable[[QKeyEvent], object]) -> bool:
    """Return whether this key, which is `meant` here, is about to become the window's shortcut.

    If so, it is kept from the window.
    """
    ours = (
        event.type() == QEvent.Type.ShortcutOverride
        and isinstance(event, QKeyEvent)
        and bool(meant(event))
    )
    if ours:
        event.accept()
    return ours


def is_ours(event: QKeyEvent) -> bool:
    """Return whether a key has a meaning here, so that it must not be the window's."""
    gone = not held(event) and event.key() in GONE
    return gone or digit(event) is not None or event.matches(QKeySequence.StandardKey.SelectAll)
