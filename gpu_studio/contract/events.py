"""The events of a training run: one JSON object per line of `events.jsonl`.

A tagged union: the key `event` names the kind. `seq` counts from 0 without gaps; `time` is seconds
since the epoch (UTC). A reader skips kinds that it does not know (`decode` returns None) and
ignores fields that it does not know, so that an older window can watch a newer trainer.
"""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

from gpu_studio.common.figures import grouped, learning_rate
from gpu_studio.common.practice import in_words
from gpu_studio.contract.event_parts import AskedPlace as AskedPlace
from gpu_studio.contract.event_parts import Crossing as Crossing
from gpu_studio.contract.event_parts import DeviceMemory as DeviceMemory
from gpu_studio.contract.event_parts import DeviceTimes as DeviceTimes
from gpu_studio.contract.event_parts import Layer as Layer
from gpu_studio.contract.event_parts import LogicalDevice as LogicalDevice
from gpu_studio.contract.event_parts import PartRow as PartRow
from gpu_studio.contract.event_parts import Stage as Stage
from gpu_studio.contract.event_parts import StageSpan as StageSpan
from gpu_studio.contract.event_parts import SuggestedChange as SuggestedChange
from gpu_studio.contract.event_parts import WorkerPlace as WorkerPlace
from gpu_studio.contract.event_parts import WorkerState as WorkerState
from gpu_studio.contract.files import JSON_ERRORS, lossy_line
from gpu_studio.contract.numbers import Moment, Seconds, Whole

State = Literal[
    "starting", "running", "paused", "stopping", "finished", "stopped", "failed", "lost"
]
ENDED: Final[tuple[State, ...]] = ("finished", "stopped", "failed", "lost")
"""The states after which nothing more comes.

`lost` is what a reader concludes; no trainer tells it.
"""


class Event(msgspec.Struct, kw_only=True, tag_field="event", frozen=True):
    """The fields of every event. The writer sets all of them.

    `elapsed` is how long the run has lasted, in seconds, by a monotonic clock, whereas the clock
    behind `time` may be set; 0 if it is not known, as in runs of an older GPU Studio.
    """

    seq: Whole = -1
    time: Moment = 0.0
    elapsed: Seconds = 0.0


class Started(Event, tag="started", frozen=True):
    """The trainer process is running. The first event of every run.

    `practice` is the practice cards that it saw, `4x2GiB`; empty for this machine's own.
    """

    run: str
    plan: str
    pid: Whole
    host: str
    gpu_studio: str
    python: str
    resumed_from: str | None = None
    from_epoch: Whole = 0
    from_step: Whole = 0
    practice: str = ""

    @property
    def on_practice(self) -> str:
        """The end of a sentence that says so: `, on practice cards (4 × 2 GiB)`; else empty."""
        return f", on practice cards ({in_words(self.practice)})" if self.practice else ""


class Devices(Event, tag="devices", frozen=True):
    """TensorFlow's logical devices, and which of them hold replicas."""

    logical: list[LogicalDevice]
    replicas: list[str]
    strategy: str
    all_reduce: str | None = None
    parameter_device: str | None = None
    tensorflow: str = ""
    keras: str = ""
    cuda: str | None = None

    @property
    def at_work(self) -> frozenset[str]:
        """The names of the devices that the run trains on; TensorFlow may see more."""
        return frozenset(self.replicas) | frozenset(filter(None, [self.parameter_device]))


class Model(Event, tag="model", frozen=True):
    """The built model and the data it meets.

    Counts are of samples; `steps_per_epoch` of global batches. They are None where only reading
    the data to their end can tell. Where the data come in batches, `global_batch` is the first.
    """

    name: str
    parameters: Whole
    trainable: Whole
    layers: list[Layer]
    data: str
    train_samples: Whole | None
    validation_samples: Whole | None
    test_samples: Whole | None
    epochs: Whole
    steps_per_epoch: Whole | None
    global_batch: Whole
    replica_batches: list[Whole]
    optimizer: str
    loss: str
    precision: str


