"""How a field is marked whose text is not what it is for."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget


def mark(field: QWidget, wrong: str, tip: str = "") -> None:
    """Give a field a red frame and say in its tooltip what is `wrong`; if nothing is, its plain look and `tip`."""
    field.setToolTip(wrong or tip)
    field.setAccessibleDescription(wrong)
    if bool(field.property("wrong")) != bool(wrong):
        field.setProperty("wrong", bool(wrong))
        field.style().unpolish(field)
        field.style().polish(field)
