"""Write the pages of the guide that are made from the program: `make guide`.

The options of a plan come from the rules, the keys from the window's actions, the lessons from
their files. A test says when a page has become old.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gpu_studio.common.guide import guide
from gpu_studio.plan.options_page import built_ins_page, options_page
from gpu_studio.runs.lessons import lessons
from gpu_studio.ui.kit.action_set import ActionSpec
from gpu_studio.ui.window.actions import ACTIONS

_SHORTCUTS = """# Keyboard

The actions that have keys, by their menus. **Ctrl+K** opens a list of all actions, to search and to
do; what cannot be done now says why. Everything can be reached without a
mouse: **Tab** goes from field to field, **F6** to a message, **Esc** closes what is open."""


def shortcuts_page() -> str:
    """The page about the keyboard, as Markdown."""
    parts = [_SHORTCUTS]
    for menu in dict.fromkeys(action.menu for action in ACTIONS):
        rows = [_row(action) for action in ACTIONS if action.menu == menu and action.shortcut]
        if not rows:
            continue
        parts += [
            f"## Menu {menu}",
            "\n".join(["| action | keys | what it does |", "|---|---|---|", *rows]),
        ]
    return "\n\n".join(parts) + "\n"


def _row(action: ActionSpec) -> str:
    tip = action.tip.replace("*", "\\*")
    return f"| {action.name} | **{action.shortcut}** | {tip} |"


_LESSONS = """# Lessons

Eight lessons of about ten minutes. Each opens a plan of its own, says what to do and waits until it
was done; in the window a ring is around what it speaks of. *Help ▸ Lessons…* begins one, after
the usual question about unsaved changes. In the terminal `gpu-studio lesson` lists them, and shows
at each step the commands that do it.

They train on the CPU. The fifth needs a card, or practice cards: see
[Devices](devices.md#cards-that-are-not-there)."""


def lessons_page() -> str:
    """The page about the lessons, as Markdown."""
    parts = [_LESSONS]
    for lesson in lessons().values():
        steps = "\n".join(f"{place}. {step.title}" for place, step in enumerate(lesson.steps, 1))
        page, _, part = lesson.about.partition("#")
        link = f"{page}.md#{part}" if part else f"{page}.md"
        parts += [
            f"## {lesson.number}. {lesson.title}",
            lesson.goal,
            steps,
            f"In the terminal: `gpu-studio lesson {lesson.number}`. More: [the guide]({link}).",
        ]
    return "\n\n".join(parts) + "\n"


PAGES: Mapping[str, Callable[[], str]] = {
    "options": options_page,
    "built-ins": built_ins_page,
    "lessons": lessons_page,
    "shortcuts": shortcuts_page,
}


def main() -> None:
    """Write the pages beside those that are written by hand."""
    for name, make in PAGES.items():
        (guide().folder / f"{name}.md").write_text(make(), encoding="utf-8")


if __name__ == "__main__":
    main()
