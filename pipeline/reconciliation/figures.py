"""The run's own figures, recomputed from the sealed tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl

from datasets.figure_data import dates_of
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
    status : str
        ``reproduced``, ``not_reproduced`` or ``not_checked``.
    recomputed : float or None
        Value under `convention`, or else under the interface's definition; None when the tables do not determine it.
    convention : str or None
        Convention that reproduces the sealed value; None if no convention does.
    reason : str or None
        Reason why the figure was not checked.
    """

    name: str
    scope: str
    period: str | None
    sealed: float | None
    status: str
    recomputed: float | None = None
    convention: str | None = None
    reason: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the figure for reports.

        Returns
        -------
        dict
            JSON-ready; ``convention`` and ``reason`` only when they are not None.
        """
        shown: dict[str, Any] = {
            "name": self.name,
            "scope": self.scope,
            "period": self.period,
            "sealed": self.sealed,
            "recomputed": self.recomputed,
            "status": self.status,
        }
        optional = {"convention": self.convention, "reason": self.reason}
        return shown | {key: value for key, value in optional.items() if value is not None}


def daily_series(portfolio: pl.DataFrame, equity_basis: float) -> Daily | None:
    """Select the sessions of the long_short book.

    Parameters
    ----------
    portfolio : polars.DataFrame
        Sealed ledger of all books.
    equity_basis : float
        Opening equity of the run, in equity units.

    Returns
    -------
    Daily or None
        Ascending by date; None when the book has no session.
    """
    rows = portfolio.filter(pl.col("book") == CONDITIONED_BOOKS[0]).sort("date")
    if not rows.height:
        return None
    columns = ("starting_equity", "ending_equity", "risk_free_return", "turnover")
    starting, ending, risk_free, turnover = (rows[name].to_numpy() for name in columns)
    return Daily(dates_of(rows), starting, ending, risk_free, turnover, equity_basis)


def weekly_series(weeks: pl.DataFrame) -> Weekly:
    """Convert the weeks of a run to arrays.

    Parameters
    ----------
    weeks : polars.DataFrame
        ``date``, ``week_status``, ``n_symbols``, ``n_return_obs``, ``ic`` and optionally ``raw_ic`` of ``weekly_signal``.

    Returns
    -------
    Weekly
        Ascending by date; NaN stands for null.
    """
    rows = weeks.sort("date")
    floats = {
        name: rows[name].cast(pl.Float64).to_numpy()
        for name in ("n_symbols", "n_return_obs", "ic", "raw_ic")
        if name in rows.columns
    }
    traded = (rows["week_status"] == TRADED).to_numpy()
    return Weekly(
        dates_of(rows),
        traded,
        floats["n_symbols"],
        floats["n_return_obs"],
        floats["ic"],
        floats.get("raw_ic"),
    )


def reconcile(records: pl.DataFrame, weekly: Weekly | None, daily: Daily | None) -> tuple[Figure, ...]:
    """Recompute every figure that the interface serves.

    Parameters
    ----------
    records : polars.DataFrame
        Sealed figures, as :meth:`pipeline.seal.Seal.metrics` returns them.
    weekly : Weekly or None
        Weeks of the complete run; None without cross-sections.
    daily : Daily or None
        Sessions of the complete run; None without a ledger.

    Returns
    -------
    tuple of Figure
        One per record whose name is served, in the order of the records.
    """
    spans = _Spans(weekly, daily)
    basis = 1.0 if daily is None else daily.equity_basis
    columns = ("name", "scope", "period", "value", "unit", "annualised")
    # Vanishing equity makes returns unbounded, so that no figure can be computed from them.
    with np.errstate(all="ignore"):
        return tuple(
            Figure(record.name, record.scope, record.period, record.sealed, *_outcome(record, spans, basis))
            for record in map(_Record._make, records.select(columns).iter_rows())
            if record.name in CONVENTIONS
        )


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


class _Record(NamedTuple):
    name: str
    scope: str
    period: str | None
    sealed: float | None
    unit: str
    annualised: bool


def _outcome(
    record: _Record, spans: _Spans, basis: float
) -> tuple[str, float | None, str | None, str | None]:
    """Return the last four fields of the :class:`Figure` of a record."""
    name, scope, period, sealed, unit, annualised = record
    if sealed is None:
        return NOT_CHECKED, None, None, "it was sealed without a value"
    span: Weekly | Daily | None
    if name in FROM_DECISIONS:
        weeks = span = spans.weeks(scope, period)
        missing = "the run sealed no decisions with the index of their weeks"
        if spans.without_returns:
            span, missing = None, "the run sealed no forward return"
        elif weeks is not None and name in RAW and weeks.raw_ic is None:
            span, missing = None, NO_RAW_SIGNAL
    else:
        span, missing = spans.sessions(scope, period), "the run sealed no ledger of long_short"
    if span is None:
        return NOT_CHECKED, None, None, missing
    scale = basis if name in _MONEY and unit != "ratio" else 1.0
    fitting = [
        candidate
        for candidate in CONVENTIONS[name]
        if candidate.annualised == annualised and (not candidate.units or unit in candidate.units)
    ]
    for candidate in fitting:
        recomputed = _computed(candidate, span)
        if recomputed is not None and _agree(sealed, recomputed, scale):
            return REPRODUCED, recomputed, candidate.name, None
    return NOT_REPRODUCED, _computed((fitting or CONVENTIONS[name])[0], span), None, None


def _computed(candidate: Convention, span: Weekly | Daily) -> float | None:
    figure = candidate.compute(span)
    return figure if figure is not None and math.isfinite(figure) else None


def _agree(sealed: float, recomputed: float, scale: float) -> bool:
    return abs(sealed - recomputed) <= TOLERANCE * max(scale, abs(sealed), abs(recomputed))


class _Spans:
    """The series by year and month, cached."""

    def __init__(self, weekly: Weekly | None, daily: Daily | None) -> None:
        self._weekly, self._daily = weekly, daily
        self._weeks: dict[str | None, Weekly] = {}
        self._sessions: dict[str | None, Daily] = {}
        self.without_returns = weekly is not None and not (weekly.n_return_obs > 0).any()

    def weeks(self, scope: str, period: str | None) -> Weekly | None:
        """Return the weeks of a span."""
        series = self._weekly
        if series is None or period is None:
            return series
        if period not in self._weeks:
            no_raw = {"raw_ic": None} if series.raw_ic is None else {}
            self._weeks[period] = cut(series, _rows(series.date, scope, period), **no_raw)
        return self._weeks[period]

    def sessions(self, scope: str, period: str | None) -> Daily | None:
        """Return the sessions of a span, and the peak of the run before it."""
        series = self._daily
        if series is None or period is None:
            return series
        if period not in self._sessions:
            rows = _rows(series.date, scope, period)
            before = np.concatenate([series.starting[: rows.start], series.ending[: rows.start]])
            peak = float(before.max(initial=-math.inf))
            self._sessions[period] = cut(series, rows, equity_basis=series.equity_basis, peak=peak)
        return self._sessions[period]


def _rows(dates: Dates, scope: str, period: str) -> slice:
    first = np.datetime64(period).astype(PERIOD_UNITS[scope])
    low, high = np.searchsorted(dates, [first.astype("datetime64[D]"), (first + 1).astype("datetime64[D]")])
    return slice(int(low), int(high))


def declared_and_figures(
    declared: Mapping[str, Any], figures: Iterable[Figure], *, adjusted: bool
) -> dict[str, Any]:
    """Return the reconciliation for a report and the manifest of a snapshot.

    Parameters
    ----------
    declared : Mapping[str, Any]
        Differences of the engine that the seal declares.
    figures : iterable of Figure
        As :func:`reconcile` returns them.
    adjusted : bool
        Whether the seal has adjustments of quantity or cash.

    Returns
    -------
    dict
        ``declared``, ``adjusted`` and ``figures``; JSON-ready.
    """
    return {
        "declared": dict(declared),
        "adjusted": adjusted,
        "figures": [figure.to_dict() for figure in figures],
    }
