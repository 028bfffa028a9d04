"""The frames of a checked run, their row ranges by session, and their alignment on one grid of sessions and symbols."""

from __future__ import annotations

import weakref
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pipeline.reconciliation.fills import FILLS, fill_sessions
from pipeline.reconciliation.grid import Cells, Codes, Flags, Floats
from pipeline.reconciliation.row_ranges import RowRanges, find_row_ranges
from pipeline.seal.declared_differences import DeclaredDifferences
from schemas.kinds import TABLE_KINDS

SESSION: Final = ("book", "date")
"""Key of a session of a book."""
CELL: Final = (*SESSION, "symbol")
"""Key of positions and P&L by name."""
FILL: Final = ("book", "timestamp", "symbol")
"""Columns that describe a fill."""
_SYMBOL_KINDS: Final = ("positions", "pnl", "trades", "decisions")


@dataclass(frozen=True, slots=True)
class CodedSymbols:
    """The symbols of one table.

    Attributes
    ----------
    column : polars.Series of UInt32, length n_rows
        Code of the symbol of each row, the same in all tables of the run.
    distinct : polars.Series of Categorical
        Distinct symbols, without null. Keeps the numbering of Polars alive.
    """

    column: pl.Series
    distinct: pl.Series

    @property
    def codes(self) -> NDArray[np.uint32]:
        """Code of each row, shape (rows,); the column must have no null."""
        return self.column.to_numpy()

    @property
    def names(self) -> pl.DataFrame:
        """Return ``code`` and ``symbol`` of each distinct symbol."""
        return pl.DataFrame({"code": self.distinct.to_physical(), "symbol": self.distinct.cast(pl.String)})


@dataclass(frozen=True, slots=True)
class Part:
    """Facts about the complete run that rules need when the large tables hold only a part of it.

    Attributes
    ----------
    days : tuple of (int, int) or None
        First and last day, as days since 1970-01-01, of the sessions to compare. The rows of other sessions are incomplete; they
        only supply state that is carried over. None if the tables are complete.
    moments : polars.DataFrame or None
        ``book``, ``timestamp`` and ``decision_at`` of all fills of the run; None if the tables are complete.
    whole_shares : bool or None
        Whether all quantities of the run are whole numbers; None if the tables are complete.
    """

    days: tuple[int, int] | None = None
    moments: pl.DataFrame | None = None
    whole_shares: bool | None = None


