"""The card with a result's picture: which one is shown, and what is pointed at in it."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtGui import QActionGroup
from PySide6.QtWidgets import QFrame, QMenu, QScrollArea, QWidget

from gpu_studio.lab.benchmark_pictures import Picture
from gpu_studio.ui.kit import CardFrame, Elided, Label, OptionButton, ThemeManager
from gpu_studio.ui.lab.pictures.picture_view import PictureFile, PictureView

_AROUND = 72
"""The height of the card without the picture, in pixels."""


class PictureCard(CardFrame):
    """Shows one of several pictures. `chosen(title)` fires when the user chooses another."""

    chosen = Signal(str)

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__("", parent)
        self._theme = theme
        self._pictures: tuple[Picture, ...] = ()
        self.setAccessibleName("Picture")
        self.title = Label("", "title")
        self.readout = Elided("", "muted", letters=0)
        self.which = OptionButton("", theme, "Which picture is shown")
        self._menu = QMenu("Picture", self)
        self.which.set_menu(self._menu)
        self.view = PictureView(theme)
        self.view.pointed.connect(self.readout.setText)
        self._lay_out()

    @property
    def picture(self) -> Picture | None:
        """The picture that is shown."""
        return self.view.picture

    def show_pictures(self, pictures: Sequence[Picture], wanted: str = "") -> None:
        """Offer these, and show the one with the wanted title, or else the first."""
        titles = [each.title for each in pictures]
        if titles != [each.title for each in self._pictures]:
            self._fill(titles)
        self._pictures = tuple(pictures)
        shown = next((each for each in pictures if each.title == wanted), None)
        self._show(shown or next(iter(pictures), None))

    def file(self, caption: str) -> PictureFile | None:
        """The picture as a file; None if none is shown."""
        if self.view.picture is None:
            return None
        return PictureFile(self.view.picture, caption, self._theme.tokens, self.view.size())

    def _lay_out(self) -> None:
        self.header.addWidget(self.title)
        self.header.addSpacing(8)
        self.header.addWidget(self.readout, 1)
        self.header.addStretch(0)
        self.header.addWidget(self.which)
        self.body.addLayout(self.header)
        area = QScrollArea()
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setWidgetResizable(True)
        area.setFocusProxy(self.view)
        self.view.setObjectName("plain")
        area.setWidget(self.view)
        area.setMinimumHeight(120)
        self.body.addWidget(area, 1)

    def _fill(self, titles: Sequence[str]) -> None:
        self._menu.clear()
        group = QActionGroup(self._menu)
        for title in titles:
            action = self._menu.addAction(title)
            action.setCheckable(True)
            action.triggered.connect(lambda _=False, title=title: self._choose(title))
            group.addAction(action)
        self.which.setVisible(len(titles) > 1)
        self.which.set_text("picture")

    def _choose(self, title: str) -> None:
        self.show_pictures(self._pictures, title)
        self.chosen.emit(title)

    def _show(self, picture: Picture | None) -> None:
        self.title.setText(picture.title if picture is not None else "")
        self.view.show_picture(picture)
        self.setMaximumHeight(self.view.usual_height + _AROUND)
        for action in self._menu.actions():
            action.setChecked(picture is not None and action.text() == picture.title)
