"""A page of the guide as the window shows it: its text in the theme's look, and its drawings.

Nothing but files of the guide is ever loaded. Links to elsewhere open in the user's browser.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from html import escape
from typing import Any, Final

from markdown_it import MarkdownIt
from markdown_it.token import Token
from PySide6.QtCore import QByteArray, QRectF, QSize, Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices, QPainter, QPixmap, QTextDocument
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QFrame, QTextBrowser, QWidget

from gpu_studio.common.guide import Guide, GuideHit, anchor_of
from gpu_studio.common.safe_files import read_regular
from gpu_studio.ui.kit import LIGHT, ThemeManager, Tokens, font, mix
from gpu_studio.ui.kit.theme import points

SEARCH: Final = "search"
_MARGIN = 24
_LARGEST_PICTURE = 256 * 1024
_WIDEST = 660
"""Pictures of the window are shown as wide as the drawings, and as sharp as the screen is."""
_STYLE = """
body {{ color: {text}; }}
h1 {{ font-size: {large:.2f}pt; font-weight: 600; margin-top: 4px; margin-bottom: 12px; }}
h2 {{ font-size: {heading:.2f}pt; font-weight: 600; margin-top: 28px; margin-bottom: 6px; }}
h3 {{ font-size: {middle:.2f}pt; font-weight: 600; margin-top: 22px; margin-bottom: 4px; }}
p, li {{ line-height: 145%; }}
p {{ margin-top: 6px; margin-bottom: 8px; }}
li {{ margin-bottom: 3px; }}
a {{ color: {accent}; text-decoration: none; }}
code {{ font-family: "JetBrains Mono"; font-size: {code:.2f}pt; background-color: {raised}; }}
b, strong {{ font-weight: 600; }}
pre {{ font-family: "JetBrains Mono"; font-size: {code:.2f}pt; line-height: 120%; margin: 0; }}
.quote p {{ margin: 0; }}
th {{ text-align: left; color: {muted}; font-weight: 500; }}
.excerpt {{ color: {muted}; margin-top: 0; }}
"""


class GuideView(QTextBrowser):
    """Shows one page. `wanted(place)` fires when a link to another place of the guide is pressed.

    `focused` is what is marked of a page: the words that were searched for.
    """

    wanted = Signal(str)

    def __init__(self, guide: Guide, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._guide, self._theme = guide, theme
        self.page = self._text = ""
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setOpenLinks(False)
        self.setAccessibleName("page of the guide")
        self.setFont(font("text"))
        self.document().setDocumentMargin(_MARGIN)
        self.anchorClicked.connect(self._follow)
        theme.changed.connect(self._dress)

    def show_page(self, page: str, anchor: str = "") -> None:
        """Show a page of the guide from this anchor on. Raises KeyError if there is none."""
        if page != self.page:
            self.page = page
            self._set(as_html(self._guide.pages[page], self._theme.tokens))
        if anchor:
            self.scrollToAnchor(anchor)
        else:
            self.verticalScrollBar().setValue(0)

    def show_text(self, text: str) -> None:
        """Show Markdown that is no page, from its beginning; links are as those of a page."""
        if text != self._text:
            self.page, self._text = "", text
            self._set(as_html(text, self._theme.tokens))

    def show_hits(self, words: str, hits: Sequence[GuideHit]) -> None:
        """Show where words were found, each with the text around them."""
        self.page = SEARCH
        found = "".join(
            f'<h3><a href="{escape(hit.section.page)}.md#{escape(hit.section.anchor)}">'
            f"{escape(hit.section.title)}</a></h3>"
            f'<p class="excerpt">{escape(self._guide.title(hit.section.page))} · '
            f"{escape(hit.excerpt)}</p>"
            for hit in hits
        )
        nothing = "<p>No part of the guide has all of these words. Try fewer, or others.</p>"
        self._set(f"<h1>Found: {escape(words)}</h1>{found or nothing}")

    def loadResource(self, kind: int, name: QUrl | str) -> Any:  # noqa: N802 - Qt's name
        """A drawing or a picture of the guide in the theme's colours; nothing else is loaded."""
        if kind != QTextDocument.ResourceType.ImageResource.value:
            return None
        path = QUrl(name).path()
        if ".." in path or not path.startswith(("drawings/", "images/")):
            return None
        if path.endswith(".png"):
            path = picture_in(path, self._theme.tokens)
        content = read_regular(self._guide.folder / path, _LARGEST_PICTURE, follow=True)
        if path.endswith(".svg"):
            return drawn(content.decode(), self._theme.tokens, self.devicePixelRatioF())
        picture = QPixmap()
        picture.loadFromData(content)
        wanted = min(picture.width(), round(_WIDEST * self.devicePixelRatioF()))
        fitted = picture.scaledToWidth(wanted, Qt.TransformationMode.SmoothTransformation)
        fitted.setDevicePixelRatio(wanted / _WIDEST)
        return fitted

    def _set(self, html: str) -> None:
        self.document().setDefaultStyleSheet(_style(self._theme.tokens))
        self.setHtml(html)

    def _dress(self) -> None:
        """Draw the page anew in other colours, where it stands."""
        page, at = self.page, self.verticalScrollBar().value()
        if page in self._guide.pages:
            self.page = ""
            self.show_page(page)
            self.verticalScrollBar().setValue(at)
        elif self._text:
            self._set(as_html(self._text, self._theme.tokens))

    def _follow(self, link: QUrl) -> None:
        if link.scheme() in ("http", "https"):
            QDesktopServices.openUrl(link)
            return
        page = link.path().removesuffix(".md") or self.page
        self.wanted.emit(f"{page}#{link.fragment()}" if link.hasFragment() else page)


