"""GPU Studio's window for a story of several workers with a real pointer."""

from __future__ import annotations

import sys
from typing import Any

import story_window
from runs_window import whole

from gpu_studio.cli import main
from gpu_studio.plan import cluster_of
from gpu_studio.runs.reading.workers import seen_words
from gpu_studio.ui.kit.dialogs import TraceDialog
from gpu_studio.ui.window import app


class Window(story_window.Window):
    """Tells of the plan's workers, of what was examined, and of the rows of the Train page."""

    def seen(self) -> dict[str, Any]:
        plan: Any = self.document.plan
        looked_at: Any = self.plan_page.outlook._examination
        cluster = cluster_of(plan) if plan is not None else None
        told: dict[str, Any] = {"planned": cluster.workers if cluster else 0}
        # A busy machine is warned of, and trains.
        found = [each.state for each in looked_at.findings] if looked_at else []
        told["examined"] = bool(found) and "bad" not in found
        told["workers"], told["pids"], told["starts"], told["stack"] = [], [], 0, ""
        run = self.shown_run
        if run is not None:
            known = run.history.workers
            told["workers"] = [each.state for each in known.states if not seen_words(each)]
            told["pids"] = [each.pid for each in known.places]
            told["starts"] = known.cluster.attempt + 1 if known.cluster else 0
        for dialog in self.findChildren(TraceDialog):
            if dialog.isVisible():
                told["stack"] = dialog.details.toPlainText()
        return super().seen() | told

    def parts(self) -> dict[str, list[int]]:
        found, page = super().parts(), self.plan_page
        if self.page == "plan":
            if page.workspace.current == "Strategy":
                editor: Any = page.workspace.editor("Strategy")
                if (field := editor.cluster.numbers["workers"]).isVisible():
                    found["how many"] = whole(field.lineEdit())
        elif self.page == "train":
            for row in self.train_page.workers.rows:
                if row.stack.isEnabled() and row.stack.isVisible():
                    found[f"stack of {row.title}"] = whole(row.stack)
        return found


if __name__ == "__main__":
    patched: Any = app
    patched.MainWindow = Window
    sys.exit(main(sys.argv[1:]))
