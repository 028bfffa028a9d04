"""Costs of a book: trading and borrowing, and its figures at other levels of cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from datasets.figures.equity import solvent_returns
from datasets.figures.ratios import annualised_return, annualised_sharpe, turnover
from datasets.figures.series import SESSIONS_PER_YEAR, Floats, measured
from datasets.figures.unavailable import Unavailable, too_few
from schemas.metrics.families.costs import MULTIPLES

Figure = float | Unavailable
_BASIS_POINTS: Final = 10_000.0
_OF_RETURNS: Final = (
    *(
        "execution_cost",
        "borrow_cost",
        "break_even_multiple",
        "break_even_bp",
        "at_multiples",
        "gross",
        "net",
    ),
)
"""Figures that need equity above 0 at every open."""


@dataclass(frozen=True, slots=True)
class Flows:
    """The daily ledger of a book with its cash flows, each of shape (n_sessions,); NaN stands for null.

    Attributes
    ----------
    starting, ending
        Opening and closing equity.
    market_pnl, execution_cost, borrow
        In equity units; costs are negative.
    risk_free
        Rate at which cash earns, a ratio.
    traded
        Sum of absolute traded notional.
    turnover
        One-sided, a ratio of equity.
    """

    starting: Floats
    ending: Floats
    market_pnl: Floats
    execution_cost: Floats
    borrow: Floats
    risk_free: Floats
    traded: Floats
    turnover: Floats


def costs(flows: Flows) -> dict[str, Any]:
    """Compute the costs of a book.

    Parameters
    ----------
    flows : Flows
        Of the complete run, ascending by day.

    Returns
    -------
    dict
        The members of :data:`schemas.metrics.families.costs.COSTS` but for the span and the book: a figure is a number or
        :class:`Unavailable`. Ratios of equity are withheld when a session opens with equity not above 0.

    References
    ----------
    Novy-Marx and Velikov (2016), "A Taxonomy of Anomalies and Their Trading Costs", Review of Financial Studies 29.
    """
    figures: dict[str, Any] = {
        "turnover": turnover(flows.turnover),
        "cost_bp": cost_bp(flows.execution_cost, flows.traded),
    }
    net = solvent_returns(flows.starting, flows.ending)
    if isinstance(net, Unavailable):
        return {**figures, **dict.fromkeys(_OF_RETURNS, net)}
    if not net.size:
        return {**figures, **dict.fromkeys(_OF_RETURNS, too_few(0, 1, "sessions"))}
    execution, borrow = flows.execution_cost / flows.starting, flows.borrow / flows.starting
    gross = net - (execution + borrow)
    return {
        **figures,
        "gross": _ratios(gross),
        "net": _ratios(net),
        "execution_cost": -float(execution.mean()) * SESSIONS_PER_YEAR,
        "borrow_cost": -float(borrow.mean()) * SESSIONS_PER_YEAR,
        "break_even_multiple": break_even_multiple(flows),
        "break_even_bp": break_even_bp(flows),
        "at_multiples": [
            {
                "multiple": multiple,
                "fixed_quantities": _plain(_ratios(at_fixed_quantities(flows, multiple))),
                "fixed_weights": _plain(_ratios(gross + multiple * (execution + borrow))),
            }
            for multiple in MULTIPLES
        ],
    }


def cost_bp(execution_cost: Floats, traded: Floats) -> Figure:
    """Execution cost per traded notional.

    Parameters
    ----------
    execution_cost, traded : Floats, shape (n_sessions,)
        In equity units; costs are negative, `traded` is the sum of absolute notional.

    Returns
    -------
    float or Unavailable
        Basis points of traded notional; withheld without trades.
    """
    notional = float(traded.sum())
    return _no_trade() if notional <= 0 else -float(execution_cost.sum()) / notional * _BASIS_POINTS


def at_fixed_quantities(flows: Flows, multiple: float) -> Floats | Unavailable:
    """Return the daily returns of unchanged holdings at a multiple of their execution costs and borrow.

    Parameters
    ----------
    flows : Flows
        Of the run; cash earns ``risk_free`` on what it opened with.
    multiple : float
        Of the costs, at least 0.

    Returns
    -------
    Floats, shape (n_sessions,), or Unavailable
        What an engine makes of a plan that does not depend on equity: closing equity differs by D, where D of a session is
        that of the one before x (1 + risk_free) + (multiple - 1) (execution_cost + borrow). Withheld when equity is
        not above 0 at an open.
    """
    growth = np.cumprod(1.0 + flows.risk_free)
    saved = growth * np.cumsum((multiple - 1.0) * (flows.execution_cost + flows.borrow) / growth)
    before = np.concatenate([np.zeros(1), saved])[:-1]
    return solvent_returns(flows.starting + before, flows.ending + saved)


def break_even_multiple(flows: Flows) -> Figure:
    """Multiple of execution costs and borrow at which the market P&L is consumed.

    Parameters
    ----------
    flows : Flows
        With equity above 0 at every open.

    Returns
    -------
    float or Unavailable
        Ratio above 0; withheld where there are no costs, or no P&L above 0 to pay them from.
    """
    spent = -float(((flows.execution_cost + flows.borrow) / flows.starting).sum())
    if spent <= 0:
        return Unavailable("insufficient_data", "the book had no execution costs and no borrow")
    return _of_profit(float((flows.market_pnl / flows.starting).sum()), spent)


def break_even_bp(flows: Flows) -> Figure:
    """Execution cost per traded notional at which market P&L less borrow is consumed.

    Parameters
    ----------
    flows : Flows
        With equity above 0 at every open.

    Returns
    -------
    float or Unavailable
        Basis points of traded notional, above 0; withheld without a trade, or without P&L above 0.

    References
    ----------
    Grundy and Martin (2001), "Understanding the Nature of the Risks and the Source of the Rewards to Momentum Investing",
    Review of Financial Studies 14.
    """
    traded = float((flows.traded / flows.starting).sum())
    if traded <= 0:
        return _no_trade()
    return _of_profit(
        float(((flows.market_pnl + flows.borrow) / flows.starting).sum()) * _BASIS_POINTS, traded
    )


def _of_profit(profit: float, spent: float) -> Figure:
    if profit <= 0:
        return Unavailable("insufficient_data", "the market P&L is not above 0: no cost is low enough")
    return profit / spent


def _no_trade() -> Unavailable:
    return Unavailable("insufficient_data", "no trades")


def _ratios(returns: Floats | Unavailable) -> dict[str, Figure]:
    if isinstance(returns, Unavailable):
        return dict.fromkeys(("annualised_return", "sharpe"), returns)
    known = measured(returns)
    return {
        "annualised_return": annualised_return(known),
        "sharpe": annualised_sharpe(known, "daily returns"),
    }


def _plain(figures: dict[str, Figure]) -> dict[str, float | None]:
    """Return null for withheld values of a list entry."""
    return {name: None if isinstance(x, Unavailable) else x for name, x in figures.items()}
