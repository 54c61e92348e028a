"""What is declared of an action."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from gpu_studio.ui.main_window import MainWindow

MenuName = Literal["File", "Edit", "Run", "View", "Help"]


@dataclass(frozen=True, slots=True)
class ActionSpec:
    """One action. `group` sets it apart from its neighbours in the menu; of those with the same `one_of` one is on.

    With a `submenu` it stands in that one of its menu. One that is `checkable` is on or off by itself.
    """

    id: str
    menu: MenuName
    name: str
    tip: str
    handler: Callable[[MainWindow], object]
    shortcut: str = ""
    icon: str = ""
    group: int = 0
    one_of: str = ""
    submenu: str = ""
    checkable: bool = False
