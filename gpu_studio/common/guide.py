"""The guide: pages in Markdown, the places in them, and a search over their sections.

A place is `page` or `page#anchor`. An anchor is what a forge makes of a heading, so that the same
links lead to the same places there and in the window.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from gpu_studio.common.paths import resource
from gpu_studio.common.safe_files import read_regular
from gpu_studio.common.search_words import patterns, plain

FOLDER = "guide"
FIRST = "index"
_HEADING = re.compile(r"^(#{1,3}) +(.+?) *$")
_FENCE = re.compile(r"^ *```")
_LINK = re.compile(r"\[([^\]]*)\]\(([^)\s]*)\)")
_DRAWING = re.compile(r"!\[([^\]]*)\]\([^)\s]*\)")
_LISTED = re.compile(r"^- \[[^\]]+\]\(([\w-]+)\.md\)", re.MULTILINE)
_EXCERPT = 140
_LARGEST_PAGE = 1024 * 1024
_CONCEPTS = "concepts"
_NOT_ALONE = ("plan", "run", "host")
"""Words that also mean something else where they stand alone on the screen."""


def anchor_of(heading: str) -> str:
    """The anchor that a forge gives a heading: small letters, no punctuation, hyphens for spaces.

    >>> anchor_of("What `fit` trains, here")
    'what-fit-trains-here'
    """
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@dataclass(frozen=True, slots=True)
class GuideSection:
    """What stands under one heading of a page, up to the next one. The text is Markdown."""

    page: str
    title: str
    level: int
    text: str

    @property
    def anchor(self) -> str:
        """Its anchor on its page."""
        return anchor_of(self.title)

    @property
    def place(self) -> str:
        """Its place in the guide; that of a page's first heading is the page."""
        return self.page if self.level == 1 else f"{self.page}#{self.anchor}"


@dataclass(frozen=True, slots=True)
class GuideHit:
    """A section in which words were found; the excerpt is plain text around the first of them."""

    section: GuideSection
    excerpt: str


@dataclass(frozen=True, slots=True)
class Guide:
    """The pages by their names, in the order in which the first page lists them."""

    folder: Path
    pages: dict[str, str]

    def title(self, page: str) -> str:
        """The first heading of a page. Raises KeyError if there is no such page."""
        return next(self.sections(page)).title

    def sections(self, page: str) -> Iterator[GuideSection]:
        """The sections of a page. Raises KeyError if there is no such page."""
        title, level, lines, fenced = page, 1, list[str](), False
        for line in self.pages[page].splitlines():
            fenced ^= _FENCE.match(line) is not None
            found = None if fenced else _HEADING.match(line)
            if found is None:
                lines.append(line)
                continue
            if any(lines):
                yield GuideSection(page, title, level, "\n".join(lines).strip())
            title, level, lines = _plain(found[2]), len(found[1]), []
        yield GuideSection(page, title, level, "\n".join(lines).strip())

    def section(self, place: str) -> GuideSection | None:
        """The section at a place.

        For `options#a.b.c`, a key of a plan, it is that of the longest known beginning of the key,
        or of the first key that begins so. None if there is no such page, or place on it.
        """
        page, _, wanted = place.partition("#")
        page = page.removesuffix(".md")
        if page not in self.pages:
            return None
        sections = list(self.sections(page))
        if not wanted:
            return sections[0]
        names = [name for name in wanted.split(".") if not name.isdecimal()]
        while names:
            known = _one_output(names) or ".".join(names)
            for each in sections:
                if each.anchor == anchor_of(known) or each.title.startswith(f"{known}."):
                    return each
            names.pop()
        return None

    def search(self, words: str) -> list[GuideHit]:
        """The sections that have every one of the words, those with them in their headings first.

        Of two, the one goes first that has them beside each other, and then that with fewer others
        in its heading. See `search_words` for what counts as a word.
        """
        wanted, phrase = patterns(words), plain(words).strip()
        ranked: list[tuple[tuple[int, ...], GuideHit]] = []
        for section in (each for page in self.pages for each in self.sections(page)):
            title, text = plain(section.title), _plain(section.text)
            if not wanted or not all(word.search(f"{title}\n{plain(text)}") for word in wanted):
                continue
            elsewhere = sum(word.search(title) is None for word in wanted)
            others = 0 if elsewhere else len(title.split())
            apart = phrase not in title and phrase not in plain(text)
            rank = elsewhere, apart, others, section.level
            ranked.append((rank, GuideHit(section, _around(text, wanted))))
        return [hit for _, hit in sorted(ranked, key=lambda each: each[0])]

    @staticmethod
    def readable(text: str) -> str:
        """Markdown for a terminal: links without their targets, drawings by what they show."""
        return _LINK.sub(r"\1", _DRAWING.sub(r"*Drawing: \1.*", text))


@cache
def guide() -> Guide:
    """The guide that ships with the program. Raises OSError if it is not there."""
    names = dict.fromkeys((FIRST, *_LISTED.findall(_read(FIRST))))
    return Guide(resource(FOLDER), {name: _read(name) for name in names})


def _read(page: str) -> str:
    return read_regular(resource(f"{FOLDER}/{page}.md"), _LARGEST_PAGE, follow=True).decode()


def _one_output(names: list[str]) -> str:
    """A key of one output of a model, as the page of options calls it; empty for another key."""
    same = names[:2] == ["training", "outputs"] and len(names) > 3
    return ".".join((*names[:2], "NAME", *names[3:])) if same else ""


def _plain(text: str) -> str:
    """Markdown without its marks, for reading in a line and for searching."""
    text = _LINK.sub(r"\1", _DRAWING.sub(r"\1.", text))
    return re.sub(r"[`*|]|^[-#>]+ |-{3,}", "", text, flags=re.MULTILINE)


def _around(text: str, words: list[re.Pattern[str]]) -> str:
    line = " ".join(text.split())
    places = [found.start() for word in words if (found := word.search(plain(line)))]
    start = max(0, min(places, default=0) - _EXCERPT // 3)
    start = line.rfind(" ", 0, start) + 1 if start else 0
    end = len(line) if len(line) <= start + _EXCERPT else line.rfind(" ", start, start + _EXCERPT)
    return f"{'…' if start else ''}{line[start:end].rstrip()}{'…' if end < len(line) else ''}"


@cache
def definitions() -> dict[str, str]:
    """What each word of the guide means, in plain text, by the word in small letters.

    It is the first paragraph of the word's section. Raises OSError if there is no guide.
    """
    found: dict[str, str] = {}
    for section in guide().sections(_CONCEPTS):
        paragraphs = [each for each in section.text.split("\n\n") if not _DRAWING.match(each)]
        if section.level == 2 and "," not in section.title and paragraphs:
            found[section.title.lower()] = " ".join(_plain(paragraphs[0]).split())
    return {word: text for word, text in found.items() if word not in _NOT_ALONE}


def words_in(text: str) -> list[str]:
    """The words in a text of the screen that the guide defines, each once, in their order.

    >>> words_in("Two replicas, each with its slice")
    ['replica', 'slice']
    """
    words = sorted(definitions(), key=len, reverse=True)
    known = re.compile(rf"\b({'|'.join(map(re.escape, words))})(?:s|es)?\b", re.IGNORECASE)
    return list(dict.fromkeys(match[1].lower() for match in known.finditer(text)))
