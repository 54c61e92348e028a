"""What processes exchange: the run directory, its events, samples, commands, locks and consents.

Every package may import this one; it imports only `common` and `plan`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpu_studio.common.late_names import late_names

if TYPE_CHECKING:
    from gpu_studio.contract.directory import (
        STATE_FILE,
        WEIGHTS_FILE,
        Action,
        CommandReader,
        Resume,
        RunDirectory,
        SavedCheckpoint,
        checkpoints,
        resumed_from,
        send,
        to_go_on_from,
    )
    from gpu_studio.contract.event_parts import (
        WorkerPlace,
        WorkerShare,
        WorkerStage,
        WorkerState,
        process_title,
    )
    from gpu_studio.contract.events import (
        ENDED,
        TERMINAL,
        AnyEvent,
        AskedPlace,
        Checkpoint,
        ClusterStarted,
        Code,
        Communication,
        Crossing,
        DeviceMemory,
        Devices,
        DeviceTimes,
        Epoch,
        Failed,
        Finished,
        LearningRate,
        Log,
        LogicalDevice,
        Memory,
        Model,
        PhaseBegan,
        Placement,
        StageSpan,
        Started,
        State,
        StateChanged,
        Steps,
        Timeline,
        Warned,
        Workers,
    )
    from gpu_studio.contract.files import (
        JSON_ERRORS,
        LineTail,
        Slices,
        Tail,
        append_line,
        json_line,
        last_lines,
        last_lines_if_any,
        lossy_line,
        make_own_directory,
        make_private_directory,
        read_json,
        refuse_link,
        write_private,
    )
    from gpu_studio.contract.lock import (
        Holder,
        LockHeldError,
        NoLocksError,
        holder,
    )
    from gpu_studio.contract.slugs import plain_slug, slug

__all__ = [
    "ENDED",
    "JSON_ERRORS",
    "STATE_FILE",
    "TERMINAL",
    "WEIGHTS_FILE",
    "Action",
    "AnyEvent",
    "AskedPlace",
    "Checkpoint",
    "ClusterStarted",
    "Code",
    "CommandReader",
    "Communication",
    "Crossing",
    "DeviceMemory",
    "DeviceTimes",
    "Devices",
    "Epoch",
    "Failed",
    "Finished",
    "Holder",
    "LearningRate",
    "LineTail",
    "LockHeldError",
    "Log",
    "LogicalDevice",
    "Memory",
    "Model",
    "NoLocksError",
    "PhaseBegan",
    "Placement",
    "Resume",
    "RunDirectory",
    "SavedCheckpoint",
    "Slices",
    "StageSpan",
    "Started",
    "State",
    "StateChanged",
    "Steps",
    "Tail",
    "Timeline",
    "Warned",
    "WorkerPlace",
    "WorkerShare",
    "WorkerStage",
    "WorkerState",
    "Workers",
    "append_line",
    "checkpoints",
    "holder",
    "json_line",
    "last_lines",
    "last_lines_if_any",
    "lossy_line",
    "make_own_directory",
    "make_private_directory",
    "plain_slug",
    "process_title",
    "read_json",
    "refuse_link",
    "resumed_from",
    "send",
    "slug",
    "to_go_on_from",
    "write_private",
]

if not TYPE_CHECKING:
    # The processes that watch the machine need samples alone, and are started beside each run.
    __getattr__ = late_names(
        __name__, ("files", "directory", "slugs", "lock", "event_parts", "events")
    )
