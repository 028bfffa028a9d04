"""Comparison of rebuilt books with the engine's own equity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from alpha_results_seal.calendar import Calendar
from alpha_results_seal.errors import SealError
from alpha_results_seal.frames import to_local_day, to_local_days
from alpha_results_seal.ledger import Ledger

_TOLERANCE = 1e-8


def ledger_from_fills(
    fills: pl.DataFrame,
    closes: Any,
    calendar: Calendar,
    equity: Any,
    engine: str,
    *,
    equity_basis: float,
    notes: tuple[str, ...] = (),
    weights: Any = None,
    scores: Any = None,
) -> Ledger:
    """Build a ledger from an engine's fills, and refuse it unless every session's equity equals the engine's.

    Parameters
    ----------
    fills, closes, calendar, equity_basis, weights, scores
        As for :meth:`~alpha_results_seal.Ledger.from_fills`.
    equity
        The engine's equity at the close, by day.
    engine
        Name of the engine.
    notes
        Further notes.

    Raises
    ------
    SealError
        If the fills cannot be booked, or the equity differs; the message names the day and the missing cash.
    """
    ledger = Ledger.from_fills(
        fills, closes, calendar, equity_basis=equity_basis, weights=weights, scores=scores
    )
    require_reproduced(ledger, equity, engine)
    return replace(ledger, notes=(*ledger.notes, *notes))


def require_reproduced(ledger: Ledger, equity: Any, engine: str) -> None:
    """Compare the equity of every session with the engine's.

    Parameters
    ----------
    ledger
        Ledger of one book.
    equity
        Pandas series by day, or a mapping.
    engine
        Name of the engine.

    Raises
    ------
    SealError
        If they differ, because cash moved without a fill or a close differs from the engine's.
    """
    if isinstance(equity, Mapping):
        own = {to_local_day(day): value for day, value in equity.items()}
    else:
        own = dict(zip(to_local_days(equity.index).tolist(), equity.to_numpy(dtype=np.float64).tolist()))
    traded = set(ledger.tables["trades"]["timestamp"].dt.date())
    for day, rebuilt in ledger.tables["portfolio"].select("date", "ending_equity").iter_rows():
        if day not in own or np.isnan(own[day]):
            raise SealError(
                f"{engine} has no equity on {day}, a session with prices: end the prices where the result ends."
            )
        missing = own[day] - rebuilt
        if not abs(missing) <= _TOLERANCE * max(ledger.equity_basis, abs(rebuilt)):
            flow = "commissions" if day in traded and missing < 0 else "dividends, interest or deposits"
            raise SealError(
                f"on {day} the equity from fills is {rebuilt:.6f}, that of {engine} {own[day]:.6f}: either there was a cash flow "
                f"without a fill ({missing:+.6f}), such as {flow}, or a close differs from the engine's. Seal the tables yourself."
            )
