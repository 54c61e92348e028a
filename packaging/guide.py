"""Write the pages of the guide that are made from the program: `make guide`.

The options of a plan come from the rules, the keys from the window's actions. A test says when a
page has become old.
"""

from __future__ import annotations

from gpu_studio.common.guide import guide
from gpu_studio.plan.options_page import options_page
from gpu_studio.ui.kit.action_set import ActionSpec
from gpu_studio.ui.window.actions import ACTIONS

PAGES = {"options": options_page, "shortcuts": lambda: shortcuts_page(ACTIONS)}
_SHORTCUTS = """# Keyboard

Every action, by its menu. **Ctrl+K** opens a list of them all, to search and to do; what cannot be
done now says why. Everything can be reached without a mouse: **Tab** goes from field to field,
**F6** to a message, **Esc** closes what is open."""


def shortcuts_page(actions: tuple[ActionSpec, ...]) -> str:
    """The page about the keyboard, as Markdown."""
    parts = [_SHORTCUTS]
    for menu in dict.fromkeys(action.menu for action in actions):
        rows = [_row(action) for action in actions if action.menu == menu]
        parts += [f"## Menu {menu}", "\n".join(["| action | keys | |", "|---|---|---|", *rows])]
    return "\n\n".join(parts) + "\n"


def _row(action: ActionSpec) -> str:
    keys = f"**{action.shortcut}**" if action.shortcut else ""
    tip = action.tip.replace("*", "\\*")
    return f"| {action.name} | {keys} | {tip} |"


def main() -> None:
    """Write the pages beside those that are written by hand."""
    for name, make in PAGES.items():
        (guide().folder / f"{name}.md").write_text(make(), encoding="utf-8")


if __name__ == "__main__":
    main()
