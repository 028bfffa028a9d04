"""Ledgers from vectorbt portfolios."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from alpha_results_seal.calendar import Calendar
from alpha_results_seal.errors import SealError
from alpha_results_seal.ledger import Ledger
from alpha_results_seal.reproduced import ledger_from_fills


def ledger_from_vectorbt(
    portfolio: Any,
    calendar: Calendar,
    *,
    mid_prices: Any | None = None,
    weights: Any | None = None,
    scores: Any | None = None,
) -> Ledger:
    """Rebuild the books of a ``vectorbt.Portfolio`` from its orders and closes.

    All columns together form the book ``long_short``, which opens with their initial cash. The result holds no decision
    times: an order is decided on the session before its bar. Without `weights` no decisions are sealed, and the run is
    incomplete. Slippage is part of the order's price; without `mid_prices` it counts as market_pnl.

    Parameters
    ----------
    portfolio
        The result, with daily bars and one column per name.
    calendar
        Sessions and hours.
    mid_prices
        Wide pandas frame of the order prices before slippage.
    weights
        Wide pandas frame of target percents, the ``size`` given to ``from_orders``, by the bar of their orders: rows of NaN
        place no orders. At most one row per week.
    scores
        Wide pandas frame of the scores behind the weights, by the same bars.

    Raises
    ------
    SealError
        If bars are shorter than a day, a name has several columns, an order has no weights, or the equity differs from
        vectorbt's, because cash moved without an order, such as a dividend or a deposit.
    """
    closes = portfolio.close
    closes = closes.to_frame() if closes.ndim == 1 else closes
    if not closes.index.normalize().is_unique:
        raise SealError(
            "the result has several bars a day, and a ledger is daily: resample the prices before the run."
        )
    orders = portfolio.orders.records_readable
    side = np.where(orders["Side"].to_numpy() == "Buy", 1.0, -1.0)
    stamps = orders["Timestamp"].dt.tz_localize(None).to_numpy().astype("datetime64[D]")
    names = [str(name) for name in orders["Column"]]
    fills = pl.DataFrame(
        {
            "date": stamps,
            "symbol": names,
            "quantity": side * orders["Size"].to_numpy(),
            "fill_price": orders["Price"].to_numpy(),
            "fee": orders["Fees"].to_numpy(),
        }
    )
    if mid_prices is not None:
        mids = [float(mid_prices.at[at, name]) for at, name in zip(orders["Timestamp"], orders["Column"])]
        fills = fills.with_columns(mid_price=pl.Series(mids, dtype=pl.Float64))
    basis = float(np.sum(portfolio.init_cash))
    own = portfolio.value(group_by=True) if portfolio.wrapper.grouper.group_by is None else portfolio.value()
    own = own.sum(axis=1) if own.ndim > 1 else own
    weights, scores = (
        None if frame is None else frame.reindex(closes.index).shift(-1).dropna(how="all")
        for frame in (weights, scores)
    )
    return ledger_from_fills(
        fills, closes, calendar, own, "vectorbt", equity_basis=basis, weights=weights, scores=scores
    )