class Tables:
    """The usable tables of a run.

    Parameters
    ----------
    frames : Mapping[str, polars.DataFrame]
        Kind -> frame. Columns that broke an earlier rule are absent.
    equity_basis : float
        Opening equity in equity units; the scale of every absolute tolerance on money.
    declared : DeclaredDifferences or None
        Differences of the engine that the seal declares; by default none.
    part : Part or None
        Facts about the complete run, if these tables are a part of it.
    category : polars.Categorical or None
        Numbering of the symbols, shared by the tables of several parts; a new one by default.
    """

    def __init__(
        self,
        frames: Mapping[str, pl.DataFrame],
        equity_basis: float = 1.0,
        declared: DeclaredDifferences | None = None,
        part: Part | None = None,
        category: pl.Categorical | None = None,
    ) -> None:
        self._frames = dict(frames)
        self._row_ranges: dict[tuple[str, tuple[str, ...]], RowRanges] = {}
        # The numbering belongs to this run and is freed with its tables.
        self._category = category or pl.Categorical(pl.Categories.random())
        self._symbols: dict[str, CodedSymbols] = {}
        self.equity_basis = equity_basis
        self.declared = declared or DeclaredDifferences()
        self.part = part or Part()

    def __getitem__(self, kind: str) -> pl.DataFrame:
        """Return the frame of a kind; KeyError when there is none."""
        return self._frames[kind]

    def has(self, kind: str, *columns: str) -> bool:
        """Return whether the kind is present with all these columns."""
        return kind in self._frames and all(column in self._frames[kind].columns for column in columns)

    def present(self, kind: str, columns: Sequence[str]) -> tuple[str, ...]:
        """Return those of the columns that the kind has."""
        return tuple(column for column in columns if self.has(kind, column))

    def weeks(self, status: str) -> pl.Series:
        """Return the dates of the weeks with a status."""
        return self["rebalances"].filter(pl.col("week_status") == status)["date"]

    def without(self, failed: Mapping[str, Collection[str]]) -> Tables:
        """Return the tables without unusable columns, without a copy."""
        frames = {
            kind: frame.drop(failed.get(kind, ()), strict=False) for kind, frame in self._frames.items()
        }
        remaining = Tables(frames, self.equity_basis, self.declared, self.part, self._category)
        remaining._row_ranges, remaining._symbols = self._row_ranges, self._symbols
        return remaining

    @property
    def moments(self) -> pl.DataFrame:
        """``book``, ``timestamp`` and ``decision_at`` of all fills of the run; a row may occur twice."""
        moments = self.part.moments
        return self.row_ranges("trades", FILLS).heads if moments is None else moments

    @cached_property
    def alignment(self) -> Alignment:
        """The tables on the grid of the ledger's sessions, computed on first use."""
        # A weak proxy avoids a reference cycle, so that the alignment is freed with the tables.
        return Alignment(weakref.proxy(self))

    def symbols(self, kind: str) -> CodedSymbols:
        """Return the symbols of a kind as codes, computed once.

        Joining and comparing codes is cheaper than joining and comparing text.
        """
        if not self._symbols:
            # All at once in a fixed order, because the numbering decides the last bits of sums over names.
            self._symbols |= {x: self._coded(x) for x in TABLE_KINDS if self.has(x, "symbol")}
        return self._symbols[kind]

    def _coded(self, kind: str) -> CodedSymbols:
        coded = self._frames[kind]["symbol"].cast(self._category)  # keeps the numbering of Polars alive
        codes = coded.to_physical()
        # Counted rather than hashed, because codes are small.
        numbers = np.flatnonzero(np.bincount(codes.drop_nulls().to_numpy())).astype(np.uint32)
        return CodedSymbols(codes, pl.Series(numbers).cat.to(self._category))

    def row_ranges(self, kind: str, columns: tuple[str, ...] = SESSION) -> RowRanges:
        """Return the ranges of adjacent rows with equal values in these columns, computed once."""
        if (kind, columns) not in self._row_ranges:
            self._row_ranges[kind, columns] = find_row_ranges(self._frames[kind].select(columns))
        return self._row_ranges[kind, columns]


