"""GPU Studio's window as `gpu-studio` opens it, which prints where its parts are.

For tests with a real pointer.

Takes the arguments of `gpu-studio`. Writes a line of JSON when the first card's bar on the Plan
page is on the screen or has moved, `{"bar": [x, y, width, height]}`, one where the parts to be
clicked can be seen, `{"parts": {name: [x, y, width, height]}}`, and one at each change of the plan,
`{"slices": […], "ends": […], "unsaved": …}`, with the slices' ends as shares of the bar, and
`{"strategy": …, "all_reduce": …}`. Asked by a byte on standard input it writes both places again
with `"still": true`, once it has looked several times and nothing moved. Ends when its standard
input is closed."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from PySide6.QtCore import QEvent, QPoint, QSocketNotifier, QTimer
from PySide6.QtWidgets import QWidget
from telling_window import LOOK_MS, STILL, STILL_AFTER

from gpu_studio.cli import main
from gpu_studio.plan.carving import slices_of
from gpu_studio.ui.kit.basic_widgets import PrimaryButton
from gpu_studio.ui.kit.settings import QUIT
from gpu_studio.ui.plan.plan_facts import FactsReader
from gpu_studio.ui.window import app
from gpu_studio.ui.window.main_window import MainWindow
from gpu_studio.ui.window.quitting import LEAVE

CARD = "GPU:0"
ALL_REDUCE = "hierarchical_copy"


class Window(MainWindow):
    """Prints where the first card's bar is painted, and its slices whenever they change."""

    told: Any = None
    seen: Any = None
    looked: Any = None

    def __init__(self, *given: Any, **named: Any) -> None:
        # Of the model it is told without TensorFlow, which a test of the pointer need not wait for.
        asker = Path(__file__).with_name("fake_plan_asker.py")
        super().__init__(*given, **named, facts=FactsReader((sys.executable, str(asker))))
        self.settings.set(QUIT, LEAVE)
        self.document.changed.connect(self.tell_slices)
        self.document.changed.connect(self.tell_strategy)
        self.unchanged = 0
        self.look = QTimer(self)
        self.look.timeout.connect(self.tell_rest)
        self.words = QSocketNotifier(sys.stdin.fileno(), QSocketNotifier.Type.Read, self)
        self.words.activated.connect(self.hear)

    def hear(self) -> None:
        """Be asked when all is still from now on, or close, as nobody will ask any more."""
        if os.read(sys.stdin.fileno(), 1):
            self.unchanged = 0
            self.look.start(LOOK_MS)
        else:
            self.words.setEnabled(False)
            self.close()

    def tell_rest(self) -> None:
        """Say where all is, once nothing has moved for several looks, however long they took."""
        self.tell_bar()
        self.tell_parts()
        places = (self.told, self.seen)
        waits = self.facts.asking or self.inventory.looking
        self.unchanged = self.unchanged + 1 if places == self.looked and not waits else 0
        self.looked = places
        if self.unchanged >= STILL_AFTER:
            self.look.stop()
            tell(bar=self.told, parts=self.seen, **{STILL: True})

    def event(self, event: QEvent) -> bool:
        """Look where the bar is after all has been painted."""
        done: bool = super().event(event)
        if event.type() in (QEvent.Type.Paint, QEvent.Type.UpdateRequest):
            QTimer.singleShot(0, self, self.tell_bar)
            QTimer.singleShot(0, self, self.tell_parts)
        return done

    def tell_parts(self) -> None:
        """Say where the parts are that can be seen, if that is new."""
        page = self.plan_page
        parts: dict[str, QWidget] = {"mirrored": page.distribution.buttons["mirrored"]}
        if page.workspace.current == "Strategy":
            editor: Any = page.workspace.editor("Strategy")
            parts[ALL_REDUCE] = editor.all_reduce.rows[ALL_REDUCE]
        if (train := page.findChild(PrimaryButton)) is not None:
            parts["train"] = train
        seen = {
            name: where(part) for name, part in parts.items() if not part.visibleRegion().isEmpty()
        }
        if seen != self.seen:
            self.seen = seen
            tell(parts=seen)

    def tell_strategy(self) -> None:
        """Say how the work is spread."""
        if self.document.plan is not None:
            chosen = self.document.plan.distribution
            tell(strategy=chosen.strategy, all_reduce=chosen.all_reduce)

    def tell_bar(self) -> None:
        """Say where the bar is, if that is new."""
        view = self.plan_page.devices.list.views.get(CARD)
        if view is None or not view.bar.isVisible():
            return
        place = where(view.bar)
        if place != self.told:
            self.told = place
            tell(bar=place)

    def tell_slices(self) -> None:
        """Say how the first card is carved."""
        if self.document.plan is not None and self.inventory.machine is not None:
            slices = slices_of(self.document.plan, CARD, self.inventory.machine)
            view = self.plan_page.devices.list.views.get(CARD)
            track = view.bar.track if view is not None else None
            ends = [end / track.length for end in track.ends] if track else []
            tell(slices=list(slices), ends=ends, unsaved=self.document.dirty)


def where(part: QWidget) -> list[int]:
    """The part on the screen: left, top, width, height."""
    corner = part.mapToGlobal(QPoint(0, 0))
    return [corner.x(), corner.y(), part.width(), part.height()]


def tell(**facts: object) -> None:
    """Write a line."""
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    patched: Any = app
    patched.MainWindow = Window
    sys.exit(main(sys.argv[1:]))
