"""Which actions on the selected runs are possible, and why others are not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

# The window's start needs this module, but not the modules that make a row.
if TYPE_CHECKING:
    from gpu_studio.ui.runs.run_rows import RunRow

NONE_SELECTED = "Select a run on the Runs page"
MOST_COMPARED = 8
OF_ONE = ("open_run", "open_run_plan", "resume_run", "rename_run", "reveal_run")
OF_SEVERAL = ("delete_run", "tag_runs", "note_runs", "copy_run_ids")
OF_FEW = ("report_runs", "export_run_csv", "export_run_curves")
COMPARE = "compare_runs"
OF_RUNS = (*OF_ONE, *OF_SEVERAL, *OF_FEW, COMPARE)
_NOT_LIVE = {"resume_run": "resume", "delete_run": "delete"}


def why_not(action: str, chosen: Sequence[RunRow]) -> str:
    """Return why this action on these runs is impossible; empty if it is possible."""
    if not chosen:
        return NONE_SELECTED
    if action in OF_ONE and len(chosen) > 1:
        return "Select one run only: this is done to one at a time"
    if action == COMPARE and len(chosen) == 1:
        return "Select two or more runs, with Ctrl or Shift"
    if action in (*OF_FEW, COMPARE) and len(chosen) > MOST_COMPARED:
        return f"Select at most {MOST_COMPARED} runs: more cannot be distinguished"
    live = [row for row in chosen if row.live]
    if action in _NOT_LIVE and live:
        which = "This run is" if len(chosen) == 1 else f"{live[0].title} is"
        return f"{which} still training: stop it before you {_NOT_LIVE[action]} it"
    return ""
