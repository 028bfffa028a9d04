"""The core statistics of each year or month of a run."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, timedelta
from functools import lru_cache
from typing import Any, Final

import numpy as np

from datasets.figures.run_figures import RunFigures, Sources
from datasets.figures.series import Window
from datasets.figures.statistics import Span, any_sealed, core_statistics
from datasets.figures.unavailable import Unavailable, Warnings
from schemas.metrics.core import CORE

PERIOD_UNITS: Final = {"yearly": "datetime64[Y]", "monthly": "datetime64[M]"}
"""Granularity -> NumPy type of its periods."""


def periods(
    run: RunFigures, sources: Sources, window: Window, granularity: str, warnings: Warnings
) -> list[dict[str, Any]] | Unavailable:
    """Return the core statistics of every year or month that overlaps the window.

    Parameters
    ----------
    run : RunFigures
        Provides the sealed records.
    sources : Sources
        Data of the complete run.
    window : Window
        Days requested.
    granularity : str
        ``yearly`` or ``monthly``, which is also the scope of the sealed records.
    warnings : Warnings
        Receives the warnings about the periods.

    Returns
    -------
    list of dict or Unavailable
        ``period`` and ``core``, ascending; empty when the window overlaps no period. Unavailable when the sealed records
        cannot be read.
    """
    if isinstance(run.sealed, Unavailable):
        return run.sealed
    entries: list[dict[str, Any]] = []
    sealed = {period for scope, period in run.sealed or () if scope == granularity and period is not None}
    for period in sorted(sealed.union(_with_rows(sources.within(window), granularity))):
        days = parse_period(period)
        inside = window.within(days)
        if inside.is_empty:
            continue
        complete, cut = sources.within(days), inside != days
        rows = complete.within(window) if cut else complete
        span = Span(run.records(granularity, period), complete, rows, run.equity_basis, period=period)
        core = core_statistics(span, warnings, "periods")
        if cut and any_sealed(CORE, span.records):
            warnings.add(
                "periods",
                "window_lifetime_only",
                "Sealed statistics of a period that the window cuts describe the whole period; those of its days inside are in "
                "within_window.periods.",
            )
        entries.append({"period": period, "core": core})
    return entries


def computed_periods(
    run: RunFigures, rows: Sources, granularity: str, warnings: Warnings
) -> list[dict[str, Any]]:
    """Compute the core statistics of every year or month with a row, regardless of sealed figures.

    Parameters
    ----------
    run : RunFigures
        Provides the opening equity.
    rows : Sources
        Data of the window.
    granularity : str
        ``yearly`` or ``monthly``.
    warnings : Warnings
        Receives the warnings about the periods.

    Returns
    -------
    list of dict
        ``period`` and ``core``, ascending.
    """
    entries = []
    for period in sorted(set(_with_rows(rows, granularity))):
        days = rows.within(parse_period(period))
        span = Span({}, days, days, run.equity_basis, period=period, computed=True)
        entries.append({"period": period, "core": core_statistics(span, warnings, "within_window.periods")})
    return entries


@lru_cache(maxsize=4096)
def parse_period(period: str) -> Window:
    """Return the days of a year or month.

    Parameters
    ----------
    period : str
        Year (``2020``) or month (``2020-03``).

    Returns
    -------
    Window
        Its first to its last day.

    Raises
    ------
    ValueError
        When NumPy cannot parse `period`.

    Examples
    --------
    >>> parse_period("2020-02").last
    datetime.date(2020, 2, 29)
    """
    unit = np.datetime64(period)
    last: date = (unit + 1).astype("datetime64[D]").item() - timedelta(days=1)
    return Window(unit.astype("datetime64[D]").item(), last)


def _with_rows(sources: Sources, granularity: str) -> Iterable[str]:
    """Return the periods with a session or a rebalance date."""
    for part in (sources.ledger, sources.index, sources.cross_sections):
        if not isinstance(part, Unavailable):
            yield from np.unique(part.date.astype(PERIOD_UNITS[granularity])).astype(str).tolist()
