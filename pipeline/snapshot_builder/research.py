"""Research figures of a run (one document per family) and luck figures, from its published tables."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict
from typing import Any, Final

import numpy as np
import polars as pl

from datasets.figure_data import dates_of, floats_of, ledger_of, trials_of, weekly_ic_of
from datasets.figures.concentration import concentration
from datasets.figures.costs import Flows, costs
from datasets.figures.luck import LUCK, SEALED_BOOKS, measure
from datasets.figures.luck_evidence import Evidence, LuckQuery
from datasets.figures.luck_trials import searched_combinations
from datasets.figures.risk import risk
from datasets.figures.series import Floats, observed
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
        "costs": _by_book("costs", portfolio, lambda _, rows: _costs(rows)),
        "concentration": _by_book(
            "concentration", portfolio, lambda book, rows: _concentration(rows, sides[book], kinds)
        ),
        "risk": _by_book("risk", portfolio, lambda _, rows: risk(dates_of(rows), *_equity(rows))),
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
    return {LUCK: {book: asdict(measure(x, LuckQuery(book))) for book, x in evidence.items()}}


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


def _by_book(
    family: str, portfolio: Books, figures: Callable[[str, pl.DataFrame], Mapping[str, Any]]
) -> Document:
    """Compute the object of each book from its ledger."""
    return {
        book: _object(family, {"book": book, **observed(dates_of(rows)), **figures(book, rows)})
        for book, rows in portfolio.items()
    }


def _costs(rows: pl.DataFrame) -> Mapping[str, Any]:
    return costs(Flows(*(floats_of(rows, name) for name in _FLOWS)))


def _equity(rows: pl.DataFrame) -> tuple[Floats, Floats]:
    return floats_of(rows, "starting_equity"), floats_of(rows, "ending_equity")


def _concentration(rows: pl.DataFrame, sides: BySide, kinds: Collection[str]) -> Mapping[str, Any]:
    unavailable = {
        kind: Unavailable(MISSING_KIND, f"the run holds no {kind}", kind)
        for kind in ("positions", "pnl")
        if kind not in kinds
    }
    holdings = unavailable.get("positions") or sides.holdings()
    profit = unavailable.get("pnl") or sides.profit()
    return concentration(dates_of(rows), *_equity(rows), holdings, profit)


def _object(family: str, figures: Mapping[str, Any]) -> dict[str, Any]:
    """Return the stored object of a family, its members in declared order."""
    declared = (field.name for field in FAMILIES[family].payload.fields if field.name != "withheld")
    return settle({name: figures[name] for name in declared})
