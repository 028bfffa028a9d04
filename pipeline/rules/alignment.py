"""The tables of a run on one grid: a row a session of the ledger, a column a symbol."""

from __future__ import annotations

import threading
from collections.abc import Collection
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from pipeline.reconciliation.grid import Block, Cells, Codes, Flags, Floats, Gaps, blocks
from schemas.tables.books import base_book

if TYPE_CHECKING:
    from pipeline.rules.tables import Tables

_NAMED: Final = ("positions", "pnl", "trades", "decisions")


class Alignment:
    """Where the rows of each table lie, found once for all rules. Safe to share between threads.

    Parameters
    ----------
    tables
        Where the sessions are asked for, with ``portfolio.book`` and ``portfolio.date``, unique together.

    Attributes
    ----------
    width
        Columns of the grid: symbols of all tables together.
    """

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._lock = threading.RLock()
        self._cells: dict[tuple[str, tuple[str, ...]], Cells] = {}
        self._sessions: pl.DataFrame | None = None
        # Numbered once for all tables; the numbers are this run's own and go with it.
        category = pl.Categorical(pl.Categories.random())
        self._symbols = {
            kind: tables[kind]["symbol"].cast(category) for kind in _NAMED if tables.has(kind, "symbol")
        }
        self._codes = {kind: column.to_physical().to_numpy() for kind, column in self._symbols.items()}
        self.width = max((int(codes.max()) + 1 for codes in self._codes.values() if codes.size), default=0)

    @property
    def sessions(self) -> pl.DataFrame:
        """``book``, ``date`` and ``session`` (the row of the grid), by book and date."""
        with self._lock:
            if self._sessions is None:
                keys = self._tables["portfolio"].select("book", "date", place=pl.int_range(pl.len()))
                ordered = keys.sort("book", "date")
                self._order = ordered["place"]
                self._sessions = ordered.select(
                    "book", "date", session=pl.int_range(pl.len(), dtype=pl.Int64)
                )
            return self._sessions

    @property
    def opens(self) -> Flags:
        """Whether a session is the first of its book."""
        books = self.sessions["book"].rle_id().to_numpy()
        return np.diff(books, prepend=-1) != 0 if books.size else np.zeros(0, np.bool_)

    def blocks(self) -> list[Block]:
        """Cut the grid into blocks."""
        return list(blocks(self.sessions.height, self.width))

    def cells(self, kind: str, leaving_out: Collection[str] = ()) -> Cells:
        """Place the rows of positions, pnl or trades.

        Parameters
        ----------
        kind
            A kind with ``symbol``. Rows of sessions that the ledger has not are left out: other rules report those.
        leaving_out
            Suffixes of trade-only variants whose fills are not wanted.
        """
        key = (kind, tuple(sorted(leaving_out)))
        with self._lock:
            if key not in self._cells:
                self._cells[key] = Cells.of(self._sessions_of(kind, leaving_out), self.codes(kind))
            return self._cells[key]

    def codes(self, kind: str) -> Codes:
        """Return the column of the grid for each row of a table with ``symbol``."""
        return self._codes[kind].astype(np.int64)

    def names(self, codes: Codes) -> pl.Series:
        """Name columns of the grid."""
        unique = [column.unique() for column in self._symbols.values()]
        known = pl.concat(
            [pl.DataFrame({"code": x.to_physical(), "symbol": x.cast(pl.String)}) for x in unique]
        )
        wanted = pl.DataFrame({"code": codes.astype(np.uint32)})
        found = wanted.join(known.unique(), on="code", how="left", maintain_order="left")
        return found["symbol"]

    def column(self, kind: str, name: str, leaving_out: Collection[str] = ()) -> Floats:
        """Return a column in the order of the cells."""
        return self.cells(kind, leaving_out).values(self._tables[kind][name].to_numpy())

    def rows(self, gaps: Gaps) -> pl.DataFrame:
        """Describe cells: book, date, symbol, what was expected and its parts, and what is sealed, by key."""
        where = self.sessions[gaps.session]
        figures = {**gaps.parts, "expected": gaps.expected, "actual": gaps.actual}
        rows = where.drop("session").with_columns(symbol=self.names(gaps.symbol), **figures)
        return rows.sort("book", "date", "symbol")

    def by_session(self, kind: str, values: Floats, leaving_out: Collection[str] = ()) -> Floats:
        """Sum values given in the order of the cells by session, shape (sessions,)."""
        cells = self.cells(kind, leaving_out)
        sums = np.zeros(self.sessions.height)
        starts = np.flatnonzero(np.diff(cells.session, prepend=-1))
        if starts.size:
            with np.errstate(over="ignore", invalid="ignore"):  # an overflow is a finding, not a crash
                sums[cells.session[starts]] = np.add.reduceat(values, starts)
        return sums

    def ledger(self, column: str) -> Floats:
        """Return a column of the portfolio in the order of the sessions."""
        assert self.sessions is not None
        return self._tables["portfolio"][column].gather(self._order).to_numpy()

    def _sessions_of(self, kind: str, leaving_out: Collection[str]) -> Codes:
        columns = ("book", "timestamp") if kind == "trades" else ("book", "date")
        runs = self._tables.runs(kind, columns)
        heads = runs.heads
        if kind == "trades":
            names = heads["book"].unique()
            outside = [
                name for name in names if name != base_book(name) and name.endswith(tuple(leaving_out))
            ]
            base = {name: None if name in outside else base_book(name) for name in names}
            heads = heads.select(
                book=pl.col("book").replace_strict(base, return_dtype=pl.String),
                date=pl.col("timestamp").dt.date(),
            )
        found = heads.join(self.sessions, on=("book", "date"), how="left", maintain_order="left")
        return np.repeat(found["session"].fill_null(-1).to_numpy(), runs.lengths)
