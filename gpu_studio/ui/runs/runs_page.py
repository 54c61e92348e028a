"""The Runs page: what was trained, with what results, and the dialogs that edit its labels."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QEvent, QModelIndex, QObject, QPoint, Qt, Signal
from PySide6.QtGui import QAction, QHideEvent, QKeyEvent, QShowEvent
from PySide6.QtWidgets import QCompleter, QHBoxLayout, QLineEdit, QMenu, QPlainTextEdit, QWidget

from gpu_studio.common.figures import grouped, plural
from gpu_studio.runs.labels import (
    LONGEST_NAME,
    LONGEST_NOTE,
    LONGEST_TAG,
    Labels,
    shared_note,
    shared_tags,
    split_tags,
    tidy_name,
)
from gpu_studio.runs.reading.summary import Summary
from gpu_studio.ui.kit import (
    ActionButton,
    ActionSet,
    Button,
    Dialog,
    EmptyState,
    Label,
    Page,
    Paragraph,
    ThemeManager,
    font,
)
from gpu_studio.ui.kit.settings import RUNS_ORDER, RUNS_WIDTHS, Settings
from gpu_studio.ui.runs.lower_part import LowerPart, PageSplit
from gpu_studio.ui.runs.readers import RunsReader
from gpu_studio.ui.runs.run_permissions import MOST_COMPARED
from gpu_studio.ui.runs.run_rows import Order, RunRow, known_tags
from gpu_studio.ui.runs.run_table import RunTable
from gpu_studio.ui.runs.runs_model import COLOUR_ROLE, RunsModel
from gpu_studio.ui.runs.table_card import FilterBar, TableCard

READING = "Reading the runs…"
HOW_TO_BEGIN = "Train a plan: its run stands here, also after the window is closed."
_MORE_WIDTH = 44
_MENU: tuple[tuple[str, ...], ...] = (
    ("open_run", "compare_runs", "open_run_plan"),
    ("resume_run", "resume_changed", "run_again", "duplicate_plan"),
    ("rename_run", "tag_runs", "note_runs"),
    ("report_runs", "export_run_csv", "export_run_curves"),
    ("copy_run_ids", "reveal_run"),
    ("delete_run",),
)


class RunsPage(Page):
    """A table of all runs, read repeatedly while it is visible.

    `chosen` are the runs that the actions apply to.
    """

    selection_changed = Signal()
    refused = Signal(str)

    def __init__(
        self,
        theme: ThemeManager,
        settings: Settings,
        runs: Path,
        actions: ActionSet,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__("Runs", parent)
        self._settings = settings
        self.model = RunsModel(self)
        self.reader = RunsReader(runs, self)
        self.table = RunTable(theme, self.model)
        self.filter = FilterBar(theme)
        self.card = TableCard(self.filter, self.table)
        self.outcome = LowerPart(theme, settings, actions)
        self.split = PageSplit(theme, settings, self.card, self.outcome)
        self.empty = EmptyState(
            "No runs yet", HOW_TO_BEGIN, "Open the plan", f"Runs are kept in {runs}"
        )
        self.empty.pressed.connect(actions["page_plan"].trigger)
        self._listed = False
        self.reading = Label(READING, "muted")
        self.reading.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._add_buttons(actions)
        self._lay_out()
        self._recall()
        self._connect(actions)
        self._count()
        self._follow_chosen()

    @property
    def chosen(self) -> list[RunRow]:
        """The selected runs, in the table's order."""
        return self.table.chosen

    @property
    def selected(self) -> Summary | None:
        """The selected run, if it is the only one."""
        chosen = self.chosen
        return chosen[0].summary if len(chosen) == 1 else None

    def select(self, *runs: str) -> None:
        """Select the runs with these ids, if they are in the table."""
        self.table.choose(runs)

    def toggle_compare(self) -> None:
        """Give the results most of the height, or give the table its part back."""
        self._show_large(not self.split.large)
        shown = self.outcome.curves.canvas if self.split.large else self.table
        shown.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def begin_search(self) -> None:
        """Focus the search field."""
        self._show_large(False)
        self.filter.search.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.filter.search.selectAll()

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802 - Qt's name
        """Read while the page is seen."""
        super().showEvent(event)
        if self.focusWidget() is None and self.model.rows:
            self.table.setFocus()
        self.reader.watch()

    def hideEvent(self, event: QHideEvent) -> None:  # noqa: N802 - Qt's name
        """Stop reading."""
        super().hideEvent(event)
        self.reader.rest()
        self.remember()

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Escape gives the table its part again, shows all runs, or selects none."""
        if event.key() == Qt.Key.Key_Escape and self.split.large:
            self.toggle_compare()
        elif event.key() == Qt.Key.Key_Escape and self.filter.filter:
            self.filter.clear()
        elif event.key() == Qt.Key.Key_Escape and self.chosen:
            self.table.clearSelection()
        else:
            super().keyPressEvent(event)

    def remember(self) -> None:
        """Save the widths of the columns for the next start."""
        widths = tuple(f"{name}={width}" for name, width in self.table.widths.items())
        if widths != self._settings.get(RUNS_WIDTHS):
            self._settings.set(RUNS_WIDTHS, widths)

    def tidy(self) -> None:
        """Remove for good what was deleted long ago."""
        self.reader.tidy()

    def close_parts(self) -> None:
        """Save the table's layout, and stop the threads."""
        self.remember()
        self.reader.close()
        self.outcome.close_parts()

    def read(self) -> None:
        """Read the runs again."""
        self.reader.read()

    def _recall(self) -> None:
        self._show_order(Order.read(self._settings.get(RUNS_ORDER)))
        pairs = (text.partition("=") for text in self._settings.get(RUNS_WIDTHS))
        self.table.set_chosen_widths(
            {name: int(width) for name, _, width in pairs if width.isdecimal()}
        )

    def _add_buttons(self, actions: ActionSet) -> None:
        self.compare = ActionButton(actions["compare_runs"], text="Compare")
        self.add_button(self.compare)
        self.add_button(ActionButton(actions["report_runs"], text="Report"))
        self.menu = _menu(actions, self)
        self.more = Button("⋯")
        self.more.setAccessibleName("More")
        self.more.setToolTip("What else can be done to the selected runs")
        self.more.setFixedWidth(_MORE_WIDTH)
        self.more.clicked.connect(self._open_menu)
        self.add_button(self.more)

    def _open_menu(self) -> None:
        self.menu.popup(self.more.mapToGlobal(QPoint(0, self.more.height() + 2)))

    def _lay_out(self) -> None:
        self.column.addWidget(self.split, 1)
        self.column.addWidget(self.empty, 1)
        self.column.addWidget(self.reading, 1)
        self.column.addStretch(0)

    def _connect(self, actions: ActionSet) -> None:
        self.reader.rows.connect(self._show)
        self.reader.failed.connect(self._fail)
        self.table.addActions(self.menu.actions())
        for signal, name in (
            (self.table.opened, "open_run"),
            (self.table.deleted, "delete_run"),
            (self.table.rename_pressed, "rename_run"),
            (self.table.tag_pressed, "tag_runs"),
            (self.table.note_pressed, "note_runs"),
            (self.table.copied, "copy_run_ids"),
        ):
            signal.connect(partial(self._do, actions[name]))
        self.table.selectionModel().selectionChanged.connect(self.selection_changed)
        self.table.order_changed.connect(self._keep_order)
        self.filter.order_chosen.connect(self._keep_order)
        self.filter.changed.connect(lambda: self.model.set_filter(self.filter.filter))
        self.filter.left.connect(self.table.setFocus)
        self.model.dataChanged.connect(self._follow_rows)
        self.selection_changed.connect(self._follow_chosen)
        self.outcome.coloured.connect(self.model.set_colours)
        self.model.counted.connect(self._count)

    def _do(self, action: QAction) -> None:
        """Do what a key of the table asks for, or report why that cannot be: no key is dead."""
        if action.isEnabled():
            action.trigger()
        else:
            self.refused.emit(f"{action.toolTip()}.")

    def _keep_order(self, order: Order) -> None:
        self._show_order(order)
        self._settings.set(RUNS_ORDER, str(order))

    def _show_order(self, order: Order) -> None:
        self.table.set_order(order)
        self.filter.show_order(order)

    def _show(self, rows: Sequence[RunRow]) -> None:
        first, self._listed = not self.model.all, True
        self.model.set_rows(rows)
        self.filter.set_tags(known_tags(rows))
        if first and self.model.rows:
            # The user usually comes for the run at work, or for the last one.
            self.table.begin_at(self.model.rows[0].id)
            if self.isVisible() and not self.filter.search.hasFocus():
                self.table.setFocus()

    def _fail(self, why: str) -> None:
        self.caption.setText(why)
        self.reading.setText(why)

    def _show_large(self, large: bool) -> None:
        if large != self.split.large:
            self.split.enlarge(large)
            self._name_compare()

    def _name_compare(self) -> None:
        count = len(self.chosen)
        compared = f"Compare {count}" if 1 < count <= MOST_COMPARED else "Compare"
        self.compare.setText("Show all runs" if self.split.large else compared)
        self.compare.setAccessibleName(self.compare.text())

    def _follow_chosen(self) -> None:
        chosen = self.chosen
        self.outcome.show_runs(chosen)
        self.split.show_lower(bool(chosen))
        if len(chosen) < 2:
            # There is nothing to compare, for example after all but one were deleted.
            self._show_large(False)
        self._name_compare()

    def _follow_rows(
        self, _first: QModelIndex, _last: QModelIndex, roles: Sequence[int] = ()
    ) -> None:
        # A colour alone is no news about a run.
        if COLOUR_ROLE not in roles:
            self.selection_changed.emit()

    def _count(self) -> None:
        total, live = len(self.model.all), sum(row.live for row in self.model.all)
        self.caption.setText(
            f"{grouped(total)} · {live} live" if live else grouped(total) if total else ""
        )
        self.filter.set_count(len(self.model.rows), total)
        self.card.show_found(bool(self.model.rows))
        self.split.setVisible(total > 0)
        self.split.fit()
        self.empty.setVisible(total == 0 and self._listed)
        self.reading.setVisible(total == 0 and not self._listed)


