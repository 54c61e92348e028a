"""One of several names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QComboBox, QWidget

from gpu_studio.plan.problems import shown
from gpu_studio.ui.theme.fonts import font


class Choice(QComboBox):
    """One of several names, each with a tooltip where `tips` has one.

    A name that is not among them, from a file, is shown as it is, as long as it stands there.
    """

    edited = Signal(object)
    merges = False

    def __init__(
        self,
        name: str,
        names: Sequence[str | None],
        parent: QWidget | None = None,
        *,
        tips: Mapping[str, str] | None = None,
        words: Mapping[Any, str] | None = None,
    ) -> None:
        super().__init__(parent)
        self._words = dict(words or {})
        self._tips = dict(tips or {})
        self._names: tuple[str | None, ...] = ()
        self._known = 0
        self.set_names(names)
        self.setAccessibleName(name)
        # On Linux a screen reader takes the value of a combo box for its name.
        self.setAccessibleDescription(name)
        self.setFont(font("text"))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(8)
        self.textActivated.connect(self._tell)

    def set_tip(self, tip: str) -> None:
        """What the tooltip says."""
        self.setToolTip(tip)

    def set_names(self, names: Sequence[str | None]) -> None:
        """Offer these names; `show_value` has to follow."""
        if tuple(names) == self._names:
            return
        self._names = tuple(names)
        self.clear()
        for each in names:
            self.addItem(self._words.get(each, each or ""), each)
            self.setItemData(self.count() - 1, self._tips.get(each or ""), Qt.ItemDataRole.ToolTipRole)
        self._known = self.count()

    def show_value(self, value: Any) -> None:
        """Show a name without reporting it."""
        index = next((index for index in range(self._known) if self.itemData(index) == value), -1)
        if index < 0:
            index = self._foreign(value)
        elif self.count() > self._known:
            self.removeItem(self._known)
        if index != self.currentIndex():
            self.setCurrentIndex(index)

    def wheelEvent(self, event: QWheelEvent) -> None:  # noqa: N802 - Qt's name
        """Leave the wheel to the page."""
        event.ignore()

    def showPopup(self) -> None:  # noqa: N802 - Qt's name
        """Open the list as wide as its longest name."""
        self.view().setMinimumWidth(self.view().sizeHintForColumn(0) + 24)
        super().showPopup()

    def _foreign(self, value: Any) -> int:
        text = value if isinstance(value, str) else self._words.get(value, "") if value is None else shown(value)
        if self.count() == self._known:
            self.addItem(text)
        elif self.itemText(self._known) != text:
            self.setItemText(self._known, text)
        return self._known

    def _tell(self, text: str) -> None:
        index = self.findText(text, Qt.MatchFlag.MatchExactly | Qt.MatchFlag.MatchCaseSensitive)
        if 0 <= index < self._known:
            self.edited.emit(self.itemData(index))
