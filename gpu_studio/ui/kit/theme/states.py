"""The look of a run's state: one colour and one icon each.

They are the same in badge, table and status bar.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpu_studio.ui.kit.theme.tokens import Tokens

if TYPE_CHECKING:
    from gpu_studio.contract.events import State

ICONS: dict[State, str] = {
    "starting": "hourglass",
    "running": "dot",
    "paused": "pause",
    "stopping": "hourglass",
    "finished": "check",
    "stopped": "stop",
    "failed": "cross",
    "lost": "question",
}
LIVE: frozenset[State] = frozenset({"starting", "running", "paused", "stopping"})


def state_token(state: State) -> str:
    """The name of the token that colours a state. The word or the icon always stands beside it."""
    if state in ("running", "finished"):
        return "good"
    if state in ("failed", "lost"):
        return "bad"
    return "warning" if state in ("paused", "stopping", "stopped") else "accent"


def state_colour(state: State, tokens: Tokens) -> str:
    """The colour of a state in this theme, `#rrggbb`."""
    colour: str = getattr(tokens, state_token(state))
    return colour
