"""What guide and lessons name in italics as a thing of the window is called so in the program."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import import_rules
import pytest

import gpu_studio
from gpu_studio.common.guide import guide
from gpu_studio.runs.lessons import lessons

NAMED = re.compile(r"(?<![*\w])\*([^*]+)\*(?!\*)")
CODE = re.compile(r"```.*?```|`[^`]*`", re.DOTALL)
EMPHASISED = {"built", "called", "slower", "lost", "unreadable"}
NUMBERED = {
    "4 slices": "slice",
    "batch 32": "batch {}",
    "watched since 14:03": "watched since {}",
}
ROOMS = ("ui", "plan", "placement", "runs", "contract", "hardware", "lab")
PAGES = ("index", "devices", "plan", "train", "runs", "lab", "placement", "own-code", "failures")


@cache
def texts() -> frozenset[str]:
    """Every text in the source of the window and of what words things for it, in small letters.

    What is put in when the program runs is `{}`.
    """
    package = Path(gpu_studio.__file__).parent
    files = (path for room in ROOMS for path in (package / room).rglob("*.py"))
    nodes = (node for path in files for node in ast.walk(import_rules.parsed(path)))
    return frozenset(filter(None, map(as_shown, nodes)))


def as_shown(node: ast.AST) -> str:
    if isinstance(node, ast.JoinedStr):
        parts = (part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
        return bare("".join(map(str, parts)))
    return (
        bare(node.value) if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
    )


def bare(text: str) -> str:
    return text.replace("&", "").strip(" …").lower()


def named(text: str) -> set[str]:
    """What a text names: each part of a way through menus; a question is that of a page."""
    italics = (" ".join(found.split()) for found in NAMED.findall(CODE.sub("", text)))
    return {
        bare(part.rstrip(".,:"))
        for each in italics
        if not each.endswith("?")
        for part in each.split("▸")
    } - EMPHASISED


@pytest.mark.parametrize("number", lessons())
def test_that_a_lesson_calls_things_as_the_window_does(number) -> None:
    told = {name for step in lessons()[number].steps for name in named(f"{step.text}\n{step.then}")}
    assert {NUMBERED.get(name, name) for name in told} - texts() == set()


@pytest.mark.parametrize("page", PAGES)
def test_that_the_guide_calls_things_as_the_window_does(page) -> None:
    told = named(guide().pages[page])
    assert {NUMBERED.get(name, name) for name in told} - texts() == set()