class Xla(Event, tag="xla", frozen=True):
    """Whether XLA compiles the steps of training from here on; `words` where that is worth a word.

    Runs of before there was this event tell nothing of it.
    """

    compiles: bool
    words: str = ""


class Code(Event, tag="code", frozen=True):
    """Python code of the user's own that this run uses, reported before any of it runs.

    Code that cannot be found by reading is reported later. `part` is the plan's part that names it:
    `model`, `data`, or `training` with its callbacks and the like; `sha256` is that of the file's
    content, in hex. `function` is empty for a module that is imported from the folder of the file
    that the plan names.
    """

    part: Literal["model", "data", "training"]
    file: str
    function: str
    sha256: str


class Placement(Event, tag="placement", frozen=True):
    """Where operations really ran: rows of layer, pass (forward, backward, update), device, count.

    Read from the graphs that TensorFlow executed in the first step; `asked` is what the plan
    requested. `parts` are the same rows for each part of a layer, so that a part that ran in
    another's place is noticed.
    """

    rows: list[tuple[str, str, str, Whole]]
    asked: list[AskedPlace] = []
    crossings: list[Crossing] = []
    parts: list[PartRow] = []


class Timeline(Event, tag="timeline", frozen=True):
    """When each stage of a placed model worked in one real step, by TensorFlow's profiler.

    Times are in seconds from the step's first operation. `busy` is the time in which each device
    did anything.
    """

    step: Whole
    seconds: float
    micro_batches: Whole
    stages: list[Stage]
    tasks: list[StageSpan]
    busy: dict[str, float]


class Communication(Event, tag="communication", frozen=True):
    """How a step's time is spent on several devices, profiled over `steps` steps from `step` on.

    All values are seconds per step, by TensorFlow's profiler; `input_seconds` is the wait for data.
    `compute`: any device computes; `exposed`: none computes and any communicates. `version` is that
    of the rules by which the two are distinguished.
    """

    step: Whole
    steps: Whole
    replicas: Whole
    seconds: float
    input_seconds: float
    compute: float
    exposed: float
    devices: list[DeviceTimes]
    version: Whole = 1


class StateChanged(Event, tag="state", frozen=True):
    """The run has entered this state, and why."""

    state: State
    reason: str = ""


class Steps(Event, tag="steps", frozen=True, gc=False):
    """A batch of training steps: one call of the compiled function.

    `first_step` counts global batches over the whole run from 0; `losses` has one number per step
    (None: not a number). `seconds` is the wall time of the call with its input, `input_seconds` the
    part spent waiting for data: for samples that were not ready in memory yet, while the card had
    nothing else to compute. Older versions counted the way from there to the devices as well.
    """

    epoch: Whole
    first_step: Whole
    losses: list[float | None]
    samples: Whole
    seconds: float
    input_seconds: float = 0.0


class Epoch(Event, tag="epoch", frozen=True):
    """An epoch has ended.

    `metrics` holds `loss`, the metrics, and the same of the validation split as `val_…`.

    `epoch` counts from 1; `step` is the number of global batches trained so far.
    """

    epoch: Whole
    step: Whole
    metrics: dict[str, float | None]
    seconds: float
    samples_per_second: float


class Memory(Event, tag="memory", frozen=True, gc=False):
    """The memory of each logical device, every half second."""

    devices: list[DeviceMemory]


class LearningRate(Event, tag="learning_rate", frozen=True, gc=False):
    """The learning rate of step number `step`."""

    step: Whole
    value: float


class Checkpoint(Event, tag="checkpoint", frozen=True):
    """A checkpoint is complete at `checkpoints/<name>`.

    `removed` names those deleted to free space for it.
    """

    name: str
    epoch: Whole
    step: Whole
    bytes: Whole
    seconds: float
    best: bool = False
    value: float | None = None
    removed: list[str] = []


class Log(Event, tag="log", frozen=True):
    """A line of the log."""

    message: str


