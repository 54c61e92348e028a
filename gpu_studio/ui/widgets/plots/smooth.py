"""Smoothing of a noisy curve."""

from __future__ import annotations

import numpy as np

from gpu_studio.runs.reading.pyramid import Sums
from gpu_studio.ui.widgets.plots.decimate import Array, Curve, column_starts


def column_means(pieces: Sums, edges: Array) -> Curve:
    """The means of what is in each column; empty columns are left out.

    The columns begin and end at `edges`, shape (columns + 1,). No piece reaches over an edge.
    """
    if len(pieces.x) < len(edges):
        return pieces.x / pieces.points, pieces.y / pieces.points
    return means_between(pieces, edges)


def means_between(pieces: Sums, edges: Array) -> Curve:
    """The same however few pieces there are."""
    x = pieces.x / pieces.points
    if not len(x):
        return x, pieces.y
    starts = column_starts(x, edges)
    summed_x, summed_y, points = (np.add.reduceat(each, starts) for each in pieces)
    return summed_x / points, summed_y / points


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
