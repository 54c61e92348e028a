"""`runs …`: inspect and control runs."""

from __future__ import annotations

from gpu_studio.cli.arguments import Commands, add_group
from gpu_studio.cli.runs import checkpoint, compare, labels, listing, live, placement, show, stored

_EXAMPLES = """examples:
  gpu-studio runs list
  gpu-studio runs show latest
  gpu-studio runs stop latest --now"""


def register(commands: Commands) -> None:
    """Add the command and its actions, in the order of its help."""
    actions = add_group(commands, "runs", "list runs, and act on them", _EXAMPLES)
    for each in (listing, compare, labels, show, live, checkpoint, placement, stored):
        each.register(actions)
