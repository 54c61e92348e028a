"""The queue: plans that wait for their devices."""

from __future__ import annotations

from gpu_studio.ui.action_spec import ActionSpec

ADD: tuple[ActionSpec, ...] = (
    ActionSpec(
        "queue_plan",
        "Run",
        "Add to queue",
        "Have the open plan trained when its devices have the memory it needs",
        lambda window: window.queue.add_plan(),
        "Ctrl+Shift+Return",
        "hourglass",
    ),
)

HABITS: tuple[ActionSpec, ...] = (
    ActionSpec(
        "ask_quit",
        "Run",
        "Ask before leaving runs",
        "Ask whether to stop the runs that are alive when the window is closed; otherwise they go on",
        lambda window: window.quitting.set_asks(not window.quitting.asks),
        group=4,
        checkable=True,
    ),
    ActionSpec(
        "notify",
        "Run",
        "Notify when a run ends",
        "Have the desktop say when a run has finished, failed or was lost, unless this window shows it",
        lambda window: window.run_ends.set_notifies(not window.run_ends.notifies),
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
        lambda window: window.queue.shift(-1),
        "Alt+Up",
        group=3,
        submenu="Queue",
    ),
    ActionSpec(
        "queue_down",
        "Run",
        "Move queued plan down",
        "Have the selected plan of the queue come one place later",
        lambda window: window.queue.shift(1),
        "Alt+Down",
        group=3,
        submenu="Queue",
    ),
    ActionSpec(
        "queue_hold",
        "Run",
        "Hold queued plan",
        "Have the selected plan of the queue stay until it is released, or release it",
        lambda window: window.queue.toggle_hold(),
        icon="pause",
        group=3,
        submenu="Queue",
    ),
    ActionSpec(
        "queue_pass",
        "Run",
        "Let others pass queued plan",
        "Let those behind the selected plan start on the devices that it waits for, or have them kept for it again",
        lambda window: window.queue.toggle_pass(),
        group=3,
        submenu="Queue",
    ),
    ActionSpec(
        "queue_start",
        "Run",
        "Start queued plan now",
        "Start the selected plan of the queue, whatever is free",
        lambda window: window.queue.start_now(),
        icon="play",
        group=3,
        submenu="Queue",
    ),
    ActionSpec(
        "queue_go_on",
        "Run",
        "Go on with queue",
        "Have a process in the background start the plans that wait, where none is alive to do so",
        lambda window: window.queue.go_on(),
        group=3,
        submenu="Queue",
    ),
    ActionSpec(
        "queue_remove",
        "Run",
        "Remove queued plan",
        "Take the selected plan out of the queue; this can be undone",
        lambda window: window.queue.remove(),
        icon="trash",
        group=3,
        submenu="Queue",
    ),
)
