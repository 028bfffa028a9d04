"""Ledgers with given returns, for the figures of the notices."""

from __future__ import annotations

import numpy as np

from pipeline.notices import NoticeOutcome
from pipeline.notices.ledger import Ledger

MONDAY = np.datetime64("2020-01-06")
HONEST = np.random.default_rng(5).normal(0.0003, 0.01, 700)


def by_id(outcomes: object) -> dict[str, NoticeOutcome]:
    return {outcome.notice: outcome for outcome in outcomes}  # type: ignore[attr-defined]


def ledger(returns: np.ndarray[tuple[int], np.dtype[np.float64]], **columns: float) -> Ledger:
    """Return a ledger on weekdays with these price returns and plausible costs."""
    days = np.busday_offset(MONDAY, np.arange(returns.size))
    ending = np.cumprod(1 + returns)
    starting = np.concatenate([[1.0], ending[:-1]])
    plain = {
        "starting_equity": starting,
        "ending_equity": ending,
        "market_pnl": ending - starting,
        "execution_cost": np.full(returns.size, -3e-5),
        "borrow_cashflow": np.full(returns.size, -2e-5),
        "cash_carry": np.zeros(returns.size),
        "risk_free_return": np.full(returns.size, 0.03 / 252),
        "rounding_adjustment": np.zeros(returns.size),
        "gross_notional": np.full(returns.size, 2.0),
        "net_notional": np.zeros(returns.size),
        "turnover_notional": np.full(returns.size, 0.1),
    }
    given_columns = {name: np.full(returns.size, value) for name, value in columns.items()}
    return Ledger("long_short", days, plain | given_columns)


def invested(run: Ledger, sessions: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Ledger:
    """Return a ledger without positions in the other sessions."""
    columns = {
        name: np.where(sessions, run[name], 0.0)
        for name in ("market_pnl", "gross_notional", "turnover_notional", "execution_cost", "borrow_cashflow")
    }
    return Ledger(run.book, run.dates, {**run.columns, **columns})
