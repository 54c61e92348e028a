"""The runs that are selected on the Runs page: find them, write on them, compare them."""

from __future__ import annotations

from gpu_studio.ui.action_spec import ActionSpec
from gpu_studio.ui.actions.train_actions import find

RUNS: tuple[ActionSpec, ...] = (
    ActionSpec(
        "find_runs",
        "Edit",
        "Find…",
        "Find words in the log on the Train page; elsewhere, show only the runs that are as you type",
        find,
        "Ctrl+F",
        "search",
        2,
    ),
    ActionSpec(
        "compare_runs",
        "Run",
        "Compare selected runs",
        "Give the curves of the selected runs, and what differs between them, most of the page; again for the table",
        lambda window: window.run_list.compare_selected(),
        "Ctrl+Shift+E",
        group=3,
    ),
    ActionSpec(
        "rename_run",
        "Run",
        "Rename run…",
        "Give the selected run a name of its own; F2 in the table",
        lambda window: window.run_list.labels.rename(),
        group=3,
    ),
    ActionSpec(
        "tag_runs",
        "Run",
        "Tags of selected runs…",
        "Write tags on the selected runs, to find them by; T in the table",
        lambda window: window.run_list.labels.tag(),
        icon="tag",
        group=3,
    ),
    ActionSpec(
        "note_runs",
        "Run",
        "Note on selected runs…",
        "Write a note on the selected runs; N in the table",
        lambda window: window.run_list.labels.note(),
        icon="note",
        group=3,
    ),
    ActionSpec(
        "copy_run_ids",
        "Run",
        "Copy ids of selected runs",
        "Put the ids of the selected runs on the clipboard, as gpu-studio runs takes them; Ctrl+C in the table",
        lambda window: window.run_list.copy_ids(),
        icon="copy",
        group=3,
    ),
    ActionSpec(
        "report_runs",
        "Run",
        "Report on selected runs…",
        "Write the figures and curves of the selected runs into one file that any browser opens",
        lambda window: window.run_list.exports.report(),
        "Ctrl+Shift+H",
        group=4,
    ),
    ActionSpec(
        "export_run_csv",
        "Run",
        "Export selected runs as CSV…",
        "Write the numbers of the selected runs into files for a spreadsheet: epochs, steps, memory or cards",
        lambda window: window.run_list.exports.csv(),
        group=4,
    ),
    ActionSpec(
        "export_run_curves",
        "Run",
        "Export curves of selected runs…",
        "Write the curves of the selected runs into a PNG or SVG, as they are on the screen",
        lambda window: window.run_list.exports.picture(),
        group=4,
    ),
)
