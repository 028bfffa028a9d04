"""The run's own figures, recomputed from the sealed tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cache, partial
from typing import Any, Final

import numpy as np
import polars as pl

from datasets.figure_data import dates_of, floats_of
from datasets.figures.periods import PERIOD_UNITS
from datasets.figures.series import Dates, cut
from pipeline.reconciliation.conventions import CONVENTIONS, FROM_DECISIONS, RAW, Convention, Daily, Weekly
from schemas.tables.books import CONDITIONED_BOOKS
from schemas.tables.rebalances import TRADED
from schemas.tables.sealed_metrics import NOT_CHECKED, NOT_REPRODUCED, REPRODUCED

TOLERANCE: Final = 1e-6
"""Tolerance between a sealed and a recomputed figure, relative to its magnitude or 1 (equity_basis for money)."""
NO_RAW_SIGNAL: Final = "the run sealed no signal before smoothing"
"""Reason that a figure or a notice on that signal is not checked."""
_MONEY: Final = ("pnl", "max_drawdown")


@dataclass(frozen=True, slots=True)
class Figure:
    """One sealed figure and its recomputed value.

    Attributes
    ----------
    name, scope : str
        As in the record.
    period : str or None
        As in the record; None for the complete run.
    sealed : float or None
        Sealed value, in the unit of the record.
    recomputed : float or None
        Value under `convention`, or else under the API's definition; None when the tables do not determine it.
    status : str
        ``reproduced``, ``not_reproduced`` or ``not_checked``.
    convention : str or None
        Convention that reproduces the sealed value; None if no convention does.
    reason : str or None
        Reason why the figure was not checked.
    """

    name: str
    scope: str
    period: str | None
    sealed: float | None
    recomputed: float | None
    status: str
    convention: str | None = None
    reason: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the figure for reports.

        Returns
        -------
        dict
            JSON-ready; ``convention`` and ``reason`` only when they are not None.
        """
        optional = ("convention", "reason")
        return {name: x for name, x in asdict(self).items() if x is not None or name not in optional}


def reconcile(
    records: pl.DataFrame | None,
    weeks: pl.DataFrame | None,
    portfolio: pl.DataFrame | None,
    equity_basis: float,
) -> tuple[Figure, ...]:
    """Recompute every figure that the API serves from the weekly figures and the ledger of a sound run.

    Parameters
    ----------
    records : polars.DataFrame or None
        Sealed figures, as :meth:`pipeline.seal.Seal.metrics` returns them; None if the run sealed none.
    weeks : polars.DataFrame or None
        ``date``, ``week_status``, ``n_symbols``, ``n_return_obs``, ``ic`` and optionally ``raw_ic`` of ``weekly_signal``; None
        without cross-sections or rebalance index.
    portfolio : polars.DataFrame or None
        Sealed ledger of all books; None if the run sealed none.
    equity_basis : float
        Opening equity of the run, in equity units.

    Returns
    -------
    tuple of Figure
        One per record whose name is served, in the order of the records.
    """
    if records is None:
        return ()
    decisions: Weekly | str = "the run sealed no decisions with the index of their weeks"
    if weeks is not None:
        weekly = weekly_series(weeks)
        decisions = weekly if (weekly.n_return_obs > 0).any() else "the run sealed no forward return"
    daily = None if portfolio is None else daily_series(portfolio, equity_basis)
    ledger = "the run sealed no ledger of long_short" if daily is None else daily

    @cache
    def span(from_decisions: bool, scope: str, period: str | None) -> Weekly | Daily | str:
        """Return the weeks or sessions of a span, or the reason why there are none."""
        series = decisions if from_decisions else ledger
        return series if period is None or isinstance(series, str) else _part(series, scope, period)

    # Vanishing equity makes returns unbounded, so that no figure can be computed from them.
    with np.errstate(all="ignore"):
        return tuple(
            _reconciled(record, span, equity_basis)
            for record in records.iter_rows(named=True)
            if record["name"] in CONVENTIONS
        )


