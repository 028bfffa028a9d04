"""What the tables of a run say without saying it: columns that follow from others."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

_CELL = ("book", "date", "symbol")
_SESSION = ("book", "date")
_FLOWS = ("market_pnl", "execution_cost", "borrow_cashflow")


def completed(tables: Mapping[str, pl.DataFrame], equity_basis: float) -> dict[str, pl.DataFrame]:
    """Add the columns that follow from those that are there; what is there is never changed.

    Parameters
    ----------
    tables
        Kind -> table, of declared types; any kind may be missing.
    equity_basis
        What each book opens with.

    Returns
    -------
    dict
        The tables in the same order. A column whose sources are missing stays missing.
    """
    found = dict(tables)
    if "trades" in found:
        found["trades"] = _trades(found["trades"])
    if "positions" in found:
        found["positions"] = _added(
            found["positions"],
            "signed_notional",
            pl.col("quantity") * pl.col("mark_price"),
            "quantity",
            "mark_price",
        )
    if "portfolio" in found:
        found["portfolio"] = _portfolio(found, equity_basis)
    if "positions" in found and "portfolio" in found:
        found["positions"] = _weights(found["positions"], found["portfolio"])
    return found


def _trades(trades: pl.DataFrame) -> pl.DataFrame:
    impact = pl.col("quantity") * (pl.col("fill_price") - pl.col("mid_price"))
    prices = ("quantity", "fill_price", "mid_price")
    trades = _added(trades, "execution_cost", pl.col("fee") + impact, "fee", *prices)
    trades = _added(trades, "fee", pl.col("execution_cost") - impact, "execution_cost", *prices)
    for name in ("rebalance_adjustment_reason", "exit_reason"):
        trades = _added(trades, name, pl.lit(None, pl.String))  # a reason that was not recorded is null
    return trades


def _portfolio(tables: Mapping[str, pl.DataFrame], equity_basis: float) -> pl.DataFrame:
    ledger = tables["portfolio"]
    if not set(_SESSION) <= set(ledger.columns):
        return ledger
    ledger = ledger.sort(_SESSION)
    if "pnl" in tables:
        ledger = _summed(ledger, tables["pnl"], {name: pl.col(name).sum() for name in _FLOWS})
    value = pl.col("signed_notional")
    if "positions" in tables:
        sums = {
            "position_value_end": value.sum(),
            "net_notional": value.sum(),
            "gross_notional": value.abs().sum(),
        }
        ledger = _summed(ledger, tables["positions"], {**sums, "_largest": value.abs().max()})
    if "trades" in tables and {"timestamp", "quantity", "mid_price"} <= set(tables["trades"].columns):
        fills = tables["trades"].with_columns(
            date=pl.col("timestamp").dt.date(),
            book=pl.col("book").str.replace("_(adjustments|settlements)$", ""),
        )
        traded = (pl.col("quantity") * pl.col("mid_price")).abs().sum()
        ledger = _summed(ledger, fills, {"turnover_notional": traded})
    end, start = pl.col("ending_equity"), pl.col("starting_equity")
    ledger = _added(
        ledger,
        "ending_equity",
        pl.col("cash_end") + pl.col("position_value_end"),
        "cash_end",
        "position_value_end",
    )
    ledger = _added(
        ledger, "cash_end", end - pl.col("position_value_end"), "ending_equity", "position_value_end"
    )
    for name, of in (("starting_equity", "ending_equity"), ("cash_start", "cash_end")):
        ledger = _added(ledger, name, pl.col(of).shift(1).over("book").fill_null(equity_basis), of)
    ledger = _added(
        ledger, "risk_free_return", pl.lit(None, pl.Float64)
    )  # a rate that is not stated is not 0
    ledger = _added(
        ledger,
        "cash_carry",
        (pl.col("cash_start") * pl.col("risk_free_return")).fill_null(0.0),
        "cash_start",
        "risk_free_return",
    )
    ledger = _added(ledger, "rounding_adjustment", pl.lit(0.0))
    for name in ("gross", "net"):
        ledger = _added(
            ledger, f"{name}_exposure", pl.col(f"{name}_notional") / end, f"{name}_notional", "ending_equity"
        )
    ledger = _added(ledger, "largest_abs_weight", pl.col("_largest") / end, "_largest", "ending_equity")
    ledger = _added(
        ledger, "turnover", pl.col("turnover_notional") / start / 2, "turnover_notional", "starting_equity"
    )
    return ledger.drop("_largest", strict=False)


def _summed(ledger: pl.DataFrame, rows: pl.DataFrame, sums: Mapping[str, pl.Expr]) -> pl.DataFrame:
    """Add sums by session that the ledger lacks; 0 where a session has no row."""
    wanted = {
        name: value
        for name, value in sums.items()
        if name not in ledger.columns and set(value.meta.root_names()) <= set(rows.columns)
    }
    if not wanted or not set(_SESSION) <= set(rows.columns):
        return ledger
    found = rows.group_by(_SESSION).agg(**wanted)
    return ledger.join(found, on=_SESSION, how="left", maintain_order="left").with_columns(
        pl.col(list(wanted)).fill_null(0.0)
    )


def _weights(positions: pl.DataFrame, ledger: pl.DataFrame) -> pl.DataFrame:
    if "weight" in positions.columns or not {*_SESSION, "ending_equity"} <= set(ledger.columns):
        return positions
    if not {*_SESSION, "signed_notional"} <= set(positions.columns):
        return positions
    joined = positions.join(
        ledger.select(*_SESSION, "ending_equity"), on=_SESSION, how="left", maintain_order="left"
    )
    return joined.with_columns(weight=pl.col("signed_notional") / pl.col("ending_equity")).drop(
        "ending_equity"
    )


def _added(table: pl.DataFrame, name: str, value: pl.Expr, *needs: str) -> pl.DataFrame:
    if name in table.columns or not set(needs) <= set(table.columns):
        return table
    return table.with_columns(value.alias(name))