class PhaseBegan(Event, tag="phase", frozen=True):
    """A phase of the training began: the `number`th, the first being 1, after so many epochs.

    From then on a new `optimizer` with this `learning_rate` trains so many `parameters`.
    """

    number: Whole
    after: Whole
    optimizer: str
    learning_rate: float
    parameters: Whole

    @property
    def words(self) -> str:
        """What began, in a sentence."""
        return (
            f"Phase {self.number} begins after epoch {grouped(self.after)}: a new "
            f"{self.optimizer} with a learning rate of {learning_rate(self.learning_rate)} trains "
            f"{grouped(self.parameters)} parameters."
        )


class Warned(Event, tag="warning", frozen=True):
    """Something is wrong, and what to do about it; the run continues."""

    message: str
    suggestion: str = ""


class ClusterStarted(Event, tag="cluster", frozen=True):
    """Who takes part from now on, in the `attempt`th start of the run's processes (from 0).

    `start` is what started them, `job` its number of them, such as Slurm's. `from_step` is the step
    of the checkpoint that they go on from.
    """

    attempt: Whole
    start: str
    workers: list[WorkerPlace]
    from_step: Whole = 0
    job: str = ""


class Workers(Event, tag="workers", frozen=True):
    """What each worker does, about every second and at each change."""

    workers: list[WorkerState]


class Finished(Event, tag="finished", frozen=True):
    """The end of a run that did not fail.

    `reason` is `completed`, `early_stopping`, `stopped` (checkpoint saved) or `stopped_now` (not).
    `by` is the callback that stopped it early; empty where the plan's own early stopping did.
    `because` says in a sentence what stopped it, if that was no person here.
    """

    reason: Literal["completed", "early_stopping", "stopped", "stopped_now"]
    seconds: float
    epoch: Whole
    step: Whole
    metrics: dict[str, float | None] = {}
    by: str = ""
    because: str = ""

    @property
    def state(self) -> State:
        """`stopped` if a person ended the run before its plan was done, else `finished`."""
        return "stopped" if self.reason in ("stopped", "stopped_now") else "finished"


class Failed(Event, tag="failed", frozen=True):
    """The end: what went wrong in a plain sentence, what to try, and the traceback.

    `kind` is the kind of failure (`out_of_memory`, `not_finite`, `device_lost`, …; empty: none of
    these). `device` and `layer` say where it happened, if known, and `mends` are changes of the
    plan that may help.
    """

    message: str
    suggestions: list[str]
    traceback: str = ""
    device: str | None = None
    kind: str = ""
    layer: str | None = None
    mends: list[SuggestedChange] = []

    @property
    def state(self) -> State:
        """Always `failed`."""
        return "failed"


AnyEvent = (
    Started
    | Devices
    | Model
    | Xla
    | Code
    | Placement
    | Timeline
    | Communication
    | StateChanged
    | Steps
    | Epoch
    | Memory
    | LearningRate
    | Checkpoint
    | Log
    | PhaseBegan
    | Warned
    | ClusterStarted
    | Workers
    | Finished
    | Failed
)
TERMINAL = (Finished, Failed)


def plain_number(value: Any) -> Any:
    """Convert a NumPy or TensorFlow scalar, should a trainer pass one, to a Python number."""
    item = getattr(value, "item", None)
    if item is None:
        raise TypeError(f"an event cannot hold a {type(value).__name__}")
    return item()


_decoder = msgspec.json.Decoder(AnyEvent)
_encoder = msgspec.json.Encoder(enc_hook=plain_number)


def encode(event: Event) -> bytes:
    """Return the event as one line of JSON, with its newline. Non-finite numbers become null.

    Raises TypeError for a value that JSON cannot express.
    """
    return lossy_line(_encoder, event)


def decode(line: bytes) -> AnyEvent | None:
    """Return the event in a line of `events.jsonl`.

    None if the line holds none or an unknown kind.
    """
    try:
        event: AnyEvent = _decoder.decode(line)
    except JSON_ERRORS:
        return None
    return event


def as_dict(event: Event) -> dict[str, Any]:
    """Return the event as plain JSON values, for `--json`."""
    plain: dict[str, Any] = msgspec.to_builtins(event, enc_hook=plain_number)
    return plain
