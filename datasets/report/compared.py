"""Comparison of several alphas on a tear sheet: curves on a common base, similarity, and an equal-weight book.

Definitions are the same as in `/v1/correlations` and `/v1/alphas/{alpha}/contribution`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from datasets.analysis.alpha import Alpha
from datasets.analysis.comparison import ComparisonQuery, Similarities, correlate, read_returns
from datasets.figures.daily_returns import between_common_closes
from datasets.figures.ratios import book_figures
from datasets.figures.series import FULL_HISTORY, Window
from datasets.figures.unavailable import Unavailable
from datasets.figures.withheld import settle
from datasets.report.content import Content, withheld

COMBINED: Final = "Equal-weight book"
"""Name of the equal-weight book."""

_TITLES: Final = {
    "returns": "Correlation of daily returns",
    "scores": "Rank correlation of scores, mean of the common weeks",
    "holdings": "Overlap of holdings, mean of the common sessions",
}


def compared(runs: Sequence[Alpha], book: str, window: Window = FULL_HISTORY) -> Content:
    """Compare alphas.

    Parameters
    ----------
    runs
        At least two alphas.
    book
        Book of the returns and holdings.
    window
        Days to compare.

    Returns
    -------
    dict
        JSON-ready. A withheld figure is null, with its reason in ``withheld``.
    """
    return {
        "alphas": [run.alpha_id for run in runs],
        "book": book,
        "matrices": [
            {"title": title, **_ready(correlate(runs, ComparisonQuery(by, book, window)))}
            for by, title in _TITLES.items()
        ],
        "together": together(runs, book, window),
    }


def together(runs: Sequence[Alpha], book: str, window: Window = FULL_HISTORY) -> Content:
    """Return curves and figures of the alphas and of their equal-weight book at the common closes."""
    no_ledger = [run.alpha_id for run in runs if not run.has_rows("equity_curve", book)]
    if no_ledger:
        return withheld(f"{', '.join(no_ledger)} sealed no daily ledger of {book}")
    by_run = [read_returns(run, book).within(window) for run in runs]
    indebted = [run.alpha_id for run, x in zip(runs, by_run, strict=True) if x.missing.size]
    if indebted:
        return withheld(f"{', '.join(indebted)}: sessions that open with equity not above 0 have no return")
    common = between_common_closes([(x.days, x.values) for x in by_run])
    if not common.days.size:
        return withheld("the alphas have no session of the window in common")
    returns = common.returns
    series = dict(
        zip([*(run.alpha_id for run in runs), COMBINED], [*returns, returns.mean(axis=0)], strict=True)
    )
    dates = common.days.astype("datetime64[D]").astype(str).tolist()
    return {
        "combined": COMBINED,
        "first_date": dates[0],
        "last_date": dates[-1],
        "sessions": len(dates),
        "left_out": [
            {"alpha_id": run.alpha_id, "merged": int(merged), "dropped": int(dropped)}
            for run, merged, dropped in zip(runs, common.merged, common.dropped, strict=True)
            if merged or dropped
        ],
        "curves": [
            {"name": name, "columns": {"date": dates, "growth": np.cumprod(1.0 + x).tolist()}}
            for name, x in series.items()
        ],
        "figures": [{"name": name, **settle(book_figures(x))} for name, x in series.items()],
    }


def _ready(matrix: Similarities) -> Content:
    return {
        "matrix": matrix.values,
        "observations": matrix.observations,
        "withheld": sorted({x.text for row in matrix.figures for x in row if isinstance(x, Unavailable)}),
    }
