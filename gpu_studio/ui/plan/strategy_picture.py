"""The small drawing of a strategy: where variables, gradients and batches go.

`drawing_of` says which boxes and lines a plan's strategy has; the widget paints them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from PySide6.QtCore import QLineF, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget

from gpu_studio.common.figures import grouped, plural
from gpu_studio.plan import (
    Cluster,
    Machine,
    Placed,
    Plan,
    cluster_of,
    default_devices,
    effective,
    in_all,
    logical_devices,
    parameter_home,
    replicas,
    shares_of,
    strategy_of,
)
from gpu_studio.plan.strategies import BY_NAME
from gpu_studio.plan.strategies.strategy import Picture
from gpu_studio.ui.kit import ThemeManager, Tokens, font, mix, readable
from gpu_studio.ui.kit.device_place import places

WIDTH, TWO_ROWS, THREE_ROWS = 320, 172, 224
_LEGEND, _WIDE = 24, 26
_BETWEEN = 28
_RADIUS = 6.0
_HEAD = 4.5
_APART = 7.0
"""How far apart two lines between the same boxes are drawn."""
_DASHES: dict[Kind, tuple[float, ...]] = {
    "batches": (),
    "gradients": (4, 2.5),
    "variables": (1, 2),
    "activations": (),
}
_CENTRE = Qt.AlignmentFlag.AlignCenter


class StrategyPicture(QWidget):
    """Paints a read-only scene. Its accessible description is the scene in words."""

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._drawing: StrategyDrawing | None = None
        self.setAccessibleName("where variables, gradients and batches go")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)

    @property
    def drawing(self) -> StrategyDrawing | None:
        """What is shown."""
        return self._drawing

    def show_drawing(self, drawing: StrategyDrawing) -> None:
        """Show this scene."""
        if drawing != self._drawing:
            self._drawing = drawing
            self.setAccessibleDescription(drawing.words)
            self.updateGeometry()
            self.update()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """As high as its rows require."""
        rows = len(self._drawing.rows) if self._drawing else 0
        return QSize(WIDTH, THREE_ROWS if rows > 2 else TWO_ROWS)

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Space for the names of four devices."""
        return QSize(208, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the links, the boxes over their ends, and the legend."""
        del event
        if self._drawing is None:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        tokens = self._theme.tokens
        areas = _areas(self._drawing, QRectF(self.rect()).adjusted(1, 1, -1, -_LEGEND))
        for link in self._drawing.links:
            _draw_link(painter, link, areas, tokens)
        for row, line in zip(self._drawing.rows, areas, strict=True):
            for box, area in zip(row, line, strict=True):
                _draw_box(painter, box, area, tokens)
        _draw_legend(
            painter,
            self._drawing.kinds,
            QRectF(0, self.height() - _LEGEND + 6, self.width(), 18),
            tokens,
        )


def _areas(drawing: StrategyDrawing, area: QRectF) -> list[list[QRectF]]:
    """Return the rectangle of each box.

    The devices get what the wide rows and the gaps leave.
    """
    wide = [row[0].wide for row in drawing.rows]
    tall = area.height() - sum(_WIDE for each in wide if each) - _BETWEEN * (len(wide) - 1)
    made, top = [], area.top()
    for row, is_wide in zip(drawing.rows, wide, strict=True):
        height = _WIDE if is_wide else tall / max(1, wide.count(False))
        made.append(
            _side_by_side(QRectF(area.left(), top, area.width(), height), len(row), row[0].wide)
        )
        top += height + _BETWEEN
    return made


def _side_by_side(area: QRectF, count: int, wide: bool) -> list[QRectF]:
    gap = 0.0 if wide else min(_BETWEEN, area.width() / (4 * count))
    width = (area.width() - gap * (count - 1)) / count
    return [
        QRectF(area.left() + each * (width + gap), area.top(), width, area.height())
        for each in range(count)
    ]


# Links


def _draw_link(painter: QPainter, link: Link, areas: list[list[QRectF]], tokens: Tokens) -> None:
    line = _line(link, areas[link.start[0]][link.start[1]], areas[link.end[0]][link.end[1]])
    painter.setPen(link_pen(link.kind, tokens))
    painter.drawLine(line)
    _draw_head(painter, line, link.kind, tokens)
    if link.both:
        _draw_head(painter, QLineF(line.p2(), line.p1()), link.kind, tokens)


def _line(link: Link, start: QRectF, end: QRectF) -> QLineF:
    """Return the line from edge to edge.

    It goes straight down or up in the middle of the narrower box, or across between neighbours.
    """
    aside = _aside(link)
    if link.start[0] == link.end[0]:
        y = start.center().y() + aside
        onward = start.left() < end.left()
        return QLineF(
            start.right() if onward else start.left(), y, end.left() if onward else end.right(), y
        )
    x = min(start, end, key=lambda area: area.width()).center().x() + aside
    down = link.start[0] < link.end[0]
    return (
        QLineF(x, start.bottom(), x, end.top()) if down else QLineF(x, start.top(), x, end.bottom())
    )


def _aside(link: Link) -> float:
    """A line's offset from the middle, so that the two directions are drawn side by side."""
    paired = {"activations": -1, "variables": 1}
    if link.kind in paired:
        return _APART * paired[link.kind]
    same_row = link.start[0] == link.end[0]
    return 0.0 if link.kind == "batches" or link.both else _APART if same_row else -_APART


def _draw_head(painter: QPainter, line: QLineF, kind: Kind, tokens: Tokens) -> None:
    unit = line.unitVector()
    dx, dy = unit.dx(), unit.dy()
    tip = line.p2()
    back = QPointF(tip.x() - _HEAD * 1.4 * dx, tip.y() - _HEAD * 1.4 * dy)
    side = QPointF(-dy * _HEAD * 0.8, dx * _HEAD * 0.8)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(link_colour(kind, tokens)))
    painter.drawPolygon(QPolygonF([tip, back + side, back - side]))


