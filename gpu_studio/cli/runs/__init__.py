"""`runs …`: inspect and control runs."""

from __future__ import annotations

from gpu_studio.cli.command import Commands, add_group
from gpu_studio.cli.runs import checkpoint, compare, listing, live, show, stored

_EXAMPLES = """examples:
  gpu-studio runs list
  gpu-studio runs show latest
  gpu-studio runs stop latest --now"""


def register(commands: Commands) -> None:
    """Add the command and its actions, in the order of its help."""
    actions = add_group(commands, "runs", "list runs, and act on them", _EXAMPLES)
    listing.register(actions)
    compare.register(actions)
    listing.register_labels(actions)
    show.register(actions)
    live.register(actions)
    checkpoint.register(actions)
    show.register_placement(actions)
    stored.register(actions)
