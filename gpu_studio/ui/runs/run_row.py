"""A run as a row of the Runs page: its events, the user's labels, and its energy."""

from __future__ import annotations

from dataclasses import dataclass

from gpu_studio.contract.events import State
from gpu_studio.runs.labels import NOTHING, Labels
from gpu_studio.runs.naming import title
from gpu_studio.runs.reading.summary import Summary

_ENDINGS = {"early_stopping": "early stopping", "stopped_now": "without a checkpoint"}


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run.

    `joules` is what its cards used while it ran; None if no card reported it, or if it is unread
    yet.
    """

    summary: Summary
    labels: Labels = NOTHING
    joules: float | None = None

    @property
    def id(self) -> str:
        """The run's id."""
        return self.summary.id

    @property
    def name(self) -> str:
        """The run's name: the user's, else its plan's."""
        return self.labels.name or self.summary.plan or self.id

    @property
    def title(self) -> str:
        """Its number and its name."""
        return title(self.summary.number, self.name)

    @property
    def state(self) -> State:
        """How the run is."""
        return self.summary.state

    @property
    def live(self) -> bool:
        """Whether the trainer is at work."""
        return self.summary.live

    @property
    def peak(self) -> int | None:
        """The most bytes that any device held."""
        return max(self.summary.peaks.values(), default=None)

    @property
    def state_words(self) -> str:
        """The state and its reason.

        `failed · out of memory on GPU:1`, `finished · early stopping`.
        """
        summary = self.summary
        if summary.state in ("failed", "lost"):
            ending = summary.reason
        else:
            ending = "" if summary.live else _ENDINGS.get(summary.reason, "")
        return f"{summary.standing} · {ending}" if ending else summary.standing
