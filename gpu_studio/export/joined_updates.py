"""The part of a script that does for all replicas at once what Keras does on a single one only.

It is the trainer's own.
"""

from __future__ import annotations

from gpu_studio.export.facts import ScriptFacts
from gpu_studio.export.script_text import functions_of

_NAMES = (
    "in_one_place",
    "for_all",
    "at_each",
    "update_weights",
    "accumulate",
    "overwrite_by_averages",
    "update_for_all",
)
UPDATE_FOR_ALL = functions_of("replica_updates.py", *_NAMES).rstrip("\n") + "\n"
"""The function `update_for_all` and those that it calls, as the text of a script."""
UPDATE_BY_SUMS = functions_of(
    "replica_updates.py", "joined_step", "joined_once", "is_conditional", "update_by_sums"
)
"""The function `update_by_sums` and what it calls besides those of `UPDATE_FOR_ALL`."""
IN_ONE_PLACE = functions_of("replica_updates.py", "in_one_place")
"""The function that lets an optimizer update where no replica runs."""
APPLYING = functions_of("replica_updates.py", "applying")
"""The function that updates weights there, also of an optimizer that scales losses."""
LET_UPDATE_FOR_ALL = 'update_for_all(getattr(optimizer, "inner_optimizer", optimizer))'


def joined_updates(facts: ScriptFacts) -> str:
    """Return the function `update_for_all`; empty where each replica may do all by itself."""
    return UPDATE_FOR_ALL if facts.joins else ""
