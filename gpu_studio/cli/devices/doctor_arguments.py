"""What is said of `doctor`."""

from __future__ import annotations

from typing import Final

SUMMARY: Final = "say whether TensorFlow can use each card, and what to type if not"
EXAMPLES: Final = """examples:
  gpu-studio doctor
  gpu-studio doctor --json
  gpu-studio doctor --fresh

exit codes:
  0    nothing must be mended
  1    something must be mended
  2    refused, with nothing done"""
