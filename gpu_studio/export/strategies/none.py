"""None, in a script: nothing needs to be written."""

from __future__ import annotations

from gpu_studio.export.strategies.written import Written

WRITTEN = Written()
