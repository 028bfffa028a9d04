"""Legs and concentration of P&L compared with pandas, however a run is split."""

from __future__ import annotations

import datetime as dt
from itertools import pairwise
from typing import Any

import empyrical
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from datasets.figures.concentration import (
    Holdings,
    PnlBreakdown,
    Side,
    SidePnl,
    best_share,
    by_week,
    concentration,
    sharpe_without_best,
)
from datasets.figures.series import Dates, Floats
from datasets.figures.unavailable import Unavailable
from pipeline.snapshot_builder.by_side import BySide
from tests.maths.panels import check
from tests.support.seals import make_seal

YEAR = 252
BOOK = "long_short"


def tables(seal: Any) -> dict[str, pl.DataFrame]:
    results = {kind: pl.read_parquet(seal / f"{kind}.parquet") for kind in ("portfolio", "positions", "pnl")}
    pnl = results["pnl"].with_columns(
        net_pnl=pl.sum_horizontal("market_pnl", "execution_cost", "borrow_cashflow")
    )
    return {**results, "pnl": pnl}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> dict[str, pl.DataFrame]:
    return tables(make_seal(tmp_path_factory.mktemp("concentration"), names=40, weeks=60, seed=4))


def measured(run: dict[str, pl.DataFrame], book: str, cuts: list[int]) -> dict[str, Any]:
    """Measure a book in parts of some sessions each."""
    own = {
        kind: rows.filter(pl.col("book") == book).sort([x for x in ("date", "symbol") if x in rows.columns])
        for kind, rows in run.items()
    }
    ledger = own["portfolio"]
    date = ledger["date"].to_numpy().astype("datetime64[D]")
    sides = BySide(date)
    edges = [date[0], *(date[cut] for cut in sorted(cuts)), date[-1] + 1]
    for kind, look in (("positions", sides.add_positions), ("pnl", sides.add_pnl)):
        for first, last in pairwise(edges):
            look(own[kind].filter(pl.col("date").is_between(first, last, closed="left")))
    starting, ending = (ledger[name].to_numpy() for name in ("starting_equity", "ending_equity"))
    return concentration(date, starting, ending, sides.holdings(), sides.profit())


@pytest.mark.parametrize("book", ["long_short", "long_only", "raw_long_short"])
def test_legs_and_names_match_pandas(run: dict[str, pl.DataFrame], book: str) -> None:
    result = measured(run, book, [])
    own = {kind: rows.filter(pl.col("book") == book).to_pandas() for kind, rows in run.items()}
    ledger, positions, pnl = (own[kind].sort_values("date") for kind in ("portfolio", "positions", "pnl"))
    sessions = ledger["date"].to_list()
    wide = positions.pivot_table(index="date", columns="symbol", values="signed_notional").reindex(sessions)
    wide = wide.reindex(columns=sorted({*positions["symbol"], *pnl["symbol"]}))
    held = (wide.fillna(0.0) > 0).astype(float) - (wide.fillna(0.0) < 0).astype(float)
    before = held.shift(1, fill_value=0.0)
    side = held.where(held != 0, before)
    net, market = (
        pnl.pivot_table(index="date", columns="symbol", values=name)
        .reindex(sessions)
        .reindex(columns=wide.columns)
        for name in ("net_pnl", "market_pnl")
    )
    starting, ending = ledger["starting_equity"].to_numpy(), ledger["ending_equity"].to_numpy()
    sizes = wide.abs()
    occupied = sizes.sum(axis=1) > 0
    herfindahl = sizes.div(sizes.sum(axis=1), axis=0).pow(2).sum(axis=1)[occupied]
    assert result["effective_names"] == pytest.approx((1 / herfindahl).mean(), rel=1e-9)
    assert result["names"] == pytest.approx((wide.abs() > 0).sum(axis=1)[occupied].mean(), rel=1e-12)
    for name, sign in (("long", 1), ("short", -1)):
        leg = result[name]
        if not (held == sign).any(axis=None):
            assert isinstance(leg, Unavailable)
            continue
        earned, gross = (x.where(side == sign, 0.0).fillna(0.0).sum(axis=1).to_numpy() for x in (net, market))
        returns = earned / starting
        names = (held == sign).sum(axis=1)
        assert leg == {
            "pnl": pytest.approx(earned.sum(), rel=1e-9, abs=1e-12),
            "annualised_return": pytest.approx(YEAR * returns.mean(), rel=1e-9, abs=1e-12),
            "sharpe": pytest.approx(empyrical.sharpe_ratio(returns), rel=1e-9),
            "cost": pytest.approx(YEAR * ((gross - earned) / starting).mean(), rel=1e-9),
            "exposure": pytest.approx((sizes.where(held == sign, 0.0).sum(axis=1) / ending).mean(), rel=1e-9),
            "names": pytest.approx(names[names > 0].mean(), rel=1e-12),
        }
    totals = pnl.groupby("symbol")["net_pnl"].sum()
    if totals.sum() > 0:
        assert result["best_names_share"] == pytest.approx(totals.nlargest(10).sum() / totals.sum(), rel=1e-9)


