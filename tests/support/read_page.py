"""Parse an HTML page as a browser does: its elements, nesting errors, and what it would fetch."""

from __future__ import annotations

from html.parser import HTMLParser

Attributes = list[tuple[str, str | None]]
VOID = frozenset({"meta", "br"})
FETCHING = frozenset(
    {"src", "href", "xlink:href", "srcset", "action", "data", "poster", "background", "formaction"}
)


class Page(HTMLParser):
    """Reads a document.

    `elements` are (name, attributes) in their order, `texts` what stands in each kind of them.
    """

    def __init__(self, document: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.texts: dict[str, list[str]] = {}
        self.problems: list[str] = []
        self._open: list[str] = []
        self.feed(document)
        self.close()
        self.problems += [f"<{name}> is not closed" for name in self._open]

    def handle_starttag(self, tag: str, attrs: Attributes) -> None:
        self._note(tag, attrs)
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Attributes) -> None:
        self._note(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open.pop() != tag:
            self.problems.append(f"</{tag}> closes nothing at {self.getpos()}")

    def handle_data(self, data: str) -> None:
        for name in self._open[-1:]:
            self.texts.setdefault(name, []).append(data)

    def all(self, name: str) -> list[dict[str, str]]:
        """The attributes of each element of a kind."""
        return [attributes for found, attributes in self.elements if found == name]

    @property
    def words(self) -> str:
        """All text that a person reads."""
        return " ".join(
            text for name, texts in self.texts.items() if name != "style" for text in texts
        )

    @property
    def foreign(self) -> list[str]:
        """What it would fetch or run."""
        found = [
            name
            for name, _ in self.elements
            if name in ("script", "iframe", "object", "embed", "link", "img")
        ]
        for name, attributes in self.elements:
            found += [
                f"{name} {key}" for key in attributes if key in FETCHING or key.startswith("on")
            ]
        style = " ".join(self.texts.get("style", []))
        return found + [word for word in ("url(", "@import", "expression(") if word in style]

    def _note(self, tag: str, attrs: Attributes) -> None:
        self.elements.append((tag, {key: value or "" for key, value in attrs}))
        if len({key for key, _ in attrs}) != len(attrs):
            self.problems.append(f"<{tag}> has an attribute twice")
