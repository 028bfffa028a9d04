"""Queries over the rebalance index and the weekly cross-sections."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Mapping
from typing import Any, Final

from schemas.rows import ROWS
from schemas.tables import TABLES
from serve.query import filters
from serve.query.statement import (
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
_FALLING: Final = frozenset({"score", "weight"})
"""What sorts descending unless the request says otherwise."""


def weight_column(book: str) -> str:
    """Name the target weight of a book."""
    return f"{book}_target_weight"


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
    weight = _DECISIONS[weight_column(values["book"])]
    direction = values["direction"]
    narrowing = [
        *filters.tickers(_DECISIONS["symbol"], values["symbol"]),
        *filters.equals(_DECISIONS["direction"], None if direction is None else int(direction)),
        *filters.at_least_in_size(weight, values["min_abs_weight"]),
    ]
    sort = values["sort"]
    falling = sort in _FALLING if values["order"] is None else values["order"] == "desc"
    column = weight.name if sort == "weight" else _SORT_COLUMNS[sort]
    terms = [(column, falling), ("symbol", False)]
    return paged(
        projection(ROWS["decision"], present, raw=raw),
        source(file),
        [*filters.equals(_DECISIONS["date"], date), *narrowing],
        order_of(*(terms[:1] if sort == "symbol" else terms)),
        limit=values["limit"],
        offset=values["offset"],
        total=None if narrowing else names,
    )


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
    model = ROWS["score" if values["fields"] == "core" else "score_all"]
    columns, table, order = projection(model, present, raw=raw), source(file), stored_order(_DECISIONS)
    page = {"limit": values["limit"], "offset": values["offset"]}
    if values["symbol"] is None and window is not None:
        return stretch(columns, table, order, first=window[0], total=window[1], **page)
    conditions = [
        *filters.window(_DECISIONS["date"], values["from"], values["to"]),
        *filters.tickers(_DECISIONS["symbol"], values["symbol"]),
    ]
    return paged(columns, table, conditions, order, **page)
