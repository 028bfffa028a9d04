"""Research figures of a run (one document per family) and luck figures, from its published tables."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict
from typing import Any, Final

import numpy as np
import polars as pl

from datasets.figure_data import dates_of, floats_of, ledger_of, trials_of, weekly_ic_of
from datasets.figures.concentration import concentration
from datasets.figures.costs import Flows, costs
from datasets.figures.luck import LUCK, SEALED_BOOKS, measure
from datasets.figures.luck_evidence import EVERYTHING, Evidence, LuckQuery
from datasets.figures.luck_trials import searched_combinations
from datasets.figures.risk import risk
from datasets.figures.series import observed
from datasets.figures.signal import DeliveredSignal, signal_quality
from datasets.figures.unavailable import MISSING_KIND, Unavailable
from datasets.figures.withheld import settle, withheld_payload
from pipeline.maths.delivered_signal import delivered_signal
from pipeline.snapshot_builder.by_side import BySide
from pipeline.snapshot_builder.ledgers import Books
from schemas.metrics.families import FAMILIES, WHOLE_RUN

_FLOWS: Final = (
    *("starting_equity", "ending_equity", "market_pnl", "execution_cost", "borrow_cashflow"),
    *("risk_free_return", "turnover_notional", "turnover"),
)
"""Columns of the ledger, in the field order of :class:`~datasets.figures.costs.Flows`."""
Document = dict[str, dict[str, Any]]
"""Book, or :data:`schemas.metrics.families.WHOLE_RUN` -> the object served."""


def book_figures(
    portfolio: Books, sides: Mapping[str, BySide], kinds: Collection[str]
) -> dict[str, Document]:
    """Compute the figures of the books.

    Parameters
    ----------
    portfolio
        The published ledger of each book.
    sides
        Book -> its positions and P&L.
    kinds
        Kinds that the run sealed.

    Returns
    -------
    dict
        Family -> its document.
    """
    return {
        "costs": {book: _costs(book, rows) for book, rows in portfolio.items()},
        "concentration": {
            book: _concentration(book, rows, sides[book], kinds) for book, rows in portfolio.items()
        },
        "risk": {book: _risk(book, rows) for book, rows in portfolio.items()},
    }


def luck_figures(
    portfolio: Books,
    weeks: pl.DataFrame | None,
    trials: pl.DataFrame | None,
    alpha_id: str,
    description: Mapping[str, Any] | None,
) -> dict[str, Document]:
    """Compute the luck figures of the complete run, for the books of :data:`datasets.figures.luck.SEALED_BOOKS`.

    Parameters
    ----------
    portfolio
        The published ledger of each book.
    weeks, trials
        ``weekly_signal`` and ``trials`` as published; None if the run lacks the table.
    alpha_id
        Alpha, which seeds the random numbers.
    description
        As sealed; None if the run sealed none.
    """
    weekly, returns = weekly_ic_of(weeks), trials_of(trials)
    searched = searched_combinations((description or {}).get("parameters"))
    evidence = {
        book: Evidence(alpha_id, ledger_of(portfolio[book]), weekly, searched, returns)
        for book in SEALED_BOOKS
        if book in portfolio
    }
    return {LUCK: {book: asdict(measure(x, LuckQuery(book, EVERYTHING))) for book, x in evidence.items()}}


def signal_figures(weeks: DeliveredSignal | Unavailable) -> dict[str, Document]:
    """Compute the figures of the delivered score; `weeks` may be the reason why there are none."""
    if isinstance(weeks, Unavailable):
        return {"signal": {WHOLE_RUN: withheld_payload(FAMILIES["signal"].payload, weeks)}}
    known = weeks.date[~np.isnan(weeks.ic_by_delay[0])]
    return {"signal": {WHOLE_RUN: _object("signal", {**observed(known), **signal_quality(weeks)})}}


def measure_signal(
    weeks: pl.DataFrame | None, decisions: pl.DataFrame | None, raw_deciles: pl.DataFrame | None
) -> DeliveredSignal | Unavailable:
    """Compute the weekly figures of the delivered score.

    Parameters
    ----------
    weeks, decisions, raw_deciles
        ``weekly_signal``, ``decisions`` and ``weekly_deciles`` as published; None if the run lacks the table.
    """
    if weeks is None or decisions is None:
        kind = "decisions" if decisions is None else "rebalances"
        return Unavailable(MISSING_KIND, f"the run holds no {kind}", kind)
    if "forward_return" not in decisions.columns:
        return Unavailable("forward_returns_absent", "the run recorded no forward returns")
    return delivered_signal(weeks, decisions, raw_deciles)


def _costs(book: str, rows: pl.DataFrame) -> dict[str, Any]:
    return _object(
        "costs",
        {
            "book": book,
            **observed(dates_of(rows)),
            **costs(Flows(*(floats_of(rows, name) for name in _FLOWS))),
        },
    )


def _concentration(book: str, rows: pl.DataFrame, sides: BySide, kinds: Collection[str]) -> dict[str, Any]:
    unavailable = {
        kind: Unavailable(MISSING_KIND, f"the run holds no {kind}", kind)
        for kind in ("positions", "pnl")
        if kind not in kinds
    }
    date = dates_of(rows)
    figures = concentration(
        date,
        floats_of(rows, "starting_equity"),
        floats_of(rows, "ending_equity"),
        unavailable.get("positions") or sides.holdings(),
        unavailable.get("pnl") or sides.profit(),
    )
    return _object("concentration", {"book": book, **observed(date), **figures})


def _risk(book: str, rows: pl.DataFrame) -> dict[str, Any]:
    date, starting, ending = (
        dates_of(rows),
        floats_of(rows, "starting_equity"),
        floats_of(rows, "ending_equity"),
    )
    return _object("risk", {"book": book, **observed(date), **risk(date, starting, ending)})


def _object(family: str, figures: Mapping[str, Any]) -> dict[str, Any]:
    """Return the stored object of a family, its members in declared order."""
    declared = (field.name for field in FAMILIES[family].payload.fields if field.name != "withheld")
    return settle({name: figures[name] for name in declared})
