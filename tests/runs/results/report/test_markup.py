"""Everything that is not markup is escaped."""

from __future__ import annotations

import xml.etree.ElementTree as Tree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from read_page import Page

from gpu_studio.runs.results.report.chart import Markup, join, tag, text

anything = st.text(st.characters(exclude_categories=()), max_size=60)


@given(anything, anything)
def test_that_whatever_is_written_is_text_and_nothing_else(words, attribute):
    written = tag("div", tag("p", words), title=attribute)
    page = Page(f"{written}")
    assert [name for name, _ in page.elements] == ["div", "p"]
    assert page.problems == []
    written.encode("utf-8")
    [root] = [Tree.fromstring(written)]
    assert len(root) == 1


@pytest.mark.parametrize(
    "words",
    ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "&lt;b&gt;", "]]>", "'"],
)
def test_that_words_are_read_as_they_were_written(words):
    page = Page(tag("p", words, title=words))
    assert page.texts["p"] == [words]
    assert page.all("p")[0]["title"] == words


@pytest.mark.parametrize("bad", ["\x00", "\x1b[31m", "\ud800", "\uffff", "\x85"])
def test_that_characters_no_document_may_hold_are_replaced(bad):
    assert "\N{REPLACEMENT CHARACTER}" in text(f"a{bad}b")


def test_that_markup_is_not_escaped_twice():
    assert join(tag("b", "1 < 2"), Markup("&nbsp;"), None, "&") == "<b>1 &lt; 2</b>&nbsp;&amp;"


def test_that_attributes_are_named_as_html_and_svg_name_them():
    assert tag("line", class_="d0", stroke_width=1.5, viewBox="0 0 1 1", aria_label=None) == (
        '<line class="d0" stroke-width="1.5" viewBox="0 0 1 1"/>'
    )
    assert tag("meta", charset="utf-8") == '<meta charset="utf-8">'