@check
@given(st.lists(st.integers(1, 200), max_size=6, unique=True))
def test_legs_sum_to_the_ledger_however_the_run_is_split(
    run: dict[str, pl.DataFrame], cuts: list[int]
) -> None:
    ledger = run["portfolio"].filter(pl.col("book") == BOOK)
    result = measured(run, BOOK, [cut for cut in cuts if cut < ledger.height])
    assert result == measured(run, BOOK, [])
    flows = ledger.select(pl.sum_horizontal("market_pnl", "execution_cost", "borrow_cashflow").sum()).item()
    legs = result["long"]["pnl"] + result["short"]["pnl"] + result["pnl_of_neither"]
    assert legs == pytest.approx(flows, abs=1e-12)


@pytest.mark.parametrize("unit", [2.0**990, 2.0**-990])
def test_names_do_not_depend_on_the_unit_of_the_equity(run: dict[str, pl.DataFrame], unit: float) -> None:
    notional = pl.col("signed_notional") * unit
    scaled = measured(run | {"positions": run["positions"].with_columns(notional)}, "long_short", [])
    own = measured(run, "long_short", [])
    for name in ("names", "effective_names"):
        assert scaled[name] == own[name]


def test_best_days_and_weeks_match_pandas() -> None:
    draw = np.random.default_rng(3)
    days = pd.bdate_range("2020-01-01", periods=400)
    values: Floats = draw.normal(0.001, 0.01, days.size)
    date: Dates = days.to_numpy().astype("datetime64[D]")
    weekly = pd.Series(values, days).resample("W-SUN").sum()
    weekly = weekly[pd.Series(1, days).resample("W-SUN").sum() > 0]
    assert by_week(date, values) == pytest.approx(weekly.tolist(), rel=1e-9)
    assert best_share(values, values.sum(), "days") == pytest.approx(
        pd.Series(values).nlargest(10).sum() / values.sum(), rel=1e-9
    )
    kept = pd.Series(values).sort_values().iloc[:-10]
    assert sharpe_without_best(values) == pytest.approx(kept.mean() / kept.std() * YEAR**0.5, rel=1e-9)


def test_weeks_run_from_monday_to_sunday() -> None:
    days = [dt.date(2024, 1, 7), dt.date(2024, 1, 8), dt.date(2024, 1, 14), dt.date(2024, 1, 15)]
    date: Dates = np.array(days, dtype="datetime64[D]")
    assert by_week(date, np.array([1.0, 2.0, 4.0, 8.0])).tolist() == [1.0, 6.0, 8.0]
    assert by_week(date[:0], np.empty(0)).size == 0


def test_undetermined_figures_are_withheld() -> None:
    assert isinstance(best_share(np.ones(10), 10.0, "days"), Unavailable)
    assert isinstance(best_share(-np.ones(20), -20.0, "days"), Unavailable)
    assert isinstance(best_share(np.array([0.1, 0.2, -0.3] * 5), 0.1 + 0.2 - 0.3, "days"), Unavailable)
    assert isinstance(sharpe_without_best(np.ones(11)), Unavailable)
    missing_pnl = Unavailable("missing_kind", "the run holds no pnl", "pnl")
    starting, ending = np.array([1.0, -0.5]), np.array([-0.5, 0.1])
    date: Dates = np.array(["2024-01-02", "2024-01-03"], dtype="datetime64[D]")
    sides = BySide(date)
    result = concentration(date, starting, ending, sides.holdings(), missing_pnl)
    assert result["best_names_share"] is result["long"] is missing_pnl
    full = concentration(date, starting, ending, sides.holdings(), sides.profit())
    assert full["long"].code == "nonpositive_equity"
    assert isinstance(full["effective_names"], Unavailable)


@pytest.mark.parametrize("last", [0.0, -0.5])
def test_a_last_close_without_equity_withholds_only_the_exposure_of_a_leg(last: float) -> None:
    date: Dates = np.array(["2024-01-02", "2024-01-03", "2024-01-04"], dtype="datetime64[D]")
    starting, ending = np.array([1.0, 1.0, 1.1]), np.array([1.0, 1.1, last])
    side = Side(np.ones(3), np.full(3, 2.0))
    pnl = SidePnl((ending - starting) / 2, (ending - starting) / 2)
    profit = PnlBreakdown(np.ones(4), pnl, pnl, 0.0)
    leg = concentration(date, starting, ending, Holdings(np.full(3, 4.0), side, side), profit)["long"]
    assert leg["exposure"].code == "nonpositive_equity"
    assert leg["exposure"].text.startswith("equity is not above 0 at the close of 1 of 3 sessions")
    assert [name for name, figure in leg.items() if isinstance(figure, Unavailable)] == ["exposure"]
