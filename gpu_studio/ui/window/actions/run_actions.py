"""The actions on runs: start and control one, the queue, and the runs selected on the Runs page."""

from __future__ import annotations

from gpu_studio.ui.kit import ActionSpec

RUN: tuple[ActionSpec, ...] = (
    ActionSpec(
        "train",
        "Run",
        "Train",
        "Train the open plan in the background",
        "Ctrl+Return",
        "play",
    ),
    ActionSpec(
        "pause",
        "Run",
        "Pause",
        "Pause or resume the run that is shown; its memory stays",
        "Ctrl+P",
        "pause",
        1,
    ),
    ActionSpec(
        "checkpoint",
        "Run",
        "Checkpoint now",
        "Write a checkpoint of the run that is shown",
        "Ctrl+Shift+K",
        "checkpoint",
        1,
    ),
    ActionSpec(
        "stop",
        "Run",
        "Stop",
        "Stop the run that is shown, with a checkpoint to resume from",
        "Ctrl+.",
        "stop",
        1,
    ),
    ActionSpec(
        "stop_now",
        "Run",
        "Stop now",
        "Stop the run that is shown without a checkpoint; steps since the last one are lost",
        icon="stop-now",
        group=1,
    ),
    ActionSpec(
        "open_run",
        "Run",
        "Show selected run",
        "Show the run that is selected on the Runs page",
        "Ctrl+Shift+O",
        "train",
        2,
    ),
    ActionSpec(
        "open_run_plan",
        "Run",
        "Open selected run's plan",
        "Open the plan of the selected run again, as a plan without a file",
        icon="plan",
        group=2,
    ),
    ActionSpec(
        "resume_run",
        "Run",
        "Resume selected run",
        "Go on exactly from the selected run's last step that was saved, as a new run",
        icon="play",
        group=2,
    ),
    ActionSpec(
        "resume_changed",
        "Run",
        "Resume with changes…",
        "Open the plan of the run that is shown or selected, to resume it on "
        "other devices or with other settings",
        "Ctrl+Shift+R",
        "play",
        2,
    ),
    ActionSpec(
        "cancel_resuming",
        "Run",
        "Cancel resuming",
        "Go on with no run: back to the plan that was open before",
        icon="undo",
        group=2,
    ),
    ActionSpec(
        "run_again",
        "Run",
        "Run again",
        "Train the plan of the run that is shown or selected once more, as a new run",
        icon="refresh",
        group=2,
    ),
    ActionSpec(
        "duplicate_plan",
        "Run",
        "Duplicate run's plan",
        "Open the plan of the run that is shown or selected as a new one, "
        "and show what is changed in it",
        "Ctrl+Shift+D",
        "copy",
        2,
    ),
    ActionSpec(
        "reveal_run",
        "Run",
        "Reveal selected run's folder",
        "Open the folder of the selected run in the file manager",
        icon="folder",
        group=2,
    ),
    ActionSpec(
        "delete_run",
        "Run",
        "Delete selected runs",
        "Delete the selected runs; this can be undone",
        "Ctrl+Backspace",
        "trash",
        2,
    ),
)

ADD: tuple[ActionSpec, ...] = (
    ActionSpec(
        "queue_plan",
        "Run",
        "Add to queue",
        "Have the open plan trained when its devices have the memory it needs",
        "Ctrl+Shift+Return",
        "hourglass",
    ),
)

HABITS: tuple[ActionSpec, ...] = (
    ActionSpec(
        "ask_quit",
        "Run",
        "Ask before leaving runs",
        "Ask whether to stop the runs that are alive when the window "
        "is closed; otherwise they go on",
        group=4,
        checkable=True,
    ),
    ActionSpec(
        "notify",
        "Run",
        "Notify when a run ends",
        "Have the desktop say when a run has finished, failed or was "
        "lost, unless this window shows it",
        group=4,
        checkable=True,
    ),
)

QUEUE: tuple[ActionSpec, ...] = (
    ActionSpec(
        "queue_up",
        "Run",
        "Move queued plan up",
        "Have the selected plan of the queue come one place earlier",
        "Alt+Up",
        group=3,
        submenu="Queue",
    ),
    ActionSpec(
        "queue_down",
        "Run",
        "Move queued plan down",
        "Have the selected plan of the queue come one place later",
        "Alt+Down",
        group=3,
        submenu="Queue",
    ),
    ActionSpec(
        "queue_hold",
        "Run",
        "Hold queued plan",
        "Have the selected plan of the queue stay until it is released, or release it",
        icon="pause",
        group=3,
        submenu="Queue",
    ),
    ActionSpec(
        "queue_pass",
        "Run",
        "Let others pass queued plan",
        "Let those behind the selected plan start on the devices that it waits "
        "for, or have them kept for it again",
        group=3,
        submenu="Queue",
    ),
    ActionSpec(
        "queue_start",
        "Run",
        "Start queued plan now",
        "Start the selected plan of the queue, whatever is free",
        icon="play",
        group=3,
        submenu="Queue",
    ),
    ActionSpec(
        "queue_go_on",
        "Run",
        "Go on with queue",
        "Have a process in the background start the plans that wait, where none is alive to do so",
        group=3,
        submenu="Queue",
    ),
    ActionSpec(
        "queue_remove",
        "Run",
        "Remove queued plan",
        "Take the selected plan out of the queue; this can be undone",
        icon="trash",
        group=3,
        submenu="Queue",
    ),
)

RUNS: tuple[ActionSpec, ...] = (
    ActionSpec(
        "find_runs",
        "Edit",
        "Find…",
        "Find words in the log on the Train page; elsewhere, show only "
        "the runs that are as you type",
        "Ctrl+F",
        "search",
        2,
    ),
    ActionSpec(
        "compare_runs",
        "Run",
        "Compare selected runs",
        "Give the curves of the selected runs, and what differs between them, most of the page; "
        "again for the table",
        "Ctrl+Shift+E",
        group=3,
    ),
    ActionSpec(
        "rename_run",
        "Run",
        "Rename run…",
        "Give the selected run a name of its own; F2 in the table",
        group=3,
    ),
    ActionSpec(
        "tag_runs",
        "Run",
        "Tags of selected runs…",
        "Write tags on the selected runs, to find them by; T in the table",
        icon="tag",
        group=3,
    ),
    ActionSpec(
        "note_runs",
        "Run",
        "Note on selected runs…",
        "Write a note on the selected runs; N in the table",
        icon="note",
        group=3,
    ),
    ActionSpec(
        "copy_run_ids",
        "Run",
        "Copy ids of selected runs",
        "Put the ids of the selected runs on the clipboard, as gpu-studio "
        "runs takes them; Ctrl+C in the table",
        icon="copy",
        group=3,
    ),
    ActionSpec(
        "report_runs",
        "Run",
        "Report on selected runs…",
        "Write the figures and curves of the selected runs into one file that any browser opens",
        "Ctrl+Shift+H",
        group=4,
    ),
    ActionSpec(
        "export_run_csv",
        "Run",
        "Export selected runs as CSV…",
        "Write the numbers of the selected runs into files for a spreadsheet: "
        "epochs, steps, memory or cards",
        group=4,
    ),
    ActionSpec(
        "export_run_curves",
        "Run",
        "Export curves of selected runs…",
        "Write the curves of the selected runs into a PNG or SVG, as they are on the screen",
        group=4,
    ),
)
