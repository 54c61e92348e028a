"""The one style sheet: `resources/style/window.qss`, with the tokens' colours put in its `$places`."""

from __future__ import annotations

from functools import cache
from string import Template

from gpu_studio.resource_files import resource
from gpu_studio.ui.theme.fonts import points
from gpu_studio.ui.theme.palette import FAINT, mix
from gpu_studio.ui.theme.tokens import CAPTION_PX, CARD_RADIUS, Tokens


@cache
def _template() -> Template:
    return Template(resource("style/window.qss").read_text(encoding="utf-8"))


def make_style_sheet(tokens: Tokens) -> str:
    """The application's style sheet in these colours. Raises KeyError if the template names an unknown place."""
    return _template().substitute(_places(tokens))


def _places(tokens: Tokens) -> dict[str, str]:
    return {
        "name": tokens.name,
        "background": tokens.background,
        "surface": tokens.surface,
        "raised": tokens.raised,
        "line": tokens.line,
        "text": tokens.text,
        "muted": tokens.muted,
        "accent": tokens.accent,
        "on_accent": tokens.on_accent,
        "bad": tokens.bad,
        "warning": tokens.warning,
        "hover": mix(tokens.text, tokens.raised, 0.06),
        "pressed": mix(tokens.text, tokens.raised, 0.12),
        "accent_hover": mix(tokens.text, tokens.accent, 0.12),
        "tint": mix(tokens.accent, tokens.surface, 0.16),
        "warning_tint": mix(tokens.warning, tokens.surface, 0.14),
        "bad_tint": mix(tokens.bad, tokens.surface, 0.12),
        "faint": mix(tokens.muted, tokens.surface, FAINT),
        "scroll": mix(tokens.muted, tokens.surface, 0.4),
        "radius": f"{CARD_RADIUS}px",
        "caption": f"{points(CAPTION_PX):.3f}pt",
        "icons": resource("icons").as_posix(),
    }
