"""A terminal with colours and layout."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Console  # noqa: TID251 - the one place that makes it safe
from rich.segment import Segment
from rich.text import Text

from schemas.terminal import visible


class Screen(Console):
    """A console that shows texts of others as they are; colours and layout are its own."""

    def render_str(self, text: str, *arguments: Any, **named: Any) -> Text:
        """Make a text of a string, with room for what is written out."""
        return super().render_str(visible(text), *arguments, **named)

    def render(self, *arguments: Any, **named: Any) -> Iterator[Segment]:
        """Render as ever, but write out what would steer the terminal."""
        for segment in super().render(*arguments, **named):
            yield segment if segment.control else Segment(visible(segment.text), segment.style)
