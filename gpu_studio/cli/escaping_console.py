"""Rich's console, on which no text can write what a terminal would obey."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType, RenderHook, RenderResult
from rich.segment import Segment

from gpu_studio.cli.output import escaped


class EscapingConsole(Console):
    """A console that escapes the text of whatever is drawn on it. What Rich itself does to the terminal stays."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        super().push_render_hook(_Escaping())

    def push_render_hook(self, hook: RenderHook) -> None:
        """Add a hook, such as that of a live display. The one that escapes stays last, and so sees what others add."""
        super().pop_render_hook()
        super().push_render_hook(hook)
        super().push_render_hook(_Escaping())

    def pop_render_hook(self) -> None:
        """Take away the hook that was added last."""
        super().pop_render_hook()
        super().pop_render_hook()
        super().push_render_hook(_Escaping())


class _Escaping(RenderHook):
    def process_renderables(self, renderables: list[Any]) -> list[Any]:
        return [_Escaped(each) for each in renderables]


class _Escaped:
    """A renderable with its text escaped: Rich's own control segments are left as they are."""

    def __init__(self, renderable: RenderableType) -> None:
        self._renderable = renderable

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from _with_text_escaped(console.render(self._renderable, options))


def _with_text_escaped(segments: Iterable[Segment]) -> Iterable[Segment]:
    for text, style, control in segments:
        yield Segment(text if control else escaped(text), style, control)
