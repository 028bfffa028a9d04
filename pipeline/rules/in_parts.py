"""The rules on a run too large for memory: some days at a time, with the state carried over from other days.

This path can only establish that every rule holds. If a refusing rule is broken, or cannot be decided from parts, the run
is checked again as a whole in memory, so that reports do not depend on the path.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl

from pipeline.reconciliation.fills import FILLS, fill_sessions
from pipeline.reconciliation.grid import Codes, Flags
from pipeline.reconciliation.row_ranges import RowRanges, day_numbers, find_row_ranges
from pipeline.reconciliation.tables import SESSION, Part, Tables
from pipeline.rule import Coverage, Finding, Rule
from pipeline.rules.book_rules import portfolio_turnover, turnover_conventions
from pipeline.rules.target_rules import whole_shares
from pipeline.seal import Seal
from pipeline.seal.seal import LARGE_KINDS
from schemas.tables import TABLES

PART_ROWS: Final = 1_500_000
"""Rows of all tables in one part: about 200 MB including intermediate results."""
_MAX_RANGES: Final = 1_000
"""Maximum ranges of rows per part; an unsorted table has more."""
_ORDER: Final = {"decisions": ("date",), "positions": SESSION, "pnl": SESSION, "trades": FILLS}
"""Table -> columns that group its rows."""


class Undecided(Exception):
    """A rule is broken, or cannot be decided from parts, so the run must be checked as a whole in memory."""


def apply_in_parts(
    seal: Seal,
    small: Mapping[str, pl.DataFrame],
    table_rules: list[Rule[Any]],
    run_rules: list[Rule[Any]],
) -> tuple[list[Finding], dict[str, Coverage]]:
    """Apply rules part by part.

    Parameters
    ----------
    seal
        A seal that is read in parts.
    small
        Kind -> frame, for its tables that are not large.
    table_rules, run_rules
        Applicable rules on one table, and on several.

    Returns
    -------
    tuple
        Findings of rules that only warn; and coverage by rule id.

    Raises
    ------
    Undecided
        When any other rule is broken, or cannot be decided from parts.
    """
    if "portfolio" not in small or "rebalances" not in small:
        raise Undecided
    large = [kind for kind in LARGE_KINDS if seal.has(kind)]
    on_large = [rule for rule in run_rules if set(rule.kinds) & set(LARGE_KINDS)]
    warnings = []
    coverage: dict[str, Coverage] = {}
    for rule in (rule for rule in run_rules if rule not in on_large):
        finding, share = rule.apply(Tables(small, seal.equity_basis, seal.declared))
        if finding is not None:
            _require(rule.warns)
            warnings.append(finding)
        if share is not None:
            coverage[rule.id] = share
    warned, by_days = _by_days(_Days(seal, small, large), large, table_rules, on_large)
    warnings += [finding for rule in warned for finding in _apply_to_columns(seal, rule)]
    return warnings, coverage | by_days


def _by_days(
    days: _Days, large: list[str], table_rules: list[Rule[Any]], run_rules: list[Rule[Any]]
) -> tuple[list[Rule[Any]], dict[str, Coverage]]:
    """Apply rules to each part; return the warning rules that are broken, and the coverage by rule id."""
    coverage: dict[str, Coverage] = {}
    fitting: set[str] | None = None
    warned: list[Rule[Any]] = []
    for tables in days.parts():
        _require(all(rule(kind, tables) is None for kind in large for rule in table_rules))
        for rule in run_rules:
            if rule.id == portfolio_turnover.id:
                conventions = turnover_conventions(tables)
                fitting = conventions if fitting is None else fitting & conventions
                _require(bool(fitting))
            elif rule not in warned:
                finding, share = rule.apply(tables)
                if finding is not None:
                    _require(rule.warns)
                    warned.append(rule)
                if share is not None:
                    coverage[rule.id] = coverage[rule.id] + share if rule.id in coverage else share
    return warned, coverage


def _apply_to_columns(seal: Seal, rule: Rule[Any]) -> Iterator[Finding]:
    """Apply a warning rule to all rows of its single table, reading only its columns."""
    _require(len(rule.kinds) == 1)
    (kind,) = rule.kinds
    columns = (*TABLES[kind].key, *rule.needs.get(kind, ()), *rule.uses.get(kind, ()))
    frame = _frame(seal, kind, [range(seal.decode_height(kind))], columns)
    finding = rule(Tables({kind: frame}, seal.equity_basis, seal.declared))
    if finding is not None:
        yield finding


def read_columns(seal: Seal, kind: str, columns: tuple[str, ...]) -> Iterator[pl.DataFrame]:
    """Yield some columns of a table part by part; a single empty part if it has no rows."""
    height = seal.decode_height(kind)
    for start in range(0, height, PART_ROWS) or [0]:
        rows = range(start, min(start + PART_ROWS, height))
        yield _frame(seal, kind, [rows], columns).select(columns)


def merge_row_ranges(parts: Iterable[pl.DataFrame]) -> RowRanges:
    """Find the row ranges of a table that comes in one or more parts; a range may continue in the next part."""
    part_ranges = [find_row_ranges(part) for part in parts]
    lengths = np.concatenate([ranges.lengths for ranges in part_ranges])
    joined = find_row_ranges(pl.concat([ranges.heads for ranges in part_ranges]))
    lengths = np.add.reduceat(lengths, joined.starts) if lengths.size else lengths
    return RowRanges(joined.heads, np.cumsum(lengths) - lengths, lengths)


def _require(condition: bool) -> None:
    if not condition:
        raise Undecided


def _frame(seal: Seal, kind: str, rows: list[range], columns: tuple[str, ...] | None = None) -> pl.DataFrame:
    """Decode ranges of rows."""
    _require(len(rows) <= _MAX_RANGES)
    parts = [seal.part(kind, block, columns) for block in rows or [range(0)]]
    _require(all(problem.stored == "absent" for part in parts for problem in part.problems))
    return pl.concat([part.frame for part in parts])


@dataclass(frozen=True, slots=True)
class _Groups:
    """Groups of rows of a table, and the session of each group (the day for decisions)."""

    ranges: RowRanges
    unit: Codes

    def rows(self, selected: Flags) -> list[range]:
        """Return the rows of the selected groups as the fewest possible ranges, in table order."""
        groups = np.flatnonzero(selected)
        adjacent = np.split(groups, np.flatnonzero(np.diff(groups) > 1) + 1)
        starts, ends = self.ranges.starts, self.ranges.starts + self.ranges.lengths
        return [range(int(starts[own[0]]), int(ends[own[-1]])) for own in adjacent if own.size]


class _Days:
    """The days of a run, and the rows of its tables on them."""

    def __init__(self, seal: Seal, small: Mapping[str, pl.DataFrame], large: list[str]) -> None:
        self._seal, self._small = seal, small
        self._sessions = small["portfolio"].select(SESSION).sort(SESSION).with_row_index("session")
        self._days = day_numbers(self._sessions["date"])
        self._groups = {kind: self._find_groups(kind) for kind in large}

    def parts(self) -> Iterator[Tables]:
        """Yield the tables of consecutive days, every day once, with the other sessions that they need."""
        moments = self._groups["trades"].ranges.heads if "trades" in self._groups else None
        quantities = (
            read_columns(self._seal, "positions", ("quantity",)) if "positions" in self._groups else ()
        )
        whole_shares_only = all(whole_shares(part["quantity"].to_numpy()) for part in quantities)
        for first, last in self._spans():
            own = (self._days >= first) & (self._days <= last)
            needed = own.copy()
            needed[:-1] |= own[1:]  # the previous session
            frames = {}
            if "decisions" in self._groups:
                groups = self._groups["decisions"]
                frames["decisions"] = self._read("decisions", (groups.unit >= first) & (groups.unit <= last))
                if moments is not None:
                    filled = self._days[own | self._sessions_of_fills(frames["decisions"], moments)]
                    if filled.size:
                        needed |= (self._days >= filled.min()) & (self._days <= filled.max())
            for kind, groups in self._groups.items():
                if kind != "decisions":
                    frames[kind] = self._read(kind, needed[groups.unit])
            part = Part((first, last), moments, whole_shares_only)
            yield Tables({**self._small, **frames}, self._seal.equity_basis, self._seal.declared, part)

    def _spans(self) -> Iterator[tuple[int, int]]:
        """Yield first and last day of each part."""
        group_days = [
            groups.unit if kind == "decisions" else self._days[groups.unit]
            for kind, groups in self._groups.items()
        ]
        sizes = [groups.ranges.lengths for groups in self._groups.values()]
        days, place = np.unique(np.concatenate([*group_days, self._days]), return_inverse=True)
        rows = np.bincount(place, weights=np.concatenate([*sizes, np.zeros(self._days.size)]))
        part = np.cumsum(rows) // PART_ROWS
        for number in np.unique(part):
            own = days[part == number]
            yield int(own[0]), int(own[-1])

    def _sessions_of_fills(self, decisions: pl.DataFrame, moments: pl.DataFrame) -> Flags:
        """Return the sessions of the fills that start or end the forward returns of decisions."""
        weeks = np.unique(day_numbers(decisions["date"]))
        calendar = np.unique(day_numbers(self._small["rebalances"]["date"]))
        after = np.searchsorted(calendar, weeks, side="right")
        weeks = np.concatenate([weeks, calendar[after[after < calendar.size]]])
        matching = np.isin(day_numbers(moments["decision_at"]), weeks)
        for instant in ("entry_at", "maturity_at"):
            if instant in decisions.columns:
                matching |= moments["timestamp"].is_in(decisions[instant].unique().implode()).to_numpy()
        filled = np.zeros(self._days.size, np.bool_)
        filled[self._groups["trades"].unit[matching]] = True
        return filled

    def _read(self, kind: str, selected: Flags) -> pl.DataFrame:
        return _frame(self._seal, kind, self._groups[kind].rows(selected))

    def _find_groups(self, kind: str) -> _Groups:
        """Find the groups of rows of a table; raise Undecided if they are not in the order that parts require."""
        ranges = merge_row_ranges(read_columns(self._seal, kind, _ORDER[kind]))
        _require(not any(column.null_count() for column in ranges.heads))
        _require(kind == "trades" or not ranges.heads.is_duplicated().any())
        if kind == "decisions":
            return _Groups(ranges, day_numbers(ranges.heads["date"]))
        heads = fill_sessions(ranges.heads) if kind == "trades" else ranges.heads
        sessions = heads.join(self._sessions, on=SESSION, how="left", maintain_order="left")["session"]
        _require(not sessions.null_count())
        return _Groups(ranges, sessions.to_numpy().astype(np.int64))
