"""Console output with colours and layout."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from rich.console import Console  # noqa: TID251 - the one place that makes it safe
from rich.segment import Segment
from rich.table import Column, Table
from rich.text import Text

from schemas.console.terminal import visible

_UNBOUNDED: Final = 10_000
"""Columns off a terminal."""


class Screen(Console):
    """A console that escapes control characters in texts.

    Off a terminal, in a pipe or a file, lines are neither cut nor folded.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        if not self.is_terminal:
            self.width = _UNBOUNDED

    def render_str(self, text: str, *arguments: Any, **named: Any) -> Text:
        """Return a string as text, control characters escaped."""
        return super().render_str(visible(text), *arguments, **named)

    def render(self, *arguments: Any, **named: Any) -> Iterator[Segment]:
        """Render with control characters escaped."""
        for segment in super().render(*arguments, **named):
            yield segment if segment.control else Segment(visible(segment.text), segment.style)

    def on_broken_pipe(self) -> None:
        """Leave a closed pipe to the command group, as other output does; Rich would exit with code 1."""
        raise BrokenPipeError


def make_table(*columns: str | Column, **options: Any) -> Table:
    """Return a table that folds long cells rather than cut them off.

    Parameters
    ----------
    columns
        Headings, or columns with their own layout.
    options
        Options of the table.
    """
    table = Table(*columns, **options)
    for column in table.columns:
        column.overflow = "fold"
    return table
