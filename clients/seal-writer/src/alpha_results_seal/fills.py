"""Fills recorded by an engine."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl

from alpha_results_seal.errors import SealError
from alpha_results_seal.frames import require_columns, to_days, to_doubles, to_names
from alpha_results_seal.market import Market

ASSUMED = {
    "fee": "fees of fills are unknown: none are charged",
    "mid_price": "mid prices are unknown: fill prices are used, so that impact is part of market_pnl",
    "decision_at": "decision days of fills are unknown: decisions are dated by the session before the fill",
}
"""Optional column of fills -> note on the value used in its place."""
REQUIRED = ("date", "symbol", "quantity", "fill_price")
"""The other columns of fills."""


def read_fills(rows: pl.DataFrame, market: Market) -> pl.DataFrame:
    """Return fills completed with session, fee, mid and decision; raises SealError for an invalid one."""
    require_columns(rows.columns, REQUIRED, "fills have")
    rows = rows.with_columns(
        pl.Series(name, to_doubles(rows[name], "fills"))
        for name in ("quantity", "fill_price", "fee", "mid_price")
        if name in rows.columns
    )
    rows = rows.with_columns(date=to_days(rows["date"], "fills"), symbol=to_names(rows["symbol"], "fills"))
    if "decision_at" in rows.columns:
        rows = rows.with_columns(decision_at=to_days(rows["decision_at"], "fills"))
    if "fee" not in rows.columns:
        rows = rows.with_columns(fee=pl.lit(0.0))
    if "mid_price" not in rows.columns:
        rows = rows.with_columns(mid_price="fill_price")
    session = np.searchsorted(
        market.sessions[: market.observed], rows["date"].to_numpy().astype("datetime64[D]")
    )
    rows = rows.with_columns(session=pl.Series(session, dtype=pl.Int64)).sort("session", maintain_order=True)
    observed_days = pl.Series(market.sessions[: market.observed].astype("datetime64[D]"), dtype=pl.Date)
    for row in rows.filter(~pl.col("date").is_in(observed_days.implode())).head(1).iter_rows(named=True):
        raise SealError(f"a fill of {row['symbol']} is on {row['date']}, which has no prices.")
    if "decision_at" not in rows.columns:
        if rows.height and rows["session"][0] == 0:
            raise SealError(
                f"{rows['symbol'][0]} is filled on the first session, {rows['date'][0]}, but a decision is on a day "
                "before its fill: add prices of an earlier session, or give decision_at."
            )
        rows = rows.with_columns(decision_at=observed_days.gather(rows["session"] - 1))
    for row in rows.iter_rows(named=True):
        _require_valid(row, market)
    rows = rows.filter(pl.col("quantity") != 0)
    return rows.with_columns(at_open=_are_at_open(rows, market))


def _are_at_open(fills: pl.DataFrame, market: Market) -> Any:
    """Return which fills have the mid of their session's open."""
    if market.opens is None:
        return pl.lit(value=False)
    names = np.searchsorted(market.symbols, fills["symbol"].to_list())
    opens = market.opens[fills["session"].to_numpy(), names]
    return pl.Series(np.isclose(fills["mid_price"].to_numpy(), opens, rtol=1e-9, atol=0.0))


def _require_valid(row: dict[str, Any], market: Market) -> None:
    at = market.symbols.index(row["symbol"]) if row["symbol"] in market.symbols else None
    if at is None or not np.isfinite(market.marks[row["session"], at]):
        raise SealError(f"{row['symbol']} is filled on {row['date']} but has no close on or before that day.")
    for name in ("quantity", "fill_price", "fee", "mid_price"):
        if not math.isfinite(row[name]) or (name.endswith("price") and row[name] <= 0):
            raise SealError(
                f"the {name} of {row['symbol']} on {row['date']} is {row[name]}: give a finite number, above 0 for a price."
            )
    if row["quantity"] * (row["fill_price"] - row["mid_price"]) < 0:
        raise SealError(
            f"the fill of {row['symbol']} on {row['date']} is better than its mid: give the true mid, or leave mids out."
        )
