"""What a member tells the supervisor of itself: that it lives, how far it is, when it is ready."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from gpu_studio.contract import Memory, StateChanged, Steps, WorkerShare, WorkerStage
from gpu_studio.contract.events import Event
from gpu_studio.trainer.cluster.channel import Channel, Heartbeat, Ready, Shared
from gpu_studio.trainer.cluster.mail import Mail

BEAT_SECONDS, MAIL_SECONDS = 0.5, 1.0
_STAGES: dict[str, WorkerStage] = {
    "running": "training",
    "paused": "paused",
    "stopping": "stopping",
}


class Status:
    """The state of this process, reported every half second or so by a thread of its own.

    `limited` is set once its time is nearly over. `refusal` says why the disk takes no more of what
    this process writes; empty while it does.
    """

    def __init__(self, channel: Channel | Mail, begun: threading.Event) -> None:
        """`begun` is set once the supervisor has said that all are ready."""
        self._channel, self._begun = channel, begun
        self.limited = False
        self.refusal: Callable[[], str] = lambda: ""
        self._every = MAIL_SECONDS if isinstance(channel, Mail) else BEAT_SECONDS
        self._stage: WorkerStage = "waiting"
        self._step = 0
        self._memory: int | None = None
        self._steps, self._seconds, self._exchange = 0, 0.0, 0.0
        self._compute, self._wait = 0.0, 0.0
        self._over = threading.Event()
        self._changing = threading.Lock()
        self._thread = threading.Thread(target=self._beat, name="beats", daemon=True)

    def start(self) -> None:
        """Begin to tell."""
        self._thread.start()

    def close(self) -> None:
        """Tell no more."""
        self._over.set()
        self._thread.join()
        self._tell()

    def go(self) -> None:
        """All are there: TensorFlow begins."""
        self._stage = "starting"

    def hear(self, event: Event) -> None:
        """Take note of what an event says of this process."""
        match event:
            case StateChanged():
                self._stage = _STAGES.get(event.state, self._stage)
            case Steps():
                self._step = event.first_step + len(event.losses)
            case Memory():
                self._memory = _bytes_of(event)

    def serve(self) -> None:
        """This process does from now on what the chief says."""
        self._stage = "training"

    def shared(self, shares: Sequence[WorkerShare], held: Sequence[int]) -> None:
        """Tell what each worker has done, and what each server holds."""
        self._channel.say(Shared(list(shares), list(held)))

    def wait_for_all(self, digests: dict[str, str], step: int) -> None:
        """Tell that this process is ready, and return once all are."""
        self._step = step
        self._channel.say(Ready(step, digests))
        self._begun.wait()

    def worked(self, steps: int, seconds: float, exchange: float) -> None:
        """Take note of a call."""
        with self._changing:
            self._steps += steps
            self._seconds += seconds
            self._exchange += exchange

    def _beat(self) -> None:
        self._tell()
        while not self._over.wait(self._every):
            self._tell()

    def _tell(self) -> None:
        with self._changing:
            if self._steps:
                self._compute = max(0.0, self._seconds - self._exchange) / self._steps
                self._wait = self._exchange / self._steps
            self._steps, self._seconds, self._exchange = 0, 0.0, 0.0
        self._channel.say(
            Heartbeat(
                self._stage,
                self._step,
                self._compute,
                self._wait,
                self._memory,
                self.limited,
                self.refusal(),
            )
        )


def _bytes_of(event: Memory) -> int | None:
    """What the devices hold together: logical CPUs share one arena, which each of them tells."""
    arenas = [each.current for each in event.devices if each.source == "host"]
    others = [each.current for each in event.devices if each.source != "host"]
    return sum(others) + max(arenas, default=0) if event.devices else None


class Telling:
    """Takes the events of a member: notes what they say of it, and passes them on."""

    def __init__(self, status: Status, on: Callable[[Event], Event]) -> None:
        self._status, self._on = status, on

    def write(self, event: Event) -> Event:
        """Pass an event on, and return it as it was written."""
        self._status.hear(event)
        return self._on(event)
