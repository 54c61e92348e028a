"""A Rich console that escapes control sequences in every text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType, RenderHook, RenderResult
from rich.segment import Segment

Escape = Callable[[str], str]


class EscapingConsole(Console):
    """A console that puts the text of whatever is drawn on it through `escape`.

    What Rich itself does to the terminal stays.
    """

    def __init__(self, escape: Escape, **options: Any) -> None:
        super().__init__(**options)
        self._escaping = _Escaping(escape)
        super().push_render_hook(self._escaping)

    def push_render_hook(self, hook: RenderHook) -> None:
        """Add a hook, such as that of a live display.

        The one that escapes stays last, and so sees what others add.
        """
        super().pop_render_hook()
        super().push_render_hook(hook)
        super().push_render_hook(self._escaping)

    def pop_render_hook(self) -> None:
        """Take away the hook that was added last."""
        super().pop_render_hook()
        super().pop_render_hook()
        super().push_render_hook(self._escaping)


class _Escaping(RenderHook):
    def __init__(self, escape: Escape) -> None:
        self._escape = escape

    def process_renderables(self, renderables: list[Any]) -> list[Any]:
        return [_Escaped(each, self._escape) for each in renderables]


class _Escaped:
    """A renderable with its text escaped: Rich's own control segments are left as they are."""

    def __init__(self, renderable: RenderableType, escape: Escape) -> None:
        self._renderable, self._escape = renderable, escape

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for text, style, control in console.render(self._renderable, options):
            yield Segment(text if control else self._escape(text), style, control)