def picture_in(path: str, tokens: Tokens) -> str:
    """The path of a picture of the window in a theme: a page names the light one."""
    return path if tokens.name == LIGHT.name else path.replace(".png", f"-{tokens.name}.png")


def drawn(svg: str, tokens: Tokens, ratio: float) -> QPixmap:
    """A drawing, which is made in the light theme's colours, in those of a theme."""
    for name in ("surface", "raised", "line", "text", "muted", "accent", "bad", "warning"):
        svg = svg.replace(getattr(LIGHT, name), f"@{name}@")
    for place, colour in enumerate(LIGHT.devices):
        svg = svg.replace(colour, tokens.devices[place])
    for name in ("surface", "raised", "line", "text", "muted", "accent", "bad", "warning"):
        svg = svg.replace(f"@{name}@", getattr(tokens, name))
    # Of a list of families Qt takes none.
    svg = svg.replace('font-family="Inter, Helvetica, Arial, sans-serif"', 'font-family="Inter"')
    renderer = QSvgRenderer(QByteArray(svg.encode()))
    size = renderer.defaultSize()
    made = QPixmap(QSize(round(size.width() * ratio), round(size.height() * ratio)))
    made.fill(Qt.GlobalColor.transparent)
    painter = QPainter(made)
    renderer.render(painter, QRectF(made.rect()))
    painter.end()
    made.setDevicePixelRatio(ratio)
    return made


def _style(tokens: Tokens) -> str:
    return _STYLE.format(
        text=tokens.text,
        muted=tokens.muted,
        accent=tokens.accent,
        raised=tokens.raised,
        large=points(24),
        heading=points(18),
        middle=points(14.5),
        code=points(12.5),
    )


@cache
def as_html(text: str, tokens: Tokens) -> str:
    """Markdown as the HTML that Qt draws well: code, quotes and tables in boxes, with anchors."""
    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens_of_text = reader.parse(text)
    for place, token in enumerate(tokens_of_text):
        if token.type == "heading_open":
            token.attrSet("id", anchor_of(_heading(tokens_of_text[place + 1])))
    made: str = reader.renderer.render(tokens_of_text, reader.options, {})
    return _boxed(made, tokens)


def _heading(inline: Token) -> str:
    return "".join(each.content for each in inline.children or ())


def _boxed(html: str, tokens: Tokens) -> str:
    """Qt paints a ground behind each line of code by itself; behind a table's cell it is one."""
    box = (
        '<table width="100%" cellspacing="0" cellpadding="{pad}" '
        'style="margin-top: 8px; margin-bottom: 12px; border-width: 0; {more}" '
        'bgcolor="{ground}"><tr><td>'
    )
    code = box.format(pad=12, ground=tokens.raised, more="")
    bar = '<table cellspacing="0" cellpadding="0" style="margin-top: 14px"><tr>'
    bar += f'<td width="3" bgcolor="{tokens.warning}"></td><td style="padding-left: 12px" '
    bar += 'class="quote">'
    lines = mix(tokens.line, tokens.surface, 0.9)
    table = '<table border="1" cellspacing="0" cellpadding="6" style="border-collapse: collapse; '
    table += f'border-color: {lines}; border-style: solid; margin-bottom: 12px" width="100%">'
    return (
        html.replace("<table>", table)
        .replace("<p><img", '<p style="line-height: 100%"><img')
        .replace("<pre><code", f"{code}<pre><code")
        .replace("\n</code></pre>", "</code></pre></td></tr></table>")
        .replace("<blockquote>", bar)
        .replace("</blockquote>", "</td></tr></table>")
    )
