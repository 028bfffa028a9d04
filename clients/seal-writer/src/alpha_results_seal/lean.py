"""The files of a LEAN backtest as the ledger of a seal."""

from __future__ import annotations

import datetime as dt
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from alpha_results_seal.calendar import Calendar
from alpha_results_seal.errors import SealError
from alpha_results_seal.ledger import Ledger
from alpha_results_seal.market import Market
from alpha_results_seal.reproduced import ledger_from_fills

FILLED = ("filled", "partiallyFilled")


def ledger_from_lean(
    order_events: str | os.PathLike[str],
    result: str | os.PathLike[str],
    closes: Any,
    calendar: Calendar,
    *,
    equity_basis: float,
) -> Ledger:
    """Rebuild the books of a LEAN backtest from its order events.

    The book is ``long_short``. Fees are exactly those of the events; slippage is part of the price. The files hold no target
    weights, scores or decision times: no decisions are sealed, and a fill is decided on the session before it. Whatever
    their time of day, fills of a session are stamped with its close.

    Parameters
    ----------
    order_events
        ``<id>-order-events.json``.
    result
        ``<id>.json``; the books are compared with its chart `Strategy Equity`.
    closes
        Long or wide, by LEAN's symbols (``symbolValue``), with the same adjustment as LEAN's own, and including a session
        before the first fill.
    calendar
        Sessions and hours; LEAN's time is UTC.
    equity_basis
        Opening cash of the backtest.

    Raises
    ------
    SealError
        If a file is not LEAN's, there are several currencies, an option was assigned, or the equity differs from LEAN's; the
        message then names the day and the missing cash.
    """
    rows = _read(order_events)
    if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
        raise SealError(
            f"{os.fspath(order_events)} is not a list of order events: give <id>-order-events.json first, then <id>.json."
        )
    events = [event for event in rows if event.get("status") in FILLED and event.get("fillQuantity")]
    if not events:
        raise SealError(f"{order_events} has no fill.")
    currencies = {
        event[key] for event in events for key in ("fillPriceCurrency", "orderFeeCurrency") if event.get(key)
    }
    if len(currencies) > 1:
        raise SealError(
            f"{order_events} has fills and fees in {', '.join(sorted(currencies))}: a book has one currency."
        )
    if any(event.get("isAssignment") for event in events):
        raise SealError(
            f"{order_events} has an assignment of an option: every name of a book needs a close each day."
        )
    events.sort(key=lambda event: (event["time"], event["orderId"], event["orderEventId"]))
    fills = pl.DataFrame(
        {
            "date": [_local(event["time"], calendar) for event in events],
            "symbol": [str(event["symbolValue"]) for event in events],
            "quantity": [float(event["fillQuantity"]) for event in events],
            "fill_price": [float(event["fillPrice"]) for event in events],
            "fee": [float(event.get("orderFeeAmount") or 0.0) for event in events],
        }
    )
    own = _equity(_read(result), result, Market.of(closes, calendar))
    return ledger_from_fills(fills, closes, calendar, own, "LEAN", equity_basis=equity_basis)


def _read(path: str | os.PathLike[str]) -> Any:
    try:
        return json.loads(Path(path).read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise SealError(f"{os.fspath(path)} cannot be read as JSON: {error}") from error


def _local(moment: float, calendar: Calendar) -> dt.date:
    """Return the exchange's day of an instant; midnight, when daily bars are filled, belongs to the previous day."""
    at = pl.Series([dt.datetime.fromtimestamp(moment, dt.timezone.utc)]).dt.convert_time_zone(calendar.zone)
    local: dt.datetime = at[0]
    return (local - dt.timedelta(microseconds=1)).date() if local.time() == dt.time() else local.date()


def _equity(result: Mapping[str, Any], path: Any, market: Market) -> dict[dt.date, float]:
    """Return the chart's last value of each session, between its close and the next open."""
    charts = _member(result, "charts")
    values = _member(_member(_member(_member(charts, "Strategy Equity"), "series"), "Equity"), "values")
    if not values:
        raise SealError(f"{os.fspath(path)} has no chart 'Strategy Equity' with a series 'Equity'.")
    points = [(x["x"], x["y"]) if isinstance(x, Mapping) else (x[0], x[-1]) for x in values]
    points.sort(key=lambda point: float(point[0]))
    moments = np.array([float(moment) for moment, _ in points])
    equity = {}
    for session in range(market.observed):
        is_last = len(market.open_at) == session + 1
        until = np.inf if is_last else market.open_at[session + 1].timestamp()
        place = int(np.searchsorted(moments, until, side="left")) - 1
        if place >= 0 and moments[place] >= market.close_at[session].timestamp():
            equity[market.sessions[session].item()] = float(points[place][1])
    return equity


def _member(mapping: Any, name: str) -> Any:
    """Return a value by name, ignoring case, which differs between versions of LEAN."""
    if not isinstance(mapping, Mapping):
        return None
    return next((value for key, value in mapping.items() if key.lower() == name.lower()), None)
