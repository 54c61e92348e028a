"""Data that come in batches of their own, whatever `training.batch_size` of the plan is.

What is known of them are words, `9 batches of 16`, as `DataFacts.streamed` has them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

from gpu_studio.plan import Plan

AnyPlan = TypeVar("AnyPlan", bound=Plan)
_GIVEN = re.compile(r"(?:([\d,]+) )?batch(?:es)? of (\d+)")


def given_batch(streamed: str) -> int:
    """The samples of a batch that the data come in; 0 where the plan cuts them."""
    found = _GIVEN.match(streamed)
    return int(found[2]) if found else 0


def given_steps(streamed: str) -> int:
    """The batches of an epoch that the data come in; 0 where there are none, or nobody knows."""
    found = _GIVEN.match(streamed)
    return int("".join(filter(str.isdecimal, found[1] or "0"))) if found else 0


def completed_by(plan: AnyPlan, fit: Mapping[str, Any], streamed: str) -> AnyPlan:
    """The plan with what its script gives `fit`, and the batch of such data as its global batch."""
    made, batch = plan.completed(fit), given_batch(streamed)
    training = made.training
    if not batch or (training.batch_size, training.batch_scope) == (batch, "global"):
        return made
    return replace(made, training=replace(training, batch_size=batch, batch_scope="global"))
