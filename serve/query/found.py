"""What a page query finds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from serve.query.json import BodyChunks

if TYPE_CHECKING:
    from serve.query.rendered_rows import RenderedRows, SplitRows


class Rows(NamedTuple):
    """A page's rows as they are sent.

    Attributes
    ----------
    chunks
        Of a JSON array, put together for this page; nothing for a slice of rendered rows.
    returned, total
        Its length, and the rows of all pages.
    rendered
        The rendered rows these are a slice of: they are cached anyway, and are read when they are wanted. None for rows
        that were put together for this page.
    first
        Number of the first of them there.
    """

    chunks: BodyChunks
    returned: int
    total: int
    rendered: RenderedRows | None = None
    first: int = 0

    @property
    def pieces(self) -> BodyChunks:
        """The JSON array in pieces; errors as of :meth:`serve.query.rendered_rows.RenderedRows.between`."""
        if self.rendered is None:
            return self.chunks
        return self.rendered.between(self.first, self.first + self.returned)

    @property
    def size(self) -> int:
        """About the bytes of the array; errors as above."""
        if self.rendered is None:
            return sum(map(len, self.chunks))
        return self.rendered.size(self.first, self.first + self.returned)

    def split(self, coding: str) -> SplitRows | None:
        """Return the rows with those in the middle compressed already; None when they are not, or too few; errors as above."""
        if self.rendered is None:
            return None
        return self.rendered.split(self.first, self.first + self.returned, coding)


NO_ROWS: Final = Rows((b"[]",), 0, 0)
EMPTY_ARRAY: Final[BodyChunks] = (b"[", b"]")
"""The brackets of a page's rows."""


class UnknownSymbol(NamedTuple):
    """A symbol that was asked for and that the run never had, and the run's own spelling of it, if there is one."""

    asked: str
    nearest: str | None


class Week(NamedTuple):
    """A rebalance week: its status, and the rows of its cross-section; None when the run sealed no decisions."""

    status: str
    symbols: int | None


class Found(NamedTuple):
    """What answers a page query.

    Attributes
    ----------
    rows
        The page.
    missing
        Kinds that the run holds no rows of, when the page is empty for that reason.
    unknown
        Symbols asked for that the run never had.
    week
        Of a cross-section; None when the run has no rebalance index.
    summary
        Of the whole window of an equity curve.
    """

    rows: Rows
    missing: tuple[str, ...] = ()
    unknown: tuple[UnknownSymbol, ...] = ()
    week: Week | None = None
    summary: Mapping[str, Any] | None = None
