"""The differences of two plans as rows of a table."""

from __future__ import annotations

from gpu_studio.plan.difference import Difference
from gpu_studio.ui.models.plain_table import PlainTable

LEFT_OUT = "left out"


class DifferencesModel(PlainTable[Difference]):
    """A row for each field that differs: what the other plan says, and what the open one says."""

    headers = ("Field", "There", "Here")

    def key(self, row: Difference) -> str:
        """The field."""
        return row.field

    def text(self, row: Difference, column: int) -> str:
        """The field, or what a plan says of it."""
        return (row.field, row.before or LEFT_OUT, row.after or LEFT_OUT)[column]