def link_colour(kind: Kind, tokens: Tokens) -> str:
    """Return the colour of a link; its dashes distinguish it too."""
    return {"gradients": tokens.accent, "variables": tokens.text}.get(kind, tokens.muted)


def link_pen(kind: Kind, tokens: Tokens) -> QPen:
    """The pen of a link."""
    pen = QPen(QColor(link_colour(kind, tokens)), 2.0 if kind == "activations" else 1.5)
    pen.setCapStyle(Qt.PenCapStyle.FlatCap)
    if _DASHES[kind]:
        pen.setDashPattern(list(_DASHES[kind]))
    return pen


# Boxes


def _draw_box(painter: QPainter, box: Box, area: QRectF, tokens: Tokens) -> None:
    frame = area.adjusted(0.5, 0.5, -0.5, -0.5)
    colour = tokens.line if box.place is None else tokens.device_colour(box.place)
    ground = (
        tokens.surface
        if box.faint
        else mix(colour, tokens.surface, 0.16 if box.place is not None else 0.35)
    )
    painter.setBrush(QColor(ground))
    painter.setPen(
        QPen(QColor(mix(colour, tokens.surface, 0.5) if box.faint else colour), 1.5, _style(box))
    )
    painter.drawRoundedRect(frame, _RADIUS, _RADIUS)
    _draw_parts(painter, box, frame, tokens)
    _write(painter, box, area, ground, tokens)


def _style(box: Box) -> Qt.PenStyle:
    return Qt.PenStyle.DashLine if box.faint else Qt.PenStyle.SolidLine


def _draw_parts(painter: QPainter, box: Box, frame: QRectF, tokens: Tokens) -> None:
    """Draw the parts of a wide box.

    Each has a stripe in its device's colour at its foot, and a gap to the next.
    """
    count = len(box.parts)
    if count < 2:
        return
    width = frame.width() / count
    for number, place in enumerate(box.parts):
        colour = tokens.muted if place is None else tokens.device_colour(place)
        left = frame.left() + number * width
        painter.fillRect(QRectF(left + 2, frame.bottom() - 4, width - 4, 3), QColor(colour))


def _write(painter: QPainter, box: Box, area: QRectF, ground: str, tokens: Tokens) -> None:
    ink = readable(tokens.muted if box.faint else tokens.text, ground, tokens.text)
    lines = [(box.title, "caption" if box.wide else "mono", ink)]
    lines += [(line, "caption", readable(tokens.muted, ground, tokens.text)) for line in box.lines]
    step = min(17.0, (area.height() - 4) / len(lines))
    top = area.center().y() - step * len(lines) / 2 - (1 if len(box.parts) > 1 else 0)
    for number, (text, role, colour) in enumerate(lines):
        painter.setFont(font("mono" if role == "mono" else "caption"))
        painter.setPen(QColor(colour))
        cut = painter.fontMetrics().elidedText(
            text, Qt.TextElideMode.ElideRight, int(area.width()) - 4
        )
        painter.drawText(
            QRectF(area.left() + 2, top + number * step, area.width() - 4, step), _CENTRE, cut
        )