def daily_series(portfolio: pl.DataFrame, equity_basis: float) -> Daily | None:
    """Return the sessions of the long_short book, ascending; None if it has none."""
    rows = portfolio.filter(pl.col("book") == CONDITIONED_BOOKS[0]).sort("date")
    if not rows.height:
        return None
    columns = ("starting_equity", "ending_equity", "risk_free_return", "turnover")
    starting, ending, risk_free, turnover = (floats_of(rows, name) for name in columns)
    return Daily(dates_of(rows), starting, ending, risk_free, turnover, equity_basis)


def weekly_series(weeks: pl.DataFrame) -> Weekly:
    """Return the weeks of a run as arrays, ascending."""
    rows = weeks.sort("date")
    traded = (rows["week_status"] == TRADED).to_numpy()
    n_symbols, n_return_obs, ic = (floats_of(rows, name) for name in ("n_symbols", "n_return_obs", "ic"))
    raw_ic = floats_of(rows, "raw_ic") if "raw_ic" in rows.columns else None
    return Weekly(dates_of(rows), traded, n_symbols, n_return_obs, ic, raw_ic)


def not_reproduced(figures: Iterable[Figure]) -> list[Figure]:
    """Select the figures that no convention reproduces.

    Parameters
    ----------
    figures : iterable of Figure
        As :func:`reconcile` returns them.

    Returns
    -------
    list of Figure
        In their order.
    """
    return [figure for figure in figures if figure.status == NOT_REPRODUCED]


def _reconciled(
    record: Mapping[str, Any], span_of: Callable[[bool, str, str | None], Weekly | Daily | str], basis: float
) -> Figure:
    """Recompute the figure of one record."""
    name, unit, sealed = record["name"], record["unit"], record["value"]
    figure = partial(Figure, name, record["scope"], record["period"], sealed)
    if sealed is None:
        return figure(None, NOT_CHECKED, reason="it was sealed without a value")
    span = span_of(name in FROM_DECISIONS, record["scope"], record["period"])
    if name in RAW and isinstance(span, Weekly) and span.raw_ic is None:
        span = NO_RAW_SIGNAL
    if isinstance(span, str):
        return figure(None, NOT_CHECKED, reason=span)
    scale = basis if name in _MONEY and unit != "ratio" else 1.0
    fitting = [
        candidate
        for candidate in CONVENTIONS[name]
        if candidate.annualised == record["annualised"] and (not candidate.units or unit in candidate.units)
    ]
    for candidate in fitting:
        recomputed = _computed(candidate, span)
        if recomputed is None:
            continue
        if abs(sealed - recomputed) <= TOLERANCE * max(scale, abs(sealed), abs(recomputed)):
            return figure(recomputed, REPRODUCED, candidate.name)
    return figure(_computed((fitting or CONVENTIONS[name])[0], span), NOT_REPRODUCED)


def _computed(candidate: Convention, span: Weekly | Daily) -> float | None:
    figure = candidate.compute(span)
    return figure if figure is not None and math.isfinite(figure) else None


def _part(series: Weekly | Daily, scope: str, period: str) -> Weekly | Daily:
    """Select the weeks, or the sessions with the peak of the run before them, of a year or month."""
    rows = _rows(series.date, scope, period)
    if isinstance(series, Weekly):
        return cut(series, rows, **({"raw_ic": None} if series.raw_ic is None else {}))
    before = np.concatenate([series.starting[: rows.start], series.ending[: rows.start]])
    peak = float(before.max(initial=-math.inf))
    return cut(series, rows, equity_basis=series.equity_basis, peak=peak)


def _rows(dates: Dates, scope: str, period: str) -> slice:
    first = np.datetime64(period).astype(PERIOD_UNITS[scope])
    low, high = np.searchsorted(dates, [first.astype("datetime64[D]"), (first + 1).astype("datetime64[D]")])
    return slice(int(low), int(high))
