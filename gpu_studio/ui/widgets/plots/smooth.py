"""Smoothing of a noisy curve."""

from __future__ import annotations

import numpy as np

from gpu_studio.ui.widgets.plots.decimate import Array, Curve, column_starts


def column_means(x: Array, y: Array, edges: Array) -> Curve:
    """The means of the points (x, y) in each column; empty columns are left out.

    The columns begin and end at `edges`, shape (columns + 1,). `x` is sorted and as long as `y`. Points outside the
    view and values that are not finite do not count.
    """
    first, last = np.searchsorted(x, edges[0], side="left"), np.searchsorted(x, edges[-1], side="right")
    x, y = x[first:last], y[first:last]
    finite = np.isfinite(y)
    if not finite.all():
        x, y = x[finite], y[finite]
    if len(x) < len(edges):
        return x, y
    starts = column_starts(x, edges)
    counts = np.diff(np.append(starts, len(x)))
    return np.add.reduceat(x, starts) / counts, np.add.reduceat(y, starts) / counts


def smooth(y: Array, weight: float) -> Array:
    """The exponential moving average of `y`, without the bias towards its start (Kingma and Ba 2014, section 3).

    `weight` from 0 (nothing is smoothed) to below 1 is the share of the past in each value.
    """
    if weight <= 0:
        return y
    smoothed = np.empty_like(y)
    past, share = 0.0, 0.0
    for index, value in enumerate(y.tolist()):
        past = weight * past + (1 - weight) * value
        share = weight * share + (1 - weight)
        smoothed[index] = past / share
    return smoothed
