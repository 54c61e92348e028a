"""Functions in Python files, as a plan names them."""

from __future__ import annotations

from keyword import iskeyword

from hypothesis import given
from hypothesis import strategies as st

from gpu_studio.plan.references import Reference, reference

NAMES = st.from_regex(r"[a-zA-Zäöü_][a-zA-Z0-9_äöü]*", fullmatch=True).filter(
    lambda name: not iskeyword(name)
)
FILES = st.text(st.characters(categories=("L", "N", "P", "S", "Zs")), min_size=1).filter(
    lambda text: text.isprintable() and text[-1] not in "/."
)


@given(FILES, NAMES)
def test_that_whatever_a_file_and_its_function_are_called_both_are_found(file, function):
    assert reference(f"{file}.py:{function}") == Reference(f"{file}.py", function)
    assert str(reference(f"{file}.py:{function}")) == f"{file}.py:{function}"


@given(st.text())
def test_that_any_text_is_a_reference_that_says_the_same_or_none(text):
    found = reference(text)
    assert found is None or str(found) == text


def test_that_a_file_is_shown_without_its_folders():
    named = reference("~/nets/models.py:build")
    assert named is not None
    assert named.file_name == "models.py"
