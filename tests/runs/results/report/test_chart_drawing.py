"""A chart as SVG: what is drawn where, and that it can be read without being seen."""

from __future__ import annotations

import itertools
import re
import xml.etree.ElementTree as Tree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_studio.runs.results.report.chart import (
    COLOURS,
    DASHES,
    Chart,
    ChartLine,
    Level,
    draw,
    log_axis,
    number_axis,
    steps_axis,
)
from gpu_studio.runs.results.report.writing import stacked
from gpu_studio.ui.kit.theme import DASHES as WINDOW_DASHES
from gpu_studio.ui.kit.theme import LIGHT

SVG = "{http://www.w3.org/2000/svg}"


def line(y, name="training", place=0):
    values = np.array(y, dtype=np.float64)
    return ChartLine(name, np.arange(len(values), dtype=np.float64), values, place)


def chart(*lines, y=None, **more):
    axis = y or number_axis(0.0, 10.0)
    return Chart("Loss", lines, steps_axis(0.0, 10.0), axis, "training: from 9 to 1.", **more)


def points(path):
    return [
        tuple(map(float, pair.split()))
        for pair in re.findall(r"[ML]([\d.]+ [\d.]+)", path.get("d"))
    ]


def drawn(what):
    return Tree.fromstring(draw(what))


def test_that_a_line_goes_where_its_values_are():
    [path] = drawn(chart(line([0.0, 5.0, 10.0]))).iter("path")
    (x0, y0), (x1, y1), (x2, y2) = points(path)
    assert x0 < x1 < x2
    assert y1 == pytest.approx((y0 + y2) / 2, abs=0.1)
    assert y0 > y2  # what is more lies higher


def test_that_a_line_is_broken_where_nothing_is_known():
    [path] = drawn(chart(line([1.0, 2.0, np.nan, 3.0, 4.0]))).iter("path")
    assert path.get("d").count("M") == 2
    assert path.get("d").count("L") == 2


def test_that_what_has_no_logarithm_is_left_out():
    [path] = drawn(chart(line([1.0, 0.0, 10.0, -3.0]), y=log_axis(1.0, 10.0))).iter("path")
    assert len(points(path)) == 2


def test_that_lines_are_told_apart_by_colour_and_dash_as_in_the_window():
    assert LIGHT.devices == COLOURS
    assert [tuple(map(int, dash.split())) for dash in DASHES] == list(WINDOW_DASHES)
    paths = list(drawn(chart(line([1.0]), line([2.0], "validation", 1))).iter("path"))
    drawn_as = [tuple(map(path.get, ("stroke", "stroke-dasharray", "class"))) for path in paths]
    assert drawn_as == [(COLOURS[0], None, "d0"), (COLOURS[1], "7 4", "d1")]


def test_that_a_limit_is_drawn_with_its_name_and_a_pause_shaded():
    root = drawn(chart(line([1.0]), levels=[Level("limit 8", 8.0)], bands=[(2.0, 4.0)]))
    assert "limit 8" in [words.text for words in root.iter("text")]
    assert len([each for each in root.iter("line") if each.get("class") == "level"]) == 1
    [band] = root.iter("rect")
    assert float(band.get("width")) > 0


def test_that_a_chart_can_be_read_without_being_seen():
    root = drawn(chart(line([9.0, 1.0])))
    assert root.get("role") == "img"
    assert root.get("aria-label") == "Loss. training: from 9 to 1."
    assert root.find("g/title").text == "Loss"
    assert root.find("g/desc").text == "training: from 9 to 1."


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=50))
def test_that_no_value_breaks_a_chart_or_leaves_it(values):
    for path in drawn(chart(line(np.clip(values, -10, 20) if values else []))).iter("path"):
        assert not re.search("nan|inf", path.get("d"))


def test_that_labels_do_not_run_into_each_other():
    axis = steps_axis(0.0, 123_456_789.0)
    root = drawn(Chart("Loss", [line([1.0])], axis, number_axis(0.0, 1.0), width=300))
    along = [
        (float(each.get("x")), len(each.text))
        for each in root.iter("text")
        if each.get("text-anchor") == "middle"
    ]
    assert 2 <= len(along) < len(axis.ticks)
    for (left, before), (right, after) in itertools.pairwise(along):
        assert right - left > 6 * (before + after) / 2


def test_that_charts_below_each_other_stand_alone():
    devices = [line([1.0, 2.0], f"GPU:{place}", place) for place in range(16)]
    root = Tree.fromstring(
        stacked([chart(line([9.0, 1.0])), Chart("M", devices, *(number_axis(0.0, 9.0),) * 2)])
    )
    assert root.tag == f"{SVG}svg"
    assert len(list(root.iter(f"{SVG}path"))) == 17
    names = [each.text for each in root.iter(f"{SVG}text")]
    assert {"Loss", "training", "GPU:15"} <= set(names)
    assert not list(root.iter(f"{SVG}svg"))[1:]  # which some programs pass over
    width = float(root.get("width"))
    assert all(float(each.get("x")) < width for each in root.iter(f"{SVG}text"))
