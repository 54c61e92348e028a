"""What is written as YAML is read back by PyYAML, whatever it is."""

from __future__ import annotations

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_studio.export.jobs.yaml_text import yaml_text

WORDS = st.text(max_size=8) | st.sampled_from(["a", "on", "3", "- x", "x: y", "# z", "", "é\u2028"])
TEXTS = WORDS | st.lists(WORDS, min_size=2, max_size=4).map("\n".join)
LEAVES = st.none() | st.booleans() | st.integers() | TEXTS
FEW = st.dictionaries(WORDS, LEAVES, max_size=2)
LISTS = st.lists(LEAVES | FEW, max_size=3)
VALUES = LEAVES | LISTS | st.dictionaries(WORDS, LEAVES | LISTS | FEW, max_size=2)


@settings(max_examples=60)
@given(st.lists(st.dictionaries(WORDS, VALUES, min_size=1, max_size=3), min_size=1, max_size=2))
def test_that_what_is_written_is_read_back(documents):
    assert list(yaml.safe_load_all(yaml_text(documents))) == documents


def test_that_lines_stand_as_they_are_and_words_that_mean_something_else_are_quoted():
    text = yaml_text([{"kind": "Job", "code": "a = 1\n\nb = '#'\n", "on": ["yes", "3", "x: y"]}])
    assert text.splitlines() == [
        "kind: Job",
        "code: |",
        "  a = 1",
        "",
        "  b = '#'",
        '"on":',
        '  - "yes"',
        '  - "3"',
        '  - "x: y"',
    ]
