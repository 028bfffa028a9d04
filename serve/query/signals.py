"""Queries over the rebalance index and the weekly cross-sections."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Mapping
from typing import Any, Final, NamedTuple

from schemas.rows import ROWS, RowModel
from schemas.tables import TABLES
from serve.query import filters
from serve.query.sql import (
    Paged,
    Statement,
    order_of,
    paged,
    projection,
    quoted,
    selected,
    source,
    stored_order,
    stretch,
)

_INDEX: Final = TABLES["rebalances"]
_DECISIONS: Final = TABLES["decisions"]
_SORT_COLUMNS: Final = {"score": "score", "rank": "average_rank", "symbol": "symbol"}
FIGURES: Final = (
    "direction",
    "score",
    "average_rank",
    *(column.name for column in _DECISIONS if column.name.endswith("_target_weight") and not column.raw),
)
"""Numbers a week's rows are filtered and sorted by."""
USUAL_SORT: Final = "score"
"""The figure a week is sorted by unless the request says otherwise, largest first."""
_FALLING: Final = frozenset({"score", "weight"})
"""What sorts descending unless the request says otherwise."""


def weight_column(book: str) -> str:
    """Name the target weight of a book."""
    return f"{book}_target_weight"


class WeekFilter(NamedTuple):
    """Which rows of a week are asked for, and in which order.

    Attributes
    ----------
    symbols, direction, min_abs_weight
        None leaves a condition out; a null meets none.
    weight
        The column `min_abs_weight` bounds.
    sort
        The column sorted by. Nulls come last either way, and ties by ascending name.
    falling
        Whether the largest comes first.
    """

    symbols: tuple[str, ...] | None
    direction: int | None
    weight: str
    min_abs_weight: float | None
    sort: str
    falling: bool


def conditions(values: Mapping[str, Any]) -> WeekFilter:
    """Say what the parameters of a week's cross-section come to."""
    weight, sort, direction = weight_column(values["book"]), values["sort"], values["direction"]
    return WeekFilter(
        symbols=values["symbol"],
        direction=None if direction is None else int(direction),
        weight=weight,
        min_abs_weight=values["min_abs_weight"],
        sort=weight if sort == "weight" else _SORT_COLUMNS[sort],
        falling=sort in _FALLING if values["order"] is None else values["order"] == "desc",
    )


def weeks(file: str, present: Collection[str], values: Mapping[str, Any], *, raw: bool, rows: int) -> Paged:
    """Return the query of a page of the rebalance index; `rows` is how many the file holds."""
    columns, table = projection(ROWS["rebalance"], present, raw=raw), source(file)
    conditions = filters.window(_INDEX["date"], values["from"], values["to"])
    order = stored_order(_INDEX)
    page = {"limit": values["limit"], "offset": values["offset"]}
    if not conditions:
        return stretch(columns, table, order, first=0, total=rows, **page)
    return paged(columns, table, conditions, order, **page)


def all_weeks(file: str, present: Collection[str]) -> Statement:
    """Return the query of the whole index: day, status, and names where they were counted."""
    chosen = [quoted(column.name) for column in _INDEX if column.name in present]
    return selected(Statement(", ".join(chosen)), source(file), [], stored_order(_INDEX))


def cross_section(
    file: str, present: Collection[str], values: Mapping[str, Any], *, raw: bool, date: dt.date, names: int
) -> Paged:
    """Return the query of a page of one week's decisions.

    Parameters
    ----------
    values
        Parsed parameters of the route: filters, sort, order and page.
    date
        The week.
    names
        Rows of the week before any filter.
    """
    wanted = conditions(values)
    narrowing = [
        *filters.tickers(_DECISIONS["symbol"], wanted.symbols),
        *filters.equals(_DECISIONS["direction"], wanted.direction),
        *filters.at_least_in_size(_DECISIONS[wanted.weight], wanted.min_abs_weight),
    ]
    terms = [(wanted.sort, wanted.falling), ("symbol", False)]
    return paged(
        projection(ROWS["decision"], present, raw=raw),
        source(file),
        [*filters.equals(_DECISIONS["date"], date), *narrowing],
        order_of(*(terms[:1] if wanted.sort == "symbol" else terms)),
        limit=values["limit"],
        offset=values["offset"],
        total=None if narrowing else names,
    )


def panel_row(values: Mapping[str, Any]) -> RowModel:
    """Return what a row of the panel shows."""
    return ROWS["score" if values["fields"] == "core" else "score_all"]


def panel(
    file: str,
    present: Collection[str],
    values: Mapping[str, Any],
    *,
    raw: bool,
    window: tuple[int, int] | None,
) -> Paged:
    """Return the query of a page of the score panel.

    Parameters
    ----------
    window
        Number of the first row of the requested days in the file, and how many rows they have; None when
        that is not known.
    """
    columns, table, order = (
        projection(panel_row(values), present, raw=raw),
        source(file),
        stored_order(_DECISIONS),
    )
    page = {"limit": values["limit"], "offset": values["offset"]}
    if values["symbol"] is None and window is not None:
        return stretch(columns, table, order, first=window[0], total=window[1], **page)
    conditions = [
        *filters.window(_DECISIONS["date"], values["from"], values["to"]),
        *filters.tickers(_DECISIONS["symbol"], values["symbol"]),
    ]
    return paged(columns, table, conditions, order, **page)
