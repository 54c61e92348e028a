"""Failures explained.

What happened, where, why, what to do, and changes of the plan that may help.
"""

from gpu_studio.trainer.failures.explaining import explain
from gpu_studio.trainer.failures.failure_context import FailureContext

__all__ = ["FailureContext", "explain"]