def _draw_legend(painter: QPainter, kinds: tuple[Kind, ...], area: QRectF, tokens: Tokens) -> None:
    painter.setFont(font("caption"))
    left = area.left() + 2
    for kind in kinds:
        painter.setPen(link_pen(kind, tokens))
        painter.drawLine(QLineF(left, area.center().y(), left + 20, area.center().y()))
        painter.setPen(QColor(tokens.muted))
        width = painter.fontMetrics().horizontalAdvance(kind)
        painter.drawText(
            QRectF(left + 26, area.top(), width + 2, area.height()),
            Qt.AlignmentFlag.AlignVCenter,
            kind,
        )
        left += 26 + width + 16


Kind = Literal["batches", "gradients", "variables", "activations"]
MOST_BOXES = 4
"""Boxes side by side; of more, the last says how many are left out."""
MOST_PARTS = 16


@dataclass(frozen=True, slots=True)
class Box:
    """A device, or a box that spans the row (`wide`).

    `place` gives its colour; a `faint` one does nothing. A wide box is divided into `parts`, each a
    device's place or None.
    """

    title: str
    lines: tuple[str, ...] = ()
    place: int | None = None
    faint: bool = False
    wide: bool = False
    parts: tuple[int | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Link:
    """What goes from one box to another.

    Each box is given by its row and its number in it. `both` means there and back.
    """

    kind: Kind
    start: tuple[int, int]
    end: tuple[int, int]
    both: bool = False


@dataclass(frozen=True, slots=True)
class StrategyDrawing:
    """Rows of boxes from top to bottom, the links, and a description in words."""

    rows: tuple[tuple[Box, ...], ...]
    links: tuple[Link, ...]
    words: str = ""

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of links in it, each once."""
        return tuple(dict.fromkeys(link.kind for link in self.links))


def drawing_of(plan: Plan, machine: Machine) -> StrategyDrawing:
    """The picture of the plan's strategy on the devices that it uses of this machine."""
    draw = _DRAWN[strategy_of(plan).picture]
    return replace(draw(plan, machine), words=_words(plan, machine))


def _alone(plan: Plan, machine: Machine) -> StrategyDrawing:
    replica_names = replicas(plan, machine)
    others = [
        name
        for name in default_devices(logical_devices(plan, machine))
        if name not in replica_names
    ]
    busy = _boxes(plan, machine, replica_names, "variables", "gradients")
    idle = [replace(box, faint=True) for box in _boxes(plan, machine, others, "idle")]
    row = _few([*busy, *idle])
    return StrategyDrawing((_batch(plan, 1), row), (Link("batches", (0, 0), (1, 0)),))


def _mirrored(plan: Plan, machine: Machine) -> StrategyDrawing:
    devices = _few(_boxes(plan, machine, replicas(plan, machine), "variables", "gradients"))
    way = effective(plan, machine).replace("_", " ")
    places = _places(plan, machine, replicas(plan, machine))
    return _summed(_batch(plan, len(places), places), devices, f"gradients summed: {way}")


def _central(plan: Plan, machine: Machine) -> StrategyDrawing:
    replica_names = replicas(plan, machine)
    devices = _few(_boxes(plan, machine, replica_names, "gradients"))
    home = parameter_home(plan, machine) or ""
    hub = Box(f"{home}: variables", place=_places(plan, machine, (home,))[0], wide=True)
    places = _places(plan, machine, replica_names)
    links = [link for column in range(len(devices)) for link in _to_hub(column)]
    return StrategyDrawing((_batch(plan, len(places), places), devices, (hub,)), tuple(links))


def _workers(plan: Plan, machine: Machine) -> StrategyDrawing:
    cluster = cluster_of(plan) or Cluster()
    count = max(1, cluster.workers)
    every = in_all(plan, replicas(plan, machine))
    mine = plural(every // count, "replica")
    where = "this machine" if cluster.start == "local" else "its machine"
    workers = _few([Box(f"worker {each}", (where, mine, "variables")) for each in range(count)])
    way = effective(plan, machine).replace("_", " ")
    batch = tuple(
        replace(box, parts=(None,) * min(count, MOST_PARTS)) for box in _batch(plan, every)
    )
    return _summed(batch, workers, f"gradients summed: {way}")


def _servers(plan: Plan, _machine: Machine) -> StrategyDrawing:
    cluster = cluster_of(plan) or Cluster(servers=1)
    count, together = max(1, cluster.workers), cluster.updates == "sync"
    each = "its part of a step" if together else "steps of its own"
    workers = _few([Box(f"worker {number}", (each, "gradients")) for number in range(count)])
    what = "shares each batch out" if together else "gives each the next batch"
    chief = Box(f"chief: {what}", wide=True, parts=(None,) * min(count, MOST_PARTS))
    held = plural(cluster.servers, "parameter server")
    servers = Box(f"{held}: variables", wide=True, parts=(None,) * min(cluster.servers, MOST_PARTS))
    links = tuple(link for column in range(len(workers)) for link in _to_hub(column))
    return StrategyDrawing(((chief,), workers, (servers,)), links)


def _tpu(plan: Plan, _machine: Machine) -> StrategyDrawing:
    cores = tuple(Box(f"core {each}", ("variables", "gradients")) for each in range(MOST_BOXES))
    return _summed(_batch(plan, MOST_BOXES), cores, "gradients summed over the TPU's links")


def _placed(plan: Plan, machine: Machine) -> StrategyDrawing:
    part = plan.distribution.placed or Placed()
    count = max(1, part.micro_batches)
    named = tuple(dict.fromkeys(name for names in part.layers.values() for name in names))
    devices = _few(
        _boxes(plan, machine, named or replicas(plan, machine)[:1], "its layers", "their slots")
    )
    cut = f"{grouped(count)} micro-batch{'' if count == 1 else 'es'}"
    title = f"{plural(sum(shares_of(plan, 1)), 'sample')} in {cut}"
    batch = Box(title, wide=True, parts=(None,) * min(count, MOST_PARTS))
    forward = [
        Link("activations", (1, column), (1, column + 1)) for column in range(len(devices) - 1)
    ]
    back = [Link("gradients", (1, column + 1), (1, column)) for column in range(len(devices) - 1)]
    return StrategyDrawing(((batch,), devices), (Link("batches", (0, 0), (1, 0)), *forward, *back))


def _summed(batch: tuple[Box, ...], devices: tuple[Box, ...], sum_: str) -> StrategyDrawing:
    down = [Link("batches", (0, 0), (1, column)) for column in range(len(devices))]
    across = [Link("gradients", (1, column), (2, 0), both=True) for column in range(len(devices))]
    return StrategyDrawing((batch, devices, (Box(sum_, wide=True),)), (*down, *across))


def _to_hub(column: int) -> tuple[Link, ...]:
    return (
        Link("batches", (0, 0), (1, column)),
        Link("gradients", (1, column), (2, 0)),
        Link("variables", (2, 0), (1, column)),
    )


def _batch(plan: Plan, count: int, places: Sequence[int | None] = ()) -> tuple[Box, ...]:
    total = sum(shares_of(plan, max(1, count)))
    parts = tuple(places) or (None,) * min(count, MOST_PARTS)
    return (Box(f"batch of {plural(total, 'sample')}", wide=True, parts=parts),)


def _boxes(plan: Plan, machine: Machine, names: Sequence[str], *lines: str) -> list[Box]:
    places = _places(plan, machine, names)
    return [Box(name, lines, place) for name, place in zip(names, places, strict=True)]


def _places(plan: Plan, machine: Machine, names: Sequence[str]) -> tuple[int | None, ...]:
    known = places(logical_devices(plan, machine), machine)
    return tuple(known.get(name) for name in names)


def _few(boxes: Sequence[Box]) -> tuple[Box, ...]:
    if len(boxes) <= MOST_BOXES:
        return tuple(boxes)
    left = len(boxes) - MOST_BOXES + 1
    return (*boxes[: MOST_BOXES - 1], Box(f"{left} more", boxes[-1].lines, faint=boxes[-1].faint))


def _words(plan: Plan, machine: Machine) -> str:
    facts = BY_NAME.get(plan.distribution.strategy)
    if facts is None:
        return ""
    where = ", ".join(replicas(plan, machine))
    said = f"Variables: {facts.variables}. Gradients: {facts.gradients}. Batches: {facts.batches}."
    return f"{facts.title} on {where}. {said}" if where else said


_DRAWN: Mapping[Picture, Callable[[Plan, Machine], StrategyDrawing]] = {
    "alone": _alone,
    "summed": _mirrored,
    "central": _central,
    "workers": _workers,
    "servers": _servers,
    "cores": _tpu,
    "stages": _placed,
}
