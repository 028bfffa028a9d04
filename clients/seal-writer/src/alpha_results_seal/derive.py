"""Columns of a run's tables that follow from others."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

_SESSION = ("book", "date")
_FLOWS = ("market_pnl", "execution_cost", "borrow_cashflow")


def completed(tables: Mapping[str, pl.DataFrame], equity_basis: float) -> dict[str, pl.DataFrame]:
    """Add missing columns that follow from others; existing ones are never changed.

    Parameters
    ----------
    tables
        Kind -> table with the declared types; any kind may be missing.
    equity_basis
        Opening equity of each book.

    Returns
    -------
    dict
        The tables in the same order. A column whose sources are missing stays missing.
    """
    complete = dict(tables)
    if "trades" in complete:
        complete["trades"] = _trades(complete["trades"])
    if "positions" in complete:
        notional = pl.col("quantity") * pl.col("mark_price")
        complete["positions"] = _added(complete["positions"], signed_notional=notional)
    if "portfolio" in complete:
        complete["portfolio"] = _portfolio(complete, equity_basis)
    if "positions" in complete and "portfolio" in complete:
        complete["positions"] = _weights(complete["positions"], complete["portfolio"])
    return complete


def _trades(trades: pl.DataFrame) -> pl.DataFrame:
    impact = pl.col("quantity") * (pl.col("fill_price") - pl.col("mid_price"))
    return _added(
        trades,
        execution_cost=pl.col("fee") + impact,
        fee=pl.col("execution_cost") - impact,
        # unrecorded reasons are null
        rebalance_adjustment_reason=pl.lit(None, pl.String),
        exit_reason=pl.lit(None, pl.String),
    )


def _portfolio(tables: Mapping[str, pl.DataFrame], equity_basis: float) -> pl.DataFrame:
    ledger = tables["portfolio"]
    if not set(_SESSION) <= set(ledger.columns):
        return ledger
    ledger = ledger.sort(_SESSION)
    if "pnl" in tables:
        ledger = _summed(ledger, tables["pnl"], {name: pl.col(name).sum() for name in _FLOWS})
    if "positions" in tables:
        notional = pl.col("signed_notional")
        sums = {
            "position_value_end": notional.sum(),
            "net_notional": notional.sum(),
            "gross_notional": notional.abs().sum(),
            "_largest": notional.abs().max(),
        }
        ledger = _summed(ledger, tables["positions"], sums)
    if "trades" in tables and {"timestamp", "quantity", "mid_price"} <= set(tables["trades"].columns):
        fills = tables["trades"].with_columns(
            date=pl.col("timestamp").dt.date(),
            book=pl.col("book").str.replace("_(adjustments|settlements)$", ""),
        )
        traded = (pl.col("quantity") * pl.col("mid_price")).abs().sum()
        ledger = _summed(ledger, fills, {"turnover_notional": traded})
    ending, value = pl.col("ending_equity"), pl.col("position_value_end")
    before = {"starting_equity": ending, "cash_start": pl.col("cash_end")}
    return _added(
        ledger,
        ending_equity=pl.col("cash_end") + value,
        cash_end=ending - value,
        **{name: x.shift(1).over("book").fill_null(equity_basis) for name, x in before.items()},
        risk_free_return=pl.lit(None, pl.Float64),  # an unstated rate is null, not 0
        cash_carry=(pl.col("cash_start") * pl.col("risk_free_return")).fill_null(0.0),
        rounding_adjustment=pl.lit(0.0),
        gross_exposure=pl.col("gross_notional") / ending,
        net_exposure=pl.col("net_notional") / ending,
        largest_abs_weight=(pl.col("_largest") / ending).abs(),  # equity may be negative
        turnover=pl.col("turnover_notional") / pl.col("starting_equity") / 2,
    ).drop("_largest", strict=False)


def _summed(ledger: pl.DataFrame, rows: pl.DataFrame, sums: Mapping[str, pl.Expr]) -> pl.DataFrame:
    """Add sums by session that the ledger lacks; 0 for sessions without rows."""
    aggregates = {
        name: value
        for name, value in sums.items()
        if name not in ledger.columns and set(value.meta.root_names()) <= set(rows.columns)
    }
    if not aggregates or not set(_SESSION) <= set(rows.columns):
        return ledger
    totals = rows.group_by(_SESSION).agg(**aggregates)
    return ledger.join(totals, on=_SESSION, how="left", maintain_order="left").with_columns(
        pl.col(list(aggregates)).fill_null(0.0)
    )


def _weights(positions: pl.DataFrame, ledger: pl.DataFrame) -> pl.DataFrame:
    if "weight" in positions.columns or not set(_SESSION) <= set(positions.columns):
        return positions
    if not {*_SESSION, "ending_equity"} <= set(ledger.columns):
        return positions
    # A session twice in the ledger is reported as such; it doubles no position.
    equity = ledger.select(*_SESSION, "ending_equity").unique(_SESSION, keep="first")
    joined = positions.join(equity, on=_SESSION, how="left", maintain_order="left")
    return _added(joined, weight=pl.col("signed_notional") / pl.col("ending_equity")).drop("ending_equity")


def _added(table: pl.DataFrame, **columns: pl.Expr) -> pl.DataFrame:
    """Add the columns that a table lacks and that follow from its other columns, in order."""
    for name, value in columns.items():
        if name not in table.columns and set(value.meta.root_names()) <= set(table.columns):
            table = table.with_columns(value.alias(name))
    return table
