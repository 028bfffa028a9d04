"""Concentration of a book's P&L over days, weeks, names and legs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from datasets.figures.equity import solvent_returns
from datasets.figures.ratios import annualised_sharpe
from datasets.figures.series import ROUNDING, SESSIONS_PER_YEAR, Dates, Floats, mean_or_null, measured
from datasets.figures.unavailable import Figure, Unavailable, too_few
from schemas.metrics.families.concentration import BEST

_THURSDAY: Final = 3
"""Weekday of 1970-01-01, counted from Monday as 0."""


@dataclass(frozen=True, slots=True)
class Side:
    """Positions of one side of a book by session of its ledger.

    Attributes
    ----------
    gross : Floats, shape (n_sessions,)
        Sum of absolute notionals at the close, in equity units.
    names : Floats, shape (n_sessions,)
        Number of names held at the close.
    """

    gross: Floats
    names: Floats


@dataclass(frozen=True, slots=True)
class Holdings:
    """The positions of a book by session of its ledger.

    Attributes
    ----------
    effective_names : Floats, shape (n_sessions,)
        Inverse Herfindahl index: one over the sum of the squared shares of names in gross notional; NaN without positions.
    long, short : Side
        Positions above and below 0.
    """

    effective_names: Floats
    long: Side
    short: Side


@dataclass(frozen=True, slots=True)
class SidePnl:
    """P&L of one side of a book by session of its ledger, in equity units.

    Attributes
    ----------
    net, market : Floats, shape (n_sessions,)
        After and before costs.
    """

    net: Floats
    market: Floats


@dataclass(frozen=True, slots=True)
class PnlBreakdown:
    """P&L of a book by name and side, in equity units.

    Attributes
    ----------
    by_name : Floats, shape (n_names,)
        Net P&L over the run.
    long, short : SidePnl
        P&L of long and short positions, by their side at the close; closed positions count by their side at the previous close.
    neither : float
        Net P&L of names without a position at either close.
    """

    by_name: Floats
    long: SidePnl
    short: SidePnl
    neither: float


def concentration(
    date: Dates,
    starting: Floats,
    ending: Floats,
    holdings: Holdings | Unavailable,
    profit: PnlBreakdown | Unavailable,
) -> dict[str, Any]:
    """Compute the concentration of a book's P&L.

    Parameters
    ----------
    date : Dates, shape (n_sessions,)
        Session days, ascending.
    starting, ending : Floats, shape (n_sessions,)
        Opening and closing equity, in equity units, without NaN.
    holdings : Holdings or Unavailable
        Positions of the book by session, or the reason why there are none.
    profit : PnlBreakdown or Unavailable
        P&L by name and side, or the reason why there is none.

    Returns
    -------
    dict
        The members of :data:`schemas.metrics.families.concentration.CONCENTRATION` except the span and the book; each figure
        is a number or :class:`~datasets.figures.unavailable.Unavailable`.
    """
    returns = solvent_returns(starting, ending)
    daily = ending - starting
    total = float(daily.sum())
    figures: dict[str, Any] = {
        "best_days_share": best_share(daily, total, "sessions"),
        "best_weeks_share": best_share(by_week(date, daily), total, "calendar weeks"),
        "best_names_share": profit
        if isinstance(profit, Unavailable)
        else best_share(profit.by_name, float(profit.by_name.sum()), "names with P&L"),
        "sharpe_without_best_days": returns
        if isinstance(returns, Unavailable)
        else sharpe_without_best(measured(returns)),
        **_names(holdings),
    }
    if (
        isinstance(profit, Unavailable)
        or isinstance(holdings, Unavailable)
        or isinstance(returns, Unavailable)
    ):
        reason = next(x for x in (profit, holdings, returns) if isinstance(x, Unavailable))
        return {**figures, **dict.fromkeys(("long", "short", "pnl_of_neither"), reason)}
    return {
        **figures,
        "long": _leg(holdings.long, profit.long, starting, ending, "long"),
        "short": _leg(holdings.short, profit.short, starting, ending, "short"),
        "pnl_of_neither": profit.neither,
    }


def best_share(profits: Floats, total: float, what: str) -> Figure:
    """Share of the ten largest parts in a total profit.

    Parameters
    ----------
    profits : Floats, shape (n_parts,)
        Profit of each part, in equity units, without NaN.
    total : float
        Profit of all parts, in equity units.
    what : str
        Name of the parts in the plural, for the reason.

    Returns
    -------
    float or Unavailable
        Fraction, which may exceed 1; withheld with ten parts or fewer, or when the total is not above 0 by more than rounding.
    """
    if profits.size <= BEST:
        return too_few(int(profits.size), BEST + 1, what)
    if not total > ROUNDING * float(np.abs(profits).sum()):
        return Unavailable("insufficient_data", "the P&L is not above 0, so shares of it are not defined")
    return float(np.partition(profits, -BEST)[-BEST:].sum()) / total


def by_week(date: Dates, values: Floats) -> Floats:
    """Sum values by calendar week, Monday to Sunday.

    Parameters
    ----------
    date : Dates, shape (n_days,)
        Ascending.
    values : Floats, shape (n_days,)
        Without NaN.

    Returns
    -------
    Floats, shape (n_weeks,)
        Sum of each week that has a day, ascending, in the unit of `values`.
    """
    week = (date.astype("datetime64[D]").astype(np.int64) + _THURSDAY) // 7
    _, starts = np.unique(week, return_index=True)
    sums: Floats = np.add.reduceat(values, starts) if values.size else values
    return sums


def sharpe_without_best(returns: Floats) -> Figure:
    """Sharpe ratio of the returns without the ten highest.

    Parameters
    ----------
    returns : Floats, shape (n_sessions,)
        Daily returns, fractions, without NaN.

    Returns
    -------
    float or Unavailable
        As :func:`datasets.figures.ratios.annualised_sharpe` of the other returns; withheld with fewer than twelve returns.
    """
    if returns.size < BEST + 2:
        return too_few(int(returns.size), BEST + 2, "daily returns")
    # Dropped ties are the earliest, and the rest stay in order, so that the result is deterministic.
    kept = np.sort(np.argsort(-returns, kind="stable")[BEST:])
    return annualised_sharpe(returns[kept], "other daily returns")


def _names(holdings: Holdings | Unavailable) -> dict[str, Figure]:
    if isinstance(holdings, Unavailable):
        return {"names": holdings, "effective_names": holdings}
    effective = mean_or_null(holdings.effective_names)
    if effective is None:
        return dict.fromkeys(("names", "effective_names"), too_few(0, 1, "sessions with positions"))
    held = ~np.isnan(holdings.effective_names)
    return {
        "names": float((holdings.long.names + holdings.short.names)[held].mean()),
        "effective_names": effective,
    }


def _leg(
    side: Side, pnl: SidePnl, starting: Floats, ending: Floats, which: str
) -> dict[str, Figure] | Unavailable:
    held = side.names > 0
    if not held.any():
        return Unavailable("insufficient_data", f"the book has no {which} positions")
    returns = pnl.net / starting
    return {
        "pnl": float(pnl.net.sum()),
        "annualised_return": float(returns.mean()) * SESSIONS_PER_YEAR,
        "sharpe": annualised_sharpe(returns, "daily returns of the leg"),
        "cost": float(((pnl.market - pnl.net) / starting).mean()) * SESSIONS_PER_YEAR,
        "exposure": _exposure(side.gross, ending),
        "names": float(side.names[held].mean()),
    }


def _exposure(gross: Floats, ending: Floats) -> Figure:
    """Mean gross exposure of a leg; withheld if a session closes in debt, as the last one may."""
    in_debt = int((ending <= 0).sum())
    if in_debt:
        return Unavailable(
            "nonpositive_equity",
            f"equity is not above 0 at the close of {in_debt} of {ending.size} sessions, which have no exposure",
        )
    return float((gross / ending).mean())
