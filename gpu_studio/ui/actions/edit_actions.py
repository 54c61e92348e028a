"""Undo, and what goes to the clipboard."""

from __future__ import annotations

from gpu_studio.ui.action_spec import ActionSpec

EDIT: tuple[ActionSpec, ...] = (
    ActionSpec(
        "undo",
        "Edit",
        "Undo",
        "Take back the last change of the plan",
        lambda window: window.document.undo_stack.undo(),
        "Ctrl+Z",
        "undo",
    ),
    ActionSpec(
        "redo",
        "Edit",
        "Redo",
        "Make the change again that was taken back",
        lambda window: window.document.undo_stack.redo(),
        "Ctrl+Shift+Z",
        "redo",
    ),
    ActionSpec(
        "copy_plan",
        "Edit",
        "Copy plan as TOML",
        "Put the plan's text on the clipboard",
        lambda window: window.plan_files.copy(),
        "Ctrl+Shift+C",
        "copy",
        1,
    ),
    ActionSpec(
        "copy_python",
        "Edit",
        "Copy as Python",
        "Put a script on the clipboard that trains the plan in plain TensorFlow and Keras, without GPU Studio",
        lambda window: window.scripts.copy(),
        "Ctrl+Shift+P",
        "copy",
        1,
    ),
    ActionSpec(
        "copy_devices",
        "Edit",
        "Copy devices as text",
        "Put the devices and their figures on the clipboard as text",
        lambda window: window.devices_page.copy(),
        group=1,
    ),
)
