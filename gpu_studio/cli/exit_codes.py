"""The exit codes of commands."""

from __future__ import annotations

from typing import Final

OK: Final = 0
FAILED: Final = 1
REFUSED: Final = 2
STOPPED: Final = 3
LOST: Final = 4
ELSEWHERE: Final = 5
"""Something of a run was not executed on the device that was asked for: `runs placement`."""
INTERRUPTED: Final = 130

EXPLAINED: Final = """exit codes:
  0    done
  1    the run failed
  2    refused, with nothing done
  3    the run was stopped before its end
  4    the run was lost
  130  interrupted"""
