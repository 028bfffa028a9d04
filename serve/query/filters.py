"""Conditions on rows."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from schemas.table import Column
from schemas.units import Type
from serve.query.sql import Statement, quoted


def window(column: Column, first: dt.date | None, last: dt.date | None) -> list[Statement]:
    """Keep rows from one day to another, both inclusive.

    Parameters
    ----------
    column
        A day, or an instant, of which the day in UTC counts.
    first, last
        None leaves that end open.
    """
    name = quoted(column.name)
    if column.type is not Type.TIMESTAMP:
        ends = ((">=", first), ("<=", last))
        return [Statement(f"{name} {sign} ?", (day,)) for sign, day in ends if day is not None]
    found = []
    if first is not None:
        found.append(Statement(f"{name} >= ?", (_midnight(first),)))
    if last is not None and last < dt.date.max:  # no day follows the last one, and no row either
        found.append(Statement(f"{name} < ?", (_midnight(last + dt.timedelta(days=1)),)))
    return found


def tickers(column: Column, symbols: Sequence[str] | None) -> list[Statement]:
    """Keep the rows of some names; None keeps all."""
    if symbols is None:
        return []
    marks = ", ".join("?" * len(symbols))
    return [Statement(f"{quoted(column.name)} IN ({marks})", tuple(symbols))]


def equals(column: Column, value: object) -> list[Statement]:
    """Keep rows with one value; None keeps all."""
    return [] if value is None else [Statement(f"{quoted(column.name)} = ?", (value,))]


def at_least_in_size(column: Column, least: float | None) -> list[Statement]:
    """Keep rows whose absolute value is not below a bound; None keeps all."""
    return [] if least is None else [Statement(f"abs({quoted(column.name)}) >= ?", (least,))]


def _midnight(day: dt.date) -> dt.datetime:
    return dt.datetime.combine(day, dt.time(), dt.UTC)