class Alignment:
    """Positions of each table's rows on the grid, computed once for all rules.

    Parameters
    ----------
    tables : Tables
        Must have ``portfolio.book`` and ``portfolio.date``, unique together, if the sessions are used.
    """

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._range_sessions: dict[Hashable, tuple[Codes, Codes]] = {}

    @cached_property
    def _order(self) -> Codes:
        """Portfolio row of each session."""
        keys = self._tables["portfolio"].select(SESSION)
        return keys.select(pl.arg_sort_by(SESSION)).to_series().to_numpy()

    @cached_property
    def sessions(self) -> pl.DataFrame:
        """``book``, ``date`` and ``session`` (row of the grid), sorted by book and date."""
        ordered = self._tables["portfolio"][self._order].select(SESSION)
        return ordered.with_columns(session=pl.int_range(pl.len(), dtype=pl.Int64))

    @property
    def opens(self) -> Flags:
        """Whether each session is the first of its book."""
        books = self.sessions["book"].rle_id().to_numpy()
        return np.diff(books, prepend=-1) != 0 if books.size else np.zeros(0, np.bool_)

    @cached_property
    def compared(self) -> Flags:
        """Whether each session is compared: all sessions, or those of a part."""
        days = self._tables.part.days
        if days is None:
            return np.ones(self.sessions.height, np.bool_)
        return self.sessions["date"].to_physical().is_between(*days).to_numpy()

    @cached_property
    def cells(self) -> list[Cells]:
        """Positions, pnl and fills in the compared sessions of each book.

        ``previous`` are the positions of the book's session before, ``booked`` the fills that the ledger counts.
        """
        keys = {"positions": SESSION, "pnl": SESSION, "trades": ("book", "timestamp")}
        tables = {
            kind: (self.sessions_of_rows(kind), self._tables.symbols(kind).codes)
            for kind, key in keys.items()
            if self._tables.has(kind, *key, "symbol")
        }
        if "positions" in tables:
            session, symbol = tables["positions"]
            opens = np.append(self.opens, True)[session + 1]  # no session follows the last one
            tables["previous"] = np.where(opens, -1, session + 1), symbol
        if "trades" in tables:
            booked = self.sessions_of_rows("trades", self._tables.declared.outside_ledger)
            tables["booked"] = booked, tables["trades"][1]
        book = self.sessions["book"].rle_id().to_numpy()
        return [Cells.of(tables, self.compared & (book == own)) for own in np.unique(book)]

    def column(self, kind: str, name: str) -> Floats:
        """Return a column of a table as an array."""
        return self._tables[kind][name].to_numpy()

    def rows(self, gaps: pl.DataFrame) -> pl.DataFrame:
        """Describe differing cells, sorted by key: book, date, symbol, the terms of the expected value, that value, and the sealed one."""
        kinds = [kind for kind in _SYMBOL_KINDS if self._tables.has(kind, "symbol")]
        names = pl.concat([self._tables.symbols(kind).names for kind in kinds]).unique()
        rows = gaps.rename({"symbol": "code"}).cast({"code": pl.UInt32}).join(names, on="code", how="left")
        cells = rows.join(self.sessions, on="session")
        return cells.select(*CELL, pl.exclude(*CELL, "session", "code")).sort(CELL)

    def by_session(
        self, kind: str, values: Floats, leaving_out: Collection[str] = (), ufunc: np.ufunc = np.add
    ) -> Floats:
        """Reduce values of the rows of a table by session.

        Parameters
        ----------
        kind : str
            Kind of the table.
        values : Floats, shape (n_rows,)
            One value per row.
        leaving_out : collection of str
            Suffixes of trade-only variants whose fills do not count.
        ufunc : numpy.ufunc
            Binary ufunc; addition by default.

        Returns
        -------
        Floats, shape (n_sessions,)
            0 for a session without rows.
        """
        session, lengths = self._sessions_by_range(kind, leaving_out)
        reduced = np.zeros(self.sessions.height)
        if session.size:
            known = session >= 0
            with np.errstate(over="ignore", invalid="ignore"):  # an overflow is reported as a finding
                by_range = ufunc.reduceat(values, np.cumsum(lengths) - lengths)
                ufunc.at(reduced, session[known], by_range[known])
        return reduced

    def unknown_sessions(self, kind: str) -> pl.DataFrame:
        """Return the sessions of positions or pnl that the ledger lacks, by book and date."""
        session, _ = self._sessions_by_range(kind, ())
        return self._tables.row_ranges(kind).heads.filter(session < 0).unique().sort(SESSION)

    def ledger(self, column: str) -> Floats:
        """Return a column of the portfolio in the order of the sessions."""
        values: Floats = self._tables["portfolio"][column].to_numpy()[self._order]
        return values

    def sessions_of_rows(self, kind: str, leaving_out: Collection[str] = ()) -> Codes:
        """Return the session of each row of positions, pnl or trades; -1 if the ledger lacks it, or for fills left out.

        Parameters
        ----------
        kind : str
            Kind of the table.
        leaving_out : collection of str
            Suffixes of trade-only variants whose fills do not count.

        Returns
        -------
        Codes, shape (n_rows,)
            Rows of the grid.
        """
        return np.repeat(*self._sessions_by_range(kind, leaving_out))

    def _sessions_by_range(self, kind: str, leaving_out: Collection[str]) -> tuple[Codes, Codes]:
        """Return the session (-1 for none) and the length of each row range of a table."""
        key = (kind, tuple(sorted(leaving_out)))
        if key not in self._range_sessions:
            ranges = self._tables.row_ranges(kind, ("book", "timestamp") if kind == "trades" else SESSION)
            heads = ranges.heads
            if kind == "trades":
                heads = fill_sessions(heads, leaving_out)
            placed = heads.join(self.sessions, on=SESSION, how="left", maintain_order="left")
            self._range_sessions[key] = placed["session"].fill_null(-1).to_numpy(), ranges.lengths
        return self._range_sessions[key]
