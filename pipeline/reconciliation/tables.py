"""The frames a run is checked on: runs of equal sessions within them, and their rows on one grid of sessions and symbols."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pipeline.reconciliation.grid import Block, Cells, Codes, Flags, Floats, Gaps, Symbols, blocks, totals
from pipeline.seal.declared_differences import DeclaredDifferences
from schemas.kinds import TABLE_KINDS
from schemas.tables.books import base_book

SESSION = ("book", "date")
"""What a session of a book is known by."""
FILLS: Final = ("book", "timestamp", "decision_at")
"""What the fills of a book that were made together have in common."""
_NAMED: Final = ("positions", "pnl", "trades", "decisions")


@dataclass(frozen=True, slots=True)
class Runs:
    """Maximal row ranges of adjacent rows that agree in some columns.

    Ledgers come grouped by session, so that there are some thousand row ranges among a million rows: sums and
    joins by session are then made on the row ranges. Nothing is assumed of the order: rows that lie apart are
    merely more row ranges, and every answer is the same.

    Attributes
    ----------
    heads
        The columns at the first row of each row range.
    starts, lengths
        int64, shape (row ranges,): first row and number of rows.
    """

    heads: pl.DataFrame
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]

    def repeat(self, values: pl.Series) -> pl.Series:
        """Spread one value a row range over its rows; nulls become NaN."""
        return pl.Series(values.name, np.repeat(values.to_numpy(), self.lengths))


class SymbolCodes:
    """The symbols of all tables of a run by number, each column numbered once. Safe to share between threads.

    A number is as wide as four characters, so that joins and comparisons of names cost what those of integers do.

    Parameters
    ----------
    category
        Whose numbers are used, so that tables of several parts share them; a new one by default.
    """

    def __init__(self, category: pl.Categorical | None = None) -> None:
        # The numbers are this run's own and go with it.
        self._category = category or pl.Categorical(pl.Categories.random())
        self._coded: dict[str, CodedSymbols] = {}
        self._locks = {kind: threading.Lock() for kind in TABLE_KINDS}

    def of(self, kind: str, symbols: pl.Series) -> CodedSymbols:
        """Return the numbers of the ``symbol`` column of a kind."""
        with self._locks[kind]:
            if kind not in self._coded:
                coded = symbols.cast(self._category)
                codes = coded.to_physical()
                # Counted, not hashed: there are few numbers.
                numbers = np.flatnonzero(np.bincount(codes.drop_nulls().to_numpy())).astype(np.uint32)
                self._coded[kind] = CodedSymbols(codes, pl.Series(numbers).cat.to(self._category))
            return self._coded[kind]


@dataclass(frozen=True, slots=True)
class CodedSymbols:
    """The symbols of one table.

    Attributes
    ----------
    column
        Number of the symbol of each row, UInt32; the same in all tables of the run.
    different
        Each symbol that occurs, null aside, by number. While one such column lives, so does the numbering.
    """

    column: pl.Series
    different: pl.Series

    @property
    def codes(self) -> NDArray[np.uint32]:
        """Number of each row, shape (rows,); the column has no null."""
        return self.column.to_numpy()

    @property
    def width(self) -> int:
        """One more than the highest number that occurs; 0 for none."""
        codes = self.different.to_physical().to_numpy()
        return int(codes.max()) + 1 if codes.size else 0

    @property
    def names(self) -> pl.DataFrame:
        """Return ``code`` and ``symbol`` of each one that occurs."""
        return pl.DataFrame({"code": self.different.to_physical(), "symbol": self.different.cast(pl.String)})


@dataclass(frozen=True, slots=True)
class Part:
    """Facts of the run that its rules need where their tables hold only a part of it.

    Attributes
    ----------
    context
        Sessions, first in the order of book and date, that are there for what is carried over from them: figures by
        name of these are not compared.
    moments
        ``book``, ``timestamp`` and ``decision_at`` of the fills of the run; None where the tables have all of them.
    whole_shares
        Whether all quantities of the run are whole numbers; None where the tables have all of them.
    """

    context: int = 0
    moments: pl.DataFrame | None = None
    whole_shares: bool | None = None


class Tables:
    """The tables of a run, as far as they can be relied on.

    Parameters
    ----------
    frames
        Kind -> frame. A rule looks at the columns that are there: one that failed a rule before is not.
    equity_basis
        Opening equity, the scale of every absolute tolerance on money.
    declared
        Where the seal says that its engine differs; by default nowhere.
    part
        What is known of the run beside these tables, where they are a part of it.
    category
        As of :class:`SymbolCodes`.
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
        self._runs: dict[tuple[str, tuple[str, ...]], Runs] = {}
        self._symbols = SymbolCodes(category)
        self._alignment: Alignment | None = None
        self._lock = threading.Lock()
        self.equity_basis = equity_basis
        self.declared = declared or DeclaredDifferences()
        self.part = part or Part()

    def __getitem__(self, kind: str) -> pl.DataFrame:
        """Return the frame of a kind; KeyError when there is none."""
        return self._frames[kind]

    def has(self, kind: str, *columns: str) -> bool:
        """Return whether the kind is there with all these columns."""
        return kind in self._frames and all(column in self._frames[kind].columns for column in columns)

    def present(self, kind: str, columns: Sequence[str]) -> tuple[str, ...]:
        """Return those of the columns that the kind has."""
        return tuple(column for column in columns if self.has(kind, column))

    def without(self, failed: Mapping[str, set[str]]) -> Tables:
        """Return the tables without columns that cannot be relied on; nothing is copied."""
        remaining = Tables(
            {
                kind: frame.drop(failed[kind], strict=False) if failed.get(kind) else frame
                for kind, frame in self._frames.items()
            },
            self.equity_basis,
            self.declared,
            self.part,
        )
        remaining._runs = self._runs
        remaining._symbols = self._symbols
        return remaining

    @property
    def alignment(self) -> Alignment:
        """The tables on the grid of the ledger's sessions, made by the first rule that asks."""
        with self._lock:
            if self._alignment is None:
                # Not a circle: what it holds is freed with the tables, not some time later.
                self._alignment = Alignment(weakref.proxy(self))
            return self._alignment

    def symbols(self, kind: str) -> CodedSymbols:
        """Return the symbols of a kind by number, looked up once."""
        return self._symbols.of(kind, self._frames[kind]["symbol"])

    def runs(self, kind: str, columns: tuple[str, ...] = SESSION) -> Runs:
        """Return the row ranges of rows that agree in these columns, computed once."""
        if (kind, columns) not in self._runs:
            self._runs[kind, columns] = find_runs(self._frames[kind].select(columns))
        return self._runs[kind, columns]


