"""The result of a vectorbt run as the ledger of a seal."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from alpha_results_seal.calendar import Calendar
from alpha_results_seal.errors import SealError
from alpha_results_seal.ledger import Ledger
from alpha_results_seal.reproduced import ledger_of_fills


def ledger_from_vectorbt(portfolio: Any, calendar: Calendar, *, mid_prices: Any | None = None) -> Ledger:
    """Keep the books of a ``vectorbt.Portfolio`` again, from its orders and closes.

    All its columns together are the book ``long_short``, which opens with their initial cash. Target weights, scores and
    when an order was decided stand in no such result: no decisions are sealed, and an order is dated by the session
    before its bar. Slippage is part of the order's price; without `mid_prices` it counts as market_pnl.

    Parameters
    ----------
    portfolio
        The result; bars of a day, a column a name.
    calendar
        Sessions and hours.
    mid_prices
        Wide pandas frame of the prices before slippage, which orders were given.

    Raises
    ------
    SealError
        When bars are shorter than a day, a name has several columns, or the equity does not come out as vectorbt has
        it: then cash came or went in a way that orders do not tell, such as dividends or deposits.
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
    return ledger_of_fills(fills, closes, calendar, own, "vectorbt", equity_basis=basis)
