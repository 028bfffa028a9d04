"""A small run of the reference engine, with the market prices of its names."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl

from examples.reference_engine import (
    AlphaSpec,
    Market,
    RunRecord,
    run_alpha,
    write_seal,
)
from pipeline.notices import NoticeOutcome
from pipeline.rules import check
from pipeline.seal import Seal
from schemas.notices import NOTICES

SPEC = AlphaSpec("Test_beside_prices", "reversal", raw=False)


MARKET = [notice for notice in NOTICES if notice.startswith("market.")]


PER_SESSION = 0.001
"""Lift of a price path, half of what is tolerated in one session."""


def prices_of(market: Market, folder: Path, **columns: np.ndarray) -> Path:
    """Write the prices of a market as an operator's file has them."""
    session, name = np.nonzero(market.has_bar)
    frame = pl.DataFrame(
        {
            "date": market.schedule[session],
            "symbol": np.array(market.symbols)[name],
            "close": market.closes[session, name],
            "open": market.opens[session, name],
            **{column: values[session, name] for column, values in columns.items()},
        }
    ).with_columns(pl.col("date").cast(pl.Date), pl.col("open").fill_nan(None))
    folder.mkdir(exist_ok=True)
    frame.write_parquet(folder / "prices.parquet")
    return folder / "prices.parquet"


@cache
def run_of(market: Market) -> RunRecord:
    return run_alpha(market, SPEC)


def seal_of(market: Market, folder: Path, *, trades: bool = True) -> Path:
    run = run_of(market)
    tables = {kind: table for kind, table in run.tables.items() if trades or kind != "trades"}
    return write_seal(folder / SPEC.alpha_id, RunRecord(run.manifest, tables, None, None, None))


NEEDING_MORE = {"market.dividends", "market.left_out", "market.unscored"}
"""Notices that need dividends, and names that a run stops scoring; most markets here have neither."""


def outcomes_of(seal: Path, prices: Path | None) -> dict[str, NoticeOutcome]:
    report = check(Seal.open(str(seal)), prices=None if prices is None else str(prices))
    assert not report.violations, [violation.message for violation in report.violations]
    return {outcome.notice: outcome for outcome in report.notices if outcome.notice in MARKET}


def unmet(outcomes: dict[str, NoticeOutcome]) -> set[str]:
    """Return the notices that are given or were not checked."""
    return {id_ for id_, outcome in outcomes.items() if outcome.outcome != "pass"}


def given(seal: Path, prices: Path) -> set[str]:
    return {id_ for id_, outcome in outcomes_of(seal, prices).items() if outcome.outcome == "notice"}


def with_paths(market: Market, change: np.ndarray) -> Market:
    """Change the level of every price by a factor, shape (sessions, names)."""
    return replace(market, closes=market.closes * change, opens=market.opens * change)


def lifted(market: Market) -> Market:
    return with_paths(market, np.exp(PER_SESSION * np.arange(market.observed))[:, None])