def find_runs(key: pl.DataFrame) -> Runs:
    """Find the row ranges of rows that agree in every column; null equals null."""
    if not key.height:
        nothing = np.empty(0, np.int64)
        return Runs(key, nothing, nothing)
    begins = np.zeros(key.height - 1, np.bool_)
    # Column by column: a struct of them would be encoded row by row.
    for column in key.iter_columns():
        then, before = column.slice(1), column.slice(0, key.height - 1)
        # Without nulls the plain comparison says the same, and is no query.
        begins |= (then.ne_missing(before) if column.null_count() else then != before).to_numpy()
    starts = np.concatenate([np.zeros(1, np.int64), np.flatnonzero(begins) + 1])
    lengths = np.diff(starts, append=key.height)
    return Runs(key[starts], starts, lengths)


class Alignment:
    """Where the rows of each table lie, computed once for all rules. Safe to share between threads.

    Parameters
    ----------
    tables
        With ``portfolio.book`` and ``portfolio.date``, unique together, where the sessions are read.

    Attributes
    ----------
    width
        Columns of the grid: symbols of all tables together.
    """

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._lock = threading.RLock()
        self._cells: dict[Hashable, Cells] = {}
        self._run_sessions: dict[Hashable, tuple[Codes, Codes]] = {}
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
                self._order = ordered["place"].to_numpy()
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
                keys = {"positions": SESSION, "pnl": SESSION, "trades": ("book", "timestamp")}
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

    def session_sums(self, kind: str, column: str) -> Floats:
        """Sum a column of positions or pnl by session, shape (sessions,); its symbols play no part."""
        session, lengths = self._sessions_of(kind, ())
        values = self.column(kind, column)
        if not values.size:
            return np.zeros(self.sessions.height)
        with np.errstate(
            over="ignore", invalid="ignore"
        ):  # an overflow is a finding of the rule, not a crash
            sums = np.add.reduceat(values, np.cumsum(lengths) - lengths)
            return totals(session[session >= 0], sums[session >= 0], self.sessions.height)

    def unknown_sessions(self, kind: str) -> pl.DataFrame:
        """Return book and date of the sessions of positions or pnl that the ledger lacks, in this order."""
        session, _ = self._sessions_of(kind, ())
        heads = self._tables.runs(kind).heads
        return (
            heads.filter(pl.Series(session < 0)).unique().sort(SESSION)
            if (session < 0).any()
            else heads.clear()
        )

    def ledger(self, column: str) -> Floats:
        """Return a column of the portfolio in the order of the sessions."""
        assert self.sessions is not None
        values: Floats = self._tables["portfolio"][column].to_numpy()[self._order]
        return values

    def _sessions_of(self, kind: str, leaving_out: Collection[str]) -> tuple[Codes, Codes]:
        """Return session, -1 for none, and length of each run of the rows of a table."""
        key = (kind, tuple(sorted(leaving_out)))
        with self._lock:
            if key not in self._run_sessions:
                self._run_sessions[key] = self._found_sessions(kind, leaving_out)
            return self._run_sessions[key]

    def _found_sessions(self, kind: str, leaving_out: Collection[str]) -> tuple[Codes, Codes]:
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
        placed = heads.join(self.sessions, on=("book", "date"), how="left", maintain_order="left")
        return placed["session"].fill_null(-1).to_numpy(), runs.lengths
