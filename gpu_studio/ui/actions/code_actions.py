"""Python of one's own: which of it may run."""

from __future__ import annotations

from gpu_studio.ui.action_spec import ActionSpec

CODE: tuple[ActionSpec, ...] = (
    ActionSpec(
        "allow_code",
        "Edit",
        "Allow plan's Python…",
        "Read the Python files of the open plan that are not allowed yet, and say whether they may run",
        lambda window: window.consent.ask_about_plan(),
        group=2,
    ),
    ActionSpec(
        "allowed_code",
        "Edit",
        "Allowed Python…",
        "List the Python files and folders that may run, and forbid them again",
        lambda window: window.consent.show_allowed(),
        group=2,
    ),
)
