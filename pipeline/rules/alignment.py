"""The tables of a run on one grid: a row a session of the ledger, a column a symbol."""

from __future__ import annotations

import threading
from collections.abc import Collection, Hashable
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from pipeline.reconciliation.grid import Block, Cells, Codes, Flags, Floats, Gaps, Symbols, blocks
from schemas.tables.books import base_book

if TYPE_CHECKING:
    from pipeline.rules.tables import Tables

_NAMED: Final = ("positions", "pnl", "trades", "decisions")
_SESSION: Final = ("book", "date")


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
        self._cells: dict[Hashable, Cells] = {}
        self._blocks: list[Block] | None = None
        self._sessions: pl.DataFrame | None = None
        self._named = [kind for kind in _NAMED if tables.has(kind, "symbol")]
        self.width = max((tables.symbols(kind).width for kind in self._named), default=0)

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
        """Cut the grid of positions, pnl and fills into blocks, once."""
        with self._lock:
            if self._blocks is None:
                keys = {"positions": _SESSION, "pnl": _SESSION, "trades": ("book", "timestamp")}
                placed: dict[Hashable, Cells] = {
                    kind: self.cells(kind)
                    for kind, key in keys.items()
                    if self._tables.has(kind, *key, "symbol")
                }
                aside = self._tables.declared.outside_ledger
                if "trades" in placed and aside:
                    placed["trades", aside] = self.cells("trades", aside)
                self._blocks = list(
                    blocks(
                        placed, self.opens, self.width, carried="positions", begin=self._tables.part.context
                    )
                )
            return self._blocks

    def fills(self) -> Hashable:
        """Name, in :meth:`blocks`, the fills that belong to the ledger."""
        aside = self._tables.declared.outside_ledger
        return ("trades", aside) if aside else "trades"

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
                session, lengths = self._sessions_of(kind, leaving_out)
                self._cells[key] = Cells.of(session, lengths, self.codes(kind))
            return self._cells[key]

    def codes(self, kind: str) -> Symbols:
        """Return the column of the grid for each row of a table with ``symbol``."""
        return self._tables.symbols(kind).codes

    def names(self, codes: Codes) -> pl.Series:
        """Name columns of the grid."""
        known = pl.concat([self._tables.symbols(kind).names for kind in self._named]).unique()
        wanted = pl.DataFrame({"code": codes.astype(np.uint32)})
        return wanted.join(known, on="code", how="left", maintain_order="left")["symbol"]

    def column(self, kind: str, name: str) -> Floats:
        """Return a column of a table as an array."""
        return self._tables[kind][name].to_numpy()

    def rows(self, gaps: Gaps) -> pl.DataFrame:
        """Describe cells: book, date, symbol, what was expected and its parts, and what is sealed, by key."""
        where = self.sessions[gaps.session]
        figures = {**gaps.parts, "expected": gaps.expected, "actual": gaps.actual}
        rows = where.drop("session").with_columns(symbol=self.names(gaps.symbol), **figures)
        return rows.sort("book", "date", "symbol")

    def by_session(
        self, kind: str, values: Floats, leaving_out: Collection[str] = (), ufunc: np.ufunc = np.add
    ) -> Floats:
        """Sum values of the rows of a table by session, or reduce them otherwise; shape (sessions,)."""
        return self.cells(kind, leaving_out).reduced(ufunc, values, self.sessions.height)

    def ledger(self, column: str) -> Floats:
        """Return a column of the portfolio in the order of the sessions."""
        assert self.sessions is not None
        return self._tables["portfolio"][column].gather(self._order).to_numpy()

    def _sessions_of(self, kind: str, leaving_out: Collection[str]) -> tuple[Codes, Codes]:
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
        return found["session"].fill_null(-1).to_numpy(), runs.lengths
