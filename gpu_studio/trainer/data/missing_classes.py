"""Classes that a split has no samples of: nothing is learnt of them, or nobody learns how well."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from gpu_studio.plan.problems import listed, printable
from gpu_studio.plan.splitting import STRATIFY
from gpu_studio.plan.values import DataSplit
from gpu_studio.trainer.data.values import Array

_NAMED = 5
_MEANS = {
    "training": "Nothing is learnt of {them}.",
    "validation": "Its figures say nothing of {them}.",
    "test": "Its figures say nothing of {them}.",
}


def missing_classes(
    targets: Sequence[Array | None], split: DataSplit, names: Sequence[str] = (), own: Sequence[bool] = (False,) * 3
) -> Iterator[str]:
    """A sentence for each split that lacks classes which others have.

    `targets` are the class ids of the splits for training, validation and testing; None where there is no such split.
    `own` says which of them the data brought themselves: no way of splitting changes those, or takes samples of them.
    """
    found = [None if each is None else np.unique(each) for each in targets]
    there = np.unique(np.concatenate([classes for classes in found if classes is not None]))
    shared = np.unique(
        np.concatenate([ids for ids, mine in zip(found, own, strict=True) if ids is not None and not mine])
    )
    for (kind, means), classes, mine in zip(_MEANS.items(), found, own, strict=True):
        lacking = [] if classes is None else np.setdiff1d(there, classes).tolist()
        if lacking:
            helps = split == "random" and not mine and bool(np.isin(lacking, shared).any())
            them = "it" if len(lacking) == 1 else "them"
            said = f"The {kind} split has no samples of {_classes(lacking, names)}. {means.format(them=them)}"
            yield f"{said} {STRATIFY}" if helps else said


def _classes(ids: Sequence[int], names: Sequence[str]) -> str:
    called = [printable(names[each]) if names else str(each) for each in ids[:_NAMED]]
    more = len(ids) - len(called)
    return f"{'class' if len(ids) == 1 else 'classes'} {listed([*called, f'{more:,} more'] if more else called)}"
