"""Research figures of a run, a document a family, from its tables as they are published."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import polars as pl

from datasets.figures.costs import Flows, costs
from datasets.figures.equity import day
from datasets.figures.risk import risk
from datasets.figures.series import Dates
from datasets.figures.withheld import settle
from pipeline.snapshot_builder.ledgers import Books

_FLOWS: Final = (
    *("starting_equity", "ending_equity", "market_pnl", "execution_cost", "borrow_cashflow"),
    *("risk_free_return", "turnover_notional", "turnover"),
)
"""Columns of the ledger, in the order of :class:`~datasets.figures.costs.Flows`."""
Document = dict[str, dict[str, Any]]
"""Book, or :data:`schemas.metrics.families.WHOLE_RUN` -> the object served."""


def of_ledgers(portfolio: Books) -> dict[str, Document]:
    """Measure what follows from the ledgers alone.

    Parameters
    ----------
    portfolio
        The published ledger of each book.

    Returns
    -------
    dict
        Family -> its document.
    """
    return {
        "costs": {book: _costs(book, rows) for book, rows in portfolio.items()},
        "risk": {book: _risk(book, rows) for book, rows in portfolio.items()},
    }


def of_frames(frames: Mapping[tuple[str, str | None], pl.DataFrame]) -> dict[str, Document]:
    """Measure a run from its published tables.

    Parameters
    ----------
    frames
        Dataset and book -> rows.
    """
    portfolio = {book: rows for (dataset, book), rows in frames.items() if dataset == "portfolio" and book}
    return of_ledgers(portfolio)


def _costs(book: str, rows: pl.DataFrame) -> dict[str, Any]:
    return settle(
        {"book": book, **_span(_dates(rows)), **costs(Flows(*(_floats(rows, name) for name in _FLOWS)))}
    )


def _risk(book: str, rows: pl.DataFrame) -> dict[str, Any]:
    date, starting, ending = _dates(rows), _floats(rows, "starting_equity"), _floats(rows, "ending_equity")
    return settle({"book": book, **_span(date), **risk(date, starting, ending)})


def _span(date: Dates) -> dict[str, Any]:
    ends = {"first_date": 0, "last_date": -1}
    return {
        "observations": int(date.size),
        **{name: day(date, place).isoformat() if date.size else None for name, place in ends.items()},
    }


def _dates(rows: pl.DataFrame) -> Dates:
    return rows["date"].to_numpy().astype("datetime64[D]")


def _floats(rows: pl.DataFrame, column: str) -> Any:
    return rows[column].cast(pl.Float64).fill_null(float("nan")).to_numpy()
