"""The colours and measures of the window, for dark and for light.

All painting uses them.
"""

from __future__ import annotations

from dataclasses import dataclass

GRID = 8
CARD_RADIUS = 12
HEADING_PX = 19
TEXT_PX = 13
CAPTION_PX = 11.5

# Dash patterns by device, in pen widths; an empty one is a solid line. With the colour they tell
# devices apart, so that colour is never the only sign.
HOST = 1000
"""The number of the host's CPU beside cards: it is grey, and comes after them."""

DASHES: tuple[tuple[int, ...], ...] = (
    (),
    (7, 4),
    (2, 3),
    (9, 3, 2, 3),
    (12, 4),
    (4, 2),
    (1, 2),
    (12, 3, 2, 3, 2, 3),
)
_SHIFT = 3


@dataclass(frozen=True, slots=True)
class Tokens:
    """One theme. Colours are `#rrggbb`."""

    name: str
    background: str
    surface: str
    raised: str
    line: str
    text: str
    muted: str
    accent: str
    on_accent: str
    good: str
    warning: str
    bad: str
    host: str
    devices: tuple[str, ...]

    def device_colour(self, index: int) -> str:
        """The colour of the device number `index` (its place among the logical devices), the same
        everywhere.
        """
        return self.host if index >= HOST else self.devices[index % len(self.devices)]

    @staticmethod
    def device_dash(index: int) -> tuple[int, ...]:
        """The dash of the device number `index`, in pen widths; empty is solid.

        Where the colours begin anew the dashes do not: no two of many devices look the same.
        """
        return (
            () if index >= HOST else DASHES[(index + _SHIFT * (index // len(DASHES))) % len(DASHES)]
        )


DARK = Tokens(
    name="dark",
    background="#15171b",
    surface="#1b1e24",
    raised="#23272f",
    line="#2e333d",
    text="#e7e9ee",
    muted="#98a1b0",
    accent="#5b9dff",
    on_accent="#0b1220",
    good="#3dbe8b",
    warning="#f0b03f",
    bad="#ff6b62",
    host="#8b94a3",
    devices=(
        "#4c9aff",
        "#f59e3c",
        "#3dbe8b",
        "#e06cb0",
        "#a98bff",
        "#3fc1d6",
        "#d6c14a",
        "#ff8a73",
    ),
)
LIGHT = Tokens(
    name="light",
    background="#f4f5f8",
    surface="#ffffff",
    raised="#f0f2f6",
    line="#dde1e8",
    text="#1b1f26",
    muted="#5a6372",
    accent="#1f6feb",
    on_accent="#ffffff",
    good="#138a5b",
    warning="#a86500",
    bad="#c62f27",
    host="#6b7482",
    devices=(
        "#1f6feb",
        "#c46a00",
        "#138a5b",
        "#b0387f",
        "#6b46d6",
        "#0e7f95",
        "#857300",
        "#c2452d",
    ),
)
