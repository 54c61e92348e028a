"""Why a plan cannot be exported."""

from __future__ import annotations


class ExportError(Exception):
    """A plan that cannot be written as a script: why, and what to do, in words."""
