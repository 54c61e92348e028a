"""The energy that one card took, from what was sampled of it."""

from __future__ import annotations

from typing import Final, Literal

LONGEST_GAP: Final = 15.0
"""Seconds after which a reading says nothing of a moment any more: what lies between is not made up."""

Source = Literal["counter", "power", ""]


class EnergyMeter:
    """Joules of a card. Times are in seconds, in the order in which they were told.

    Between two readings of the driver's counter their difference counts, whatever was recorded in between. Before the
    first reading, after the last, and where the counter began anew because the driver was loaded again, the power is
    integrated by the trapezoidal rule over each two samples that are at most `LONGEST_GAP` apart.
    """

    def __init__(self) -> None:
        self._joules = 0.0
        self._seconds = 0.0
        self._counted = 0.0
        # What the power came to since the last reading of the counter: of use only if no other reading follows.
        self._pending_joules = 0.0
        self._pending_seconds = 0.0
        self._power: tuple[float, float] | None = None
        self._counter: tuple[float, float] | None = None

    @property
    def joules(self) -> float | None:
        """The energy of the seconds covered; None if there are none."""
        return self._joules + self._pending_joules if self.seconds > 0 else None

    @property
    def seconds(self) -> float:
        """The seconds that the energy covers."""
        return self._seconds + self._pending_seconds

    @property
    def source(self) -> Source:
        """What most of it was read from."""
        if not self.seconds:
            return ""
        return "counter" if self._counted >= self.seconds / 2 else "power"

    def power(self, time: float, watts: float) -> None:
        """The card draws so much at this moment."""
        self._integrate(time, watts)
        self._power = time, watts

    def counter(self, time: float, joules: float) -> None:
        """The driver's counter stands there at this moment."""
        self._cut(time)
        before, self._counter = self._counter, (time, joules)
        if before is not None and joules >= before[1]:
            passed = max(0.0, time - before[0])
            self._joules += joules - before[1]
            self._seconds += passed
            self._counted += passed
        else:
            self._joules += self._pending_joules
            self._seconds += self._pending_seconds
        self._pending_joules = self._pending_seconds = 0.0

    def _cut(self, time: float) -> None:
        """Integrate up to a reading of the counter, as if the power stood still since it was last told."""
        if self._power is not None and time > self._power[0]:
            watts = self._power[1]
            near = self._integrate(time, watts)
            self._power = (time, watts) if near else None

    def _integrate(self, time: float, watts: float) -> bool:
        """Add what passed since the power was last told; whether that was near enough."""
        if self._power is None or not 0 < time - self._power[0] <= LONGEST_GAP:
            return False
        passed = time - self._power[0]
        self._pending_joules += passed * (self._power[1] + watts) / 2
        self._pending_seconds += passed
        return True
