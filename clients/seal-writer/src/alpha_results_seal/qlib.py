"""Ledgers from frames of qlib's recorder."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from alpha_results_seal.calendar import Calendar
from alpha_results_seal.errors import SealError
from alpha_results_seal.frames import matrix, require_columns, table, to_days
from alpha_results_seal.ledger import Ledger
from alpha_results_seal.reproduced import ledger_from_fills


def ledger_from_qlib(
    report: Any,
    positions: Any,
    closes: Any,
    calendar: Calendar,
    *,
    equity_basis: float,
    open_cost: float,
    close_cost: float,
    min_cost: float = 0.0,
) -> Ledger:
    """Rebuild the books of a qlib backtest that deals at the close, from its daily holdings.

    The book is ``long_short``. A fill is the change of a holding from one day to the next, at the close, with the costs of
    qlib's exchange. qlib decides daily, so no decisions are sealed; for decisions, build a weekly book from the predictions
    with :meth:`~alpha_results_seal.Ledger.from_scores`.

    Parameters
    ----------
    report
        ``report_normal_1day`` by day; only the column ``account`` is read.
    positions
        Long: ``date``, ``symbol``, ``amount``, as qlib holds them at the end of each day.
    closes
        Adjusted closes of qlib's exchange, long or wide, from the session before the first deal on.
    calendar
        Sessions and hours.
    equity_basis
        Opening account of the backtest.
    open_cost, close_cost, min_cost
        From qlib's ``exchange_kwargs``: costs as fractions of purchases and of sales, and the minimum cost of a deal in
        money.

    Raises
    ------
    SealError
        If the report lacks a column, or the equity differs from the account; the message names the day and the missing cash.
    """
    rows = table(report, "report")
    days_column = "datetime" if "datetime" in rows.columns else "date"
    require_columns(rows.columns, (days_column, "account"), "report has")
    account = dict(zip(to_days(rows[days_column], "report"), rows["account"]))
    held = matrix(table(positions, "positions"), "amount", "positions")
    days = np.array(sorted(account), "datetime64[D]")
    all_days = np.union1d(days, held.days)
    amounts = np.nan_to_num(held.on(all_days, held.symbols))[np.isin(all_days, days)]
    change = np.diff(amounts, axis=0, prepend=np.zeros((1, len(held.symbols))))
    price = matrix(closes, "close", "closes")
    marks = dict(zip(price.days.tolist(), price.values))
    place = {name: at for at, name in enumerate(price.symbols)}
    fills = []
    for session, at in np.argwhere(change != 0):
        day, name, quantity = days[session].item(), held.symbols[at], float(change[session, at])
        mid = float(marks[day][place[name]]) if day in marks and name in place else np.nan
        if not np.isfinite(mid):
            raise SealError(
                f"{name} was traded on {day} and has no close that day: export the closes of all names."
            )
        rate = open_cost if quantity > 0 else close_cost
        fills.append((day, name, quantity, mid, max(abs(quantity) * mid * rate, min_cost)))
    if not fills:
        raise SealError("qlib made no trades, so there are no books to keep.")
    columns = ["date", "symbol", "quantity", "fill_price", "fee"]
    frame = pl.DataFrame(fills, columns, orient="row").with_columns(mid_price="fill_price")
    return ledger_from_fills(frame, closes, calendar, account, "qlib", equity_basis=equity_basis)