def _menu(actions: ActionSet, parent: QWidget) -> QMenu:
    menu = QMenu("More", parent)
    menu.setToolTipsVisible(True)
    for place, names in enumerate(_MENU):
        if place:
            menu.addSeparator()
        menu.addActions([actions[name] for name in names])
    return menu


_WIDTH = 460
_NOTE_HEIGHT = 140
_RETURN = (Qt.Key.Key_Return, Qt.Key.Key_Enter)


class LabelDialog(Dialog):
    """A dialog with one field.

    `saved` fires with Save, or with Return in the field (Ctrl+Return if it has lines).
    """

    saved = Signal()

    def __init__(
        self, title: str, rows: Sequence[RunRow], hint: str, field: QWidget, parent: QWidget
    ) -> None:
        super().__init__(title, parent)
        self.setModal(True)
        self.setAccessibleName(title)
        self.column.addWidget(Paragraph(_of_what(rows), "muted"))
        problem = next((row.labels.problem for row in rows if row.labels.problem), "")
        if problem:
            self.column.addWidget(Paragraph(problem))
        self.column.addWidget(field)
        self.column.addWidget(Paragraph(hint, "caption"))
        self.save, cancel = Button("Save", "primary"), Button("Cancel")
        self.save.clicked.connect(self._save)
        cancel.clicked.connect(self.close)
        row = QHBoxLayout()
        row.addStretch(1)
        row.addWidget(self.save)
        row.addWidget(cancel)
        self.column.addLayout(row)
        field.installEventFilter(self)
        field.setFocus()
        self.fit(_WIDTH)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        """Save with Return, where that is not part of the text."""
        if (
            isinstance(event, QKeyEvent)
            and event.type() == QEvent.Type.KeyPress
            and event.key() in _RETURN
        ):
            ctrl = bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
            if ctrl or isinstance(watched, QLineEdit):
                self._save()
                return True
        return super().eventFilter(watched, event)

    def _save(self) -> None:
        self.saved.emit()
        self.close()


