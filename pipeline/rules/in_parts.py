"""The rules on a run too large for memory: part by part, each with the session before it.

This path only establishes that every rule holds. Where a rule that refuses is broken, or is undecided
from parts alone, the run is checked at once in memory: both paths produce identical reports.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl

from pipeline.reconciliation.grid import Codes
from pipeline.reconciliation.tables import FILLS, SESSION, Part, Runs, Tables, find_runs
from pipeline.rule import Coverage, Level, Rule, Violation
from pipeline.rules.book_rules import portfolio_turnover, turnover_conventions
from pipeline.rules.table_rules import strictly_grouped
from pipeline.rules.target_rules import whole_shares
from pipeline.seal import Seal
from pipeline.seal.seal import LARGE_KINDS
from schemas.tables import TABLES
from schemas.tables.books import base_book
from schemas.tables.pnl import ADJUSTMENTS

PART_ROWS: Final = 1_500_000
"""Rows of all tables together in a part: about 200 MB, with what is computed of them."""

_GAP_ROWS: Final = 100_000
"""Longest gap between wanted rows that is decoded with them."""
_ORDER: Final = {"decisions": ("date",), "positions": SESSION, "pnl": SESSION, "trades": FILLS}
"""Table -> what its rows are grouped by."""

BY_SESSION: Final = frozenset({
    "positions.notional", "positions.weight", "positions.total", "positions.fills", "pnl.total", "pnl.market",
    "pnl.execution_cost", "pnl.borrow", "trades.session", "trades.reasons", "trades.cost", "trades.decision",
    "portfolio.cash_flow", "portfolio.execution_cost", "portfolio.exposure", "portfolio.turnover_notional",
    "portfolio.turnover",
})  # fmt: skip
"""Rules on one session of a book and on the holdings of the one before."""
BY_WEEK: Final = frozenset({
    "decisions.week", "decisions.untradeable", "decisions.pending", "decisions.long_only", "decisions.rank",
    "decisions.rank_order", "decisions.target", "decisions.fill_at", "decisions.forward_return",
    "decisions.sides",
})  # fmt: skip
"""Rules on one week and on the fills and holdings that follow from it."""
BY_DAY: Final = frozenset({"trades.one_price", "positions.one_price"})
"""Rules on one day of all books."""

_OF_WEEKS: Final = {
    "trades": (*FILLS, "symbol", "phase", "quantity", "mid_price"),
    "positions": (*SESSION, "symbol", "quantity"),
}
"""Table -> columns that the rules by week read."""
_OF_ADJUSTED_WEEKS: Final = {
    **_OF_WEEKS,
    "positions": (*_OF_WEEKS["positions"], "mark_price"),
    "pnl": (*SESSION, "symbol", *ADJUSTMENTS),
}
"""The same where shares and cash come without a fill, between the fills of a week and those of the next."""
_OF_DAYS: Final = {
    "trades": (*FILLS, "symbol", "mid_price"),
    "positions": (*SESSION, "symbol", "mark_price"),
}
"""Table -> columns that the rules by day read."""


class Undecided(Exception):
    """A rule is broken, or cannot be decided from parts: the run is checked at once in memory."""


@dataclass(frozen=True, slots=True)
class _Index:
    """Groups of rows of a table, and the session or week of each."""

    runs: Runs
    unit: Codes
    """Session or week of each group."""

    def rows(self, units: Codes) -> list[range]:
        """Return the rows of some sessions or weeks, as few ranges as possible, in the order of the table."""
        groups = np.flatnonzero(np.isin(self.unit, units))
        if not groups.size:
            return []
        first, last = self.runs.starts[groups], self.runs.starts[groups] + self.runs.lengths[groups]
        breaks = np.flatnonzero(first[1:] != last[:-1])
        begins, ends = (
            first[np.concatenate([[0], breaks + 1])],
            last[np.concatenate([breaks, [groups.size - 1]])],
        )
        return [range(int(a), int(b)) for a, b in zip(begins, ends, strict=True)]


def apply_in_parts(
    seal: Seal, small: Mapping[str, pl.DataFrame], rules: Iterable[Rule[Any]]
) -> tuple[list[Violation], dict[str, Coverage]]:
    """Apply rules part by part.

    Parameters
    ----------
    seal
        Read in parts.
    small
        Its other tables.
    rules
        Of the levels of a table and of a run; those that cannot be applied are left out already.

    Returns
    -------
    tuple
        The violations of rules that only warn, and what share of their rows rules compared, by rule.

    Raises
    ------
    Undecided
        When another one is broken, or is undecided.
    """
    rules, warnings = list(rules), []
    large = [kind for kind in LARGE_KINDS if seal.has(kind)]
    for kind in large:
        _require(_by_rows(seal, kind, [rule for rule in rules if rule.level is Level.TABLE]))
    run = {rule.id: rule for rule in rules if rule.level is Level.RUN}
    in_memory = [rule for rule in run.values() if not set(rule.kinds) & set(LARGE_KINDS)]
    for rule in in_memory:
        violation = rule(Tables(small, seal.equity_basis, seal.declared))
        if violation is not None:
            _require([rule.warns])
            warnings.append(violation)
    if {rule.id for rule in run.values()} - {rule.id for rule in in_memory} - BY_SESSION - BY_WEEK - BY_DAY:
        raise Undecided
    warning, coverage = _Parts(seal, small, large).require(run)
    for rule in warning:
        warnings += _of_columns(seal, rule)
    return warnings, coverage


def _of_columns(seal: Seal, rule: Rule[Any]) -> Iterator[Violation]:
    """Apply a rule that warns to in_memory columns of the one table that it reads."""
    kinds = set(rule.kinds)
    _require([len(kinds) == 1])
    (kind,) = kinds
    columns = (*TABLES[kind].key, *rule.needs.get(kind, ()), *rule.uses.get(kind, ()))
    frame = _frame(seal, kind, [range(seal.decode_height(kind))], columns)
    violation = rule(Tables({kind: frame}, seal.equity_basis, seal.declared))
    if violation is not None:
        yield violation


def _by_rows(seal: Seal, kind: str, rules: list[Rule[Any]]) -> Iterator[bool]:
    key = TABLES[kind].key
    for rows in _cut(seal.decode_height(kind), PART_ROWS):
        # With the row before, so that order is looked at across the cut as well.
        tables = Tables({kind: _frame(seal, kind, [range(max(0, rows.start - 1), rows.stop)])})
        if tables.has(kind, *key) and not strictly_grouped(kind, key, tables):
            raise Undecided
        yield all(rule(kind, tables) is None for rule in rules)


def read_columns(seal: Seal, kind: str, columns: tuple[str, ...]) -> Iterator[pl.DataFrame]:
    """Yield some columns of a table part by part; one part without rows where it has none."""
    for rows in list(_cut(seal.decode_height(kind), PART_ROWS)) or [range(0)]:
        yield _frame(seal, kind, [rows], columns).select(columns)


def runs_across(parts: Iterable[pl.DataFrame]) -> Runs:
    """Find the groups of rows of a table that comes in parts, at least one; a group may go on in the next part."""
    by_part = [find_runs(part) for part in parts]
    lengths = np.concatenate([runs.lengths for runs in by_part])
    joined = find_runs(pl.concat([runs.heads for runs in by_part]))
    lengths = np.add.reduceat(lengths, joined.starts) if lengths.size else lengths
    return Runs(joined.heads, np.cumsum(lengths) - lengths, lengths)


def _require(holds: Iterable[bool]) -> None:
    if not all(holds):
        raise Undecided


def _cut(height: int, size: int) -> Iterator[range]:
    return (range(start, min(start + size, height)) for start in range(0, height, size))


def _frame(seal: Seal, kind: str, rows: list[range], columns: tuple[str, ...] | None = None) -> pl.DataFrame:
    parts = []
    for some, places in _spans(rows):
        decoded = seal.part(kind, some, columns)
        if any(problem.stored != "absent" for problem in decoded.problems):
            raise Undecided
        parts.append(decoded.frame if places is None else decoded.frame[places])
    return pl.concat(parts) if len(parts) > 1 else parts[0]


def _spans(rows: list[range]) -> Iterator[tuple[range, Codes | None]]:
    """Yield spans to decode, and which of their rows are wanted: decoding a gap is cheaper than a second read."""
    span: list[range] = []
    for some in rows or [range(0)]:
        if span and (some.start - span[-1].stop > _GAP_ROWS or some.stop - span[0].start > PART_ROWS):
            yield _span(span)
            span = []
        span.append(some)
    yield _span(span)


def _span(rows: list[range]) -> tuple[range, Codes | None]:
    span = range(rows[0].start, rows[-1].stop)
    return span, None if len(rows) == 1 else np.concatenate(
        [np.arange(r.start, r.stop) for r in rows]
    ) - span.start


class _Parts:
    """The sessions and weeks of a run, and their rows."""

    def __init__(self, seal: Seal, small: Mapping[str, pl.DataFrame], large: list[str]) -> None:
        if "portfolio" not in small or "rebalances" not in small:
            raise Undecided
        self._seal, self._small = seal, small
        self._ledger = small["portfolio"].sort(SESSION)
        self._sessions = self._ledger.select(SESSION).with_row_index("session")
        self._index = {kind: self._indexed(kind) for kind in large}
        self._adjusted = "pnl" in large and bool({*ADJUSTMENTS} & {*_frame(seal, "pnl", [range(0)]).columns})

    def require(self, rules: Mapping[str, Rule[Any]]) -> tuple[list[Rule[Any]], dict[str, Coverage]]:
        """Apply the rules by session, by day and by week; Undecided when one that does not only warn is broken.

        Returns
        -------
        tuple
            The rules that warn, and what share of their rows rules compared, by rule.
        """
        fitting: set[str] | None = None
        only_whole_shares = True
        for first, last in self._session_parts():
            tables = self._of_sessions(first, last)
            for id_ in sorted(BY_SESSION & set(rules)):
                if id_ == portfolio_turnover.id:
                    conventions = turnover_conventions(tables)
                    fitting = conventions if fitting is None else fitting & conventions
                else:
                    _require([rules[id_](tables) is None])
            if tables.has("positions", "quantity"):
                only_whole_shares = only_whole_shares and whole_shares(
                    tables["positions"]["quantity"].to_numpy()
                )
        _require([fitting is None or bool(fitting)])
        for tables in self._day_parts() if BY_DAY & set(rules) else ():
            _require(rules[id_](tables) is None for id_ in sorted(BY_DAY & set(rules)))
        warning: dict[str, Rule[Any]] = {}
        coverage: dict[str, Coverage] = {}
        for weeks in self._week_parts():
            tables = self._of_weeks(weeks, only_whole_shares=only_whole_shares)
            for id_ in sorted((BY_WEEK & set(rules)) - set(warning)):
                violation, share = rules[id_].apply(tables)
                if violation is not None:
                    _require([rules[id_].warns])
                    warning[id_] = rules[id_]
                if share is not None:
                    coverage[id_] = coverage[id_] + share if id_ in coverage else share
        return list(warning.values()), coverage

    def _indexed(self, kind: str) -> _Index:
        """Find the groups of rows of a table; Undecided where they are not in the order that parts need."""
        key = _ORDER[kind]
        runs = runs_across(read_columns(self._seal, kind, key))
        if TABLES[kind].key and kind != "trades" and runs.heads.is_duplicated().any():
            raise Undecided
        if kind == "decisions":
            unit = runs.heads["date"].to_physical().to_numpy().astype(np.int64)
        else:
            unit = self._sessions_of(kind, runs.heads)
        return _Index(runs, unit)

    def _sessions_of(self, kind: str, heads: pl.DataFrame) -> Codes:
        if kind == "trades":
            base = {book: base_book(book) for book in heads["book"].unique()}
            heads = heads.select(
                book=pl.col("book").replace_strict(base, return_dtype=pl.String),
                date=pl.col("timestamp").dt.date(),
            )
        sessions = heads.join(self._sessions, on=SESSION, how="left", maintain_order="left")["session"]
        if sessions.null_count():
            raise Undecided
        return sessions.to_numpy().astype(np.int64)

    def _session_parts(self) -> Iterator[tuple[int, int]]:
        rows = np.zeros(self._sessions.height, np.int64)
        for kind, index in self._index.items():
            if kind != "decisions":
                np.add.at(rows, index.unit, index.runs.lengths)
        first = rows_in_part = 0
        for session, size in enumerate(rows.tolist()):
            if rows_in_part and rows_in_part + size > PART_ROWS:
                yield first, session
                first, rows_in_part = session, 0
            rows_in_part += size
        if first < rows.size:
            yield first, rows.size

    def _of_sessions(self, first: int, last: int) -> Tables:
        """Return the tables of some sessions, and of the one before where its book goes on."""
        book = self._ledger["book"]
        context = int(first > 0 and book[first] == book[first - 1])
        units = np.arange(first - context, last)
        frames = {
            kind: _frame(self._seal, kind, index.rows(units))
            for kind, index in self._index.items()
            if kind != "decisions"
        }
        ledger = self._ledger[first - context : last]
        return self._tables({**frames, "portfolio": ledger}, Part(context=context))

    def _day_parts(self) -> Iterator[Tables]:
        """Yield the fills and positions of all books on some days, one after the other."""
        kinds = {kind: columns for kind, columns in _OF_DAYS.items() if kind in self._index}
        days, day = np.unique(self._sessions["date"].to_physical().to_numpy(), return_inverse=True)
        rows = np.zeros(days.size, np.int64)
        for kind in kinds:
            np.add.at(rows, day[self._index[kind].unit], self._index[kind].runs.lengths)
        part = np.cumsum(rows) // max(1, PART_ROWS)
        for number in np.unique(part):
            units = np.flatnonzero(part[day] == number)
            yield self._tables(
                {
                    kind: _frame(self._seal, kind, self._index[kind].rows(units), columns)
                    for kind, columns in kinds.items()
                },
                Part(),
            )

    def _week_parts(self) -> Iterator[Codes]:
        if "decisions" not in self._index:
            return
        index = self._index["decisions"]
        rows = index.runs.lengths
        if self._adjusted:
            # With the sessions up to the fills of the next week, all books together.
            held = np.zeros(self._ledger.height, np.int64)
            for kind in ("positions", "pnl"):
                if kind in self._index:
                    np.add.at(held, self._index[kind].unit, self._index[kind].runs.lengths)
            days = self._sessions["date"].to_physical().to_numpy()
            after = np.searchsorted(np.unique(index.unit), days, side="right") - 1
            weeks = np.bincount(after[after >= 0], weights=held[after >= 0], minlength=index.unit.size)
            rows = rows + 2 * weeks[np.searchsorted(np.unique(index.unit), index.unit)].astype(np.int64)
        part = np.cumsum(rows) // max(1, PART_ROWS // 2)
        for number in np.unique(part):
            yield index.unit[part == number]

    def _of_weeks(self, weeks: Codes, *, only_whole_shares: bool) -> Tables:
        """Return the decisions of some weeks, the fills that name them or end them, and all that lies on their days."""
        frames = {"decisions": _frame(self._seal, "decisions", self._index["decisions"].rows(weeks))}
        moments = None
        if "trades" in self._index:
            fills = self._index["trades"]
            moments = fills.runs.heads
            calendar = np.unique(self._small["rebalances"]["date"].to_physical().to_numpy())
            after = np.searchsorted(calendar, weeks, side="right")
            named = np.isin(
                moments["decision_at"].to_physical().to_numpy(),
                np.concatenate([weeks, calendar[after[after < calendar.size]]]),
            )
            for instant in ("entry_at", "maturity_at"):
                if instant in frames["decisions"].columns:
                    named |= (
                        moments["timestamp"].is_in(frames["decisions"][instant].unique().implode()).to_numpy()
                    )
            days = np.unique(fills.unit[named])
            wanted = _OF_WEEKS
            if self._adjusted and days.size:
                dates = self._sessions["date"].to_physical().to_numpy()
                span = dates[days]
                wanted, days = (
                    _OF_ADJUSTED_WEEKS,
                    np.flatnonzero((dates >= span.min()) & (dates <= span.max())),
                )
            frames |= {
                kind: _frame(self._seal, kind, self._index[kind].rows(days), columns)
                for kind, columns in wanted.items()
                if kind in self._index
            }
        return self._tables(frames, Part(moments=moments, whole_shares=only_whole_shares))

    def _tables(self, frames: Mapping[str, pl.DataFrame], part: Part) -> Tables:
        return Tables({**self._small, **frames}, self._seal.equity_basis, self._seal.declared, part)
