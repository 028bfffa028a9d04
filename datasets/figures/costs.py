"""Costs of a book: trading and borrowing, and its figures at other levels of cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from datasets.figures.equity import solvent_returns
from datasets.figures.ratios import annualised_return, annualised_sharpe, turnover
from datasets.figures.series import ROUNDING, SESSIONS_PER_YEAR, Floats, measured
from datasets.figures.unavailable import Figure, Unavailable, too_few
from schemas.metrics.families.costs import MULTIPLES

_BASIS_POINTS: Final = 10_000.0
_OF_RETURNS: Final = (
    *("execution_cost", "borrow_cost", "break_even_multiple", "break_even_bp"),
    *("at_multiples", "gross", "net"),
)
"""Figures that require equity above 0 at every open."""
_NO_TRADES: Final = Unavailable("insufficient_data", "no trades")


@dataclass(frozen=True, slots=True)
class Flows:
    """Daily ledger of a book with its cash flows; without NaN, except in `risk_free`.

    Attributes
    ----------
    starting, ending : Floats, shape (n_sessions,)
        Opening and closing equity, in equity units.
    market_pnl, execution_cost, borrow : Floats, shape (n_sessions,)
        In equity units; costs are negative.
    risk_free : Floats, shape (n_sessions,)
        Return of cash in the session, a fraction; NaN if the ledger states none.
    traded : Floats, shape (n_sessions,)
        Sum of absolute traded notional, in equity units.
    turnover : Floats, shape (n_sessions,)
        One-sided turnover, a fraction of equity.
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
        Sessions of the complete run, ascending.

    Returns
    -------
    dict
        The members of :data:`schemas.metrics.families.costs.COSTS` except the span and the book; each figure is a number or
        :class:`~datasets.figures.unavailable.Unavailable`. Ratios of equity are withheld when a session opens with equity
        not above 0.

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
        # Subtracted from 0, as the negative of no cost would be -0.0.
        "execution_cost": (0.0 - float(execution.mean())) * SESSIONS_PER_YEAR,
        "borrow_cost": (0.0 - float(borrow.mean())) * SESSIONS_PER_YEAR,
        "break_even_multiple": break_even_multiple(flows),
        "break_even_bp": break_even_bp(flows),
        "at_multiples": [
            {
                "multiple": multiple,
                "fixed_quantities": _ratios(at_fixed_quantities(flows, multiple)),
                "fixed_weights": _ratios(gross + multiple * (execution + borrow)),
            }
            for multiple in MULTIPLES
        ],
    }


def cost_bp(execution_cost: Floats, traded: Floats) -> Figure:
    """Execution cost per traded notional.

    Parameters
    ----------
    execution_cost : Floats, shape (n_sessions,)
        In equity units, negative; without NaN.
    traded : Floats, shape (n_sessions,)
        Sum of absolute traded notional, in equity units; without NaN.

    Returns
    -------
    float or Unavailable
        Basis points of traded notional; withheld without trades.

    Examples
    --------
    >>> cost_bp(np.array([-2.0, 0.0]), np.array([4000.0, 0.0]))
    5.0
    """
    notional = float(traded.sum())
    return _NO_TRADES if notional <= 0 else (0.0 - float(execution_cost.sum())) / notional * _BASIS_POINTS


def at_fixed_quantities(flows: Flows, multiple: float) -> Floats | Unavailable:
    """Return the daily returns of unchanged holdings at a multiple of their execution costs and borrow.

    Parameters
    ----------
    flows : Flows
        Sessions of the run. Saved costs are held in cash, which earns ``risk_free``.
    multiple : float
        Factor on the costs, at least 0; 1 gives the returns of the ledger.

    Returns
    -------
    Floats, shape (n_sessions,), or Unavailable
        Fractions of opening equity. Closing equity is the ledger's plus D, where D of a session is
        D of the previous session x (1 + risk_free) + (multiple - 1) (execution_cost + borrow). ``insufficient_data`` if a
        session has no risk-free return, ``nonpositive_equity`` if the resulting equity is not above 0 at an open.
    """
    if np.isnan(flows.risk_free).any():
        return Unavailable("insufficient_data", "the ledger does not state the rate of every session")
    growth = np.cumprod(1.0 + flows.risk_free)
    difference = growth * np.cumsum((multiple - 1.0) * (flows.execution_cost + flows.borrow) / growth)
    at_open = np.concatenate([np.zeros(1), difference])[:-1]
    return solvent_returns(flows.starting + at_open, flows.ending + difference)


def break_even_multiple(flows: Flows) -> Figure:
    """Multiple of execution costs and borrow that consumes the market P&L.

    P&L and costs of a session count as fractions of its opening equity.

    Parameters
    ----------
    flows : Flows
        Sessions with equity above 0 at every open.

    Returns
    -------
    float or Unavailable
        Ratio above 0; withheld without costs beyond rounding, or when the market P&L is not above 0.
    """
    costs_paid = -float(((flows.execution_cost + flows.borrow) / flows.starting).sum())
    if costs_paid <= ROUNDING:
        return Unavailable("insufficient_data", "the book had no execution costs and no borrow")
    return _profit_per(float((flows.market_pnl / flows.starting).sum()), costs_paid)


def break_even_bp(flows: Flows) -> Figure:
    """Execution cost per traded notional that consumes the market P&L after borrow.

    P&L and traded notional of a session count as fractions of its opening equity.

    Parameters
    ----------
    flows : Flows
        Sessions with equity above 0 at every open.

    Returns
    -------
    float or Unavailable
        Basis points of traded notional, above 0; withheld without trades, or when the P&L is not above 0.

    References
    ----------
    Grundy and Martin (2001), "Understanding the Nature of the Risks and the Source of the Rewards to Momentum Investing",
    Review of Financial Studies 14.
    """
    traded = float((flows.traded / flows.starting).sum())
    if traded <= 0:
        return _NO_TRADES
    return _profit_per(
        float(((flows.market_pnl + flows.borrow) / flows.starting).sum()) * _BASIS_POINTS, traded
    )


def _profit_per(profit: float, amount: float) -> Figure:
    if profit <= 0:
        return Unavailable("insufficient_data", "the market P&L is not above 0, so no cost breaks even")
    return profit / amount


def _ratios(returns: Floats | Unavailable) -> dict[str, Figure]:
    if isinstance(returns, Unavailable):
        return dict.fromkeys(("annualised_return", "sharpe"), returns)
    known = measured(returns)
    return {
        "annualised_return": annualised_return(known),
        "sharpe": annualised_sharpe(known, "daily returns"),
    }