class NameDialog(LabelDialog):
    """The name of one run; an empty name restores the plan's. `name` is the present text."""

    def __init__(self, row: RunRow, parent: QWidget) -> None:
        self.before = row.labels.name
        self.field = QLineEdit(row.name)
        self.field.setAccessibleName("name")
        self.field.setPlaceholderText(row.summary.plan)
        self.field.setMaxLength(LONGEST_NAME)
        self.field.setFont(font("text"))
        self.field.selectAll()
        hint = "Its number and its plan stay. Without a name it is called by its plan."
        super().__init__("Rename the run", [row], hint, self.field, parent)
        self._plan = row.summary.plan

    @property
    def name(self) -> str:
        """The name that stands there now; empty where it is the plan's."""
        written = tidy_name(self.field.text())
        return "" if written == self._plan else written


class TagDialog(LabelDialog):
    """A line of tags separated by commas: those that all the runs have.

    `tags` are the present ones.
    """

    def __init__(self, rows: Sequence[RunRow], known: Sequence[str], parent: QWidget) -> None:
        self.before = shared_tags([row.labels for row in rows])
        self.field = QLineEdit(", ".join(self.before))
        self.field.setAccessibleName("tags")
        self.field.setPlaceholderText("best, to show, baseline…")
        self.field.setFont(font("text"))
        offered = f" In use: {', '.join(known[:8])}." if known else ""
        each = " Tags that only some of them have stay as they are." if len(rows) > 1 else ""
        hint = f"Commas between them, at most {LONGEST_TAG} letters each.{each}{offered}"
        super().__init__("Tags", rows, hint, self.field, parent)
        self.field.setCompleter(_completer(known, self.field))

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags that stand there now."""
        return split_tags(self.field.text())


class NoteDialog(LabelDialog):
    """A few lines of text. `note` is the present text."""

    def __init__(self, rows: Sequence[RunRow], parent: QWidget) -> None:
        labels: list[Labels] = [row.labels for row in rows]
        self.before = shared_note(labels)
        self.field = QPlainTextEdit(self.before or "")
        self.field.setAccessibleName("note")
        self.field.setFont(font("text"))
        self.field.setTabChangesFocus(True)
        self.field.setFixedHeight(_NOTE_HEIGHT)
        if self.before is None:
            self.field.setPlaceholderText(
                "These runs have different notes: what you write takes their place."
            )
        super().__init__(
            "Note",
            rows,
            "Ctrl+Return saves, Escape leaves everything as it was.",
            self.field,
            parent,
        )

    @property
    def note(self) -> str:
        """The text that stands there now, no longer than a note can be."""
        return self.field.toPlainText().strip()[:LONGEST_NOTE]


def _of_what(rows: Sequence[RunRow]) -> str:
    return rows[0].title if len(rows) == 1 else plural(len(rows), "run")


def _completer(known: Sequence[str], parent: QWidget) -> QCompleter:
    made = QCompleter(list(known), parent)
    made.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
    return made
