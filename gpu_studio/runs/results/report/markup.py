"""Elements of HTML and SVG; everything that is not already markup is escaped."""

from __future__ import annotations

import html
import re
from typing import Final

# Characters forbidden in HTML and XML, such as lone surrogates: file and plan names may have them.
_FORBIDDEN: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_VOID: Final = frozenset({"meta", "br"})
_CLOSED_AT_ONCE: Final = frozenset({"circle", "line", "path", "rect"})

Child = str | None


class Markup(str):
    """Text that is already markup and is not escaped."""

    __slots__ = ()


def text(words: str) -> Markup:
    """Return `words` escaped."""
    if isinstance(words, Markup):
        return words
    return Markup(html.escape(_FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", words)))


def join(*children: Child) -> Markup:
    """Return the children one after another, without those that are None."""
    return Markup("".join(text(child) for child in children if child is not None))


def tag(element: str, *children: Child, **attributes: str | float | None) -> Markup:
    """Return an element.

    `class_` is the attribute `class`, `stroke_width` is `stroke-width`; None leaves it out.
    """
    given = "".join(
        f' {_name(name)}="{_value(value)}"'
        for name, value in attributes.items()
        if value is not None
    )
    if element in _VOID:
        return Markup(f"<{element}{given}>")
    if element in _CLOSED_AT_ONCE and not children:
        return Markup(f"<{element}{given}/>")
    return Markup(f"<{element}{given}>{join(*children)}</{element}>")


def _name(name: str) -> str:
    return name.rstrip("_").replace("_", "-") if name not in ("viewBox",) else name


def _value(value: str | float) -> Markup:
    return text(value if isinstance(value, str) else f"{value:.10g}")
