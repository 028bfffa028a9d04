"""Console output with colours and layout."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from rich.cells import cell_len, set_cell_size
from rich.console import (
    Console,  # noqa: TID251 - the one place that makes it safe
    ConsoleOptions,
    RenderResult,
)
from rich.segment import Segment
from rich.table import Column, Table
from rich.text import Text

from schemas.console.terminal import visible

_UNBOUNDED: Final = 10_000
"""Columns off a terminal."""

_DRAWN_ROWS: Final = 500
"""Rows of the longest table that is drawn; Rich takes half a millisecond for each."""


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


class _Table(Table):
    """A table that is printed as padded lines if it is long."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw the table, or print its lines."""
        if self.row_count <= _DRAWN_ROWS or self.show_lines:
            yield from super().__rich_console__(console, options)
            return
        if self.title:
            yield Text(str(self.title))
        columns = [
            [" ".join(str(cell).split()) for cell in (column.header, *column.cells)]
            for column in self.columns
        ]
        widths = [max(map(cell_len, cells)) for cells in columns]
        for row in zip(*columns, strict=True):
            line = "  ".join(map(set_cell_size, row, widths))
            yield Text(line.rstrip(), overflow="fold")


def make_table(*columns: str | Column, **options: Any) -> Table:
    """Return a table that folds long cells rather than cut them off; a long table is printed without borders.

    Parameters
    ----------
    columns
        Headings, or columns with their own layout.
    options
        Options of the table.
    """
    table = _Table(*columns, **options)
    for column in table.columns:
        column.overflow = "fold"
    return table
