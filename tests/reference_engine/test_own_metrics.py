"""Sealed figures compared with pandas, SciPy and empyrical on the sealed files."""

from __future__ import annotations

from typing import Any

import empyrical
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import spearmanr

from examples.reference_engine.own_metrics import own_metrics

MONEY = {1.0: "ratio", 1e6: "base_currency_units"}


def weekly_ic(seal: Any, column: str = "score") -> pd.Series:
    frame = seal["decisions"].to_pandas().dropna(subset=[column, "forward_return"])
    weeks = {
        day: spearmanr(week[column], week["forward_return"]).statistic for day, week in frame.groupby("date")
    }
    series = pd.Series(weeks)
    series.index = pd.to_datetime(series.index)
    return series


def ledger(seal: Any) -> pd.DataFrame:
    book = seal["portfolio"].filter(pl.col("book") == "long_short").to_pandas()
    dated: pd.DataFrame = book.set_index(pd.to_datetime(book["date"]))
    return dated


def to_days(frame: pd.DataFrame | pd.Series) -> pd.DatetimeIndex:
    assert isinstance(frame.index, pd.DatetimeIndex)
    return frame.index


def sealed(seal: Any, name: str, period: str | None = None) -> dict[str, Any]:
    (record,) = [r for r in seal.metrics if r["name"] == name and r["period"] == period]
    return dict(record)


def near(expected: float) -> Any:
    return pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_information_coefficients(seal: Any) -> None:
    ic = weekly_ic(seal)
    assert len(ic) > 20
    assert sealed(seal, "mean_ic")["value"] == near(ic.mean())
    assert sealed(seal, "icir")["value"] == near(ic.mean() / ic.std() * np.sqrt(52))
    assert sealed(seal, "ic_hit_rate")["value"] == near((ic > 0).mean())
    assert sealed(seal, "ic_dispersion")["value"] == near(ic.std())
    assert sealed(seal, "mean_ic")["annualised"] is False
    assert sealed(seal, "icir")["annualised"] is True


def test_raw_information_coefficients_are_sealed_with_the_raw_signal(seal: Any) -> None:
    names = {record["name"] for record in seal.metrics}
    if "unsmoothed_score" not in seal["decisions"].columns:
        assert not names & {"raw_mean_ic", "raw_icir"}
        return
    ic = weekly_ic(seal, "unsmoothed_score")
    assert sealed(seal, "raw_mean_ic")["value"] == near(ic.mean())
    assert sealed(seal, "raw_icir")["value"] == near(ic.mean() / ic.std() * np.sqrt(52))


def test_coverage_counts_traded_weeks(seal: Any) -> None:
    frame = seal["decisions"].to_pandas()
    frame["both"] = frame["score"].notna() & frame["forward_return"].notna()
    share = frame.groupby("date")["both"].mean()
    traded = seal["rebalances"].filter(pl.col("week_status") == "traded")["date"].to_list()
    assert sealed(seal, "ic_coverage")["value"] == near(share.loc[pd.to_datetime(traded)].mean())


def test_ledger_ratios_and_drawdown(seal: Any) -> None:
    book = ledger(seal)
    returns = book["ending_equity"] / book["starting_equity"] - 1
    risk_free = book["risk_free_return"]
    assert sealed(seal, "information_ratio")["value"] == near(empyrical.sharpe_ratio(returns))
    assert sealed(seal, "excess_sharpe")["value"] == near(empyrical.sharpe_ratio(returns, risk_free))
    assert sealed(seal, "max_drawdown_pct")["value"] == near(-100 * empyrical.max_drawdown(returns))
    assert sealed(seal, "risk_free_rate")["value"] == near(risk_free.mean() * 252)
    assert sealed(seal, "pnl")["value"] == near(book["ending_equity"].iloc[-1] - seal.basis)
    path = pd.concat([pd.Series([seal.basis]), book["ending_equity"]])
    assert sealed(seal, "max_drawdown")["value"] == near((path.cummax() - path).max())


def test_turnover(seal: Any) -> None:
    turnover = ledger(seal)["turnover"]
    assert sealed(seal, "annualised_turnover")["value"] == near(turnover.mean() * 252)
    assert sealed(seal, "total_turnover")["value"] == near(turnover.sum())
    assert sealed(seal, "annualised_turnover")["unit"] == "per_year"
    assert sealed(seal, "total_turnover")["unit"] == "period_sum"


@pytest.mark.parametrize(("scope", "pattern"), [("yearly", "%Y"), ("monthly", "%Y-%m")])
def test_period_figures_match_figures_of_the_part(seal: Any, scope: str, pattern: str) -> None:
    book, ic = ledger(seal), weekly_ic(seal)
    weeks = pd.to_datetime(pd.Series(seal["rebalances"]["date"].to_list()))
    periods = sorted({*to_days(book).strftime(pattern), *weeks.dt.strftime(pattern)})
    assert [r["period"] for r in seal.metrics if r["scope"] == scope and r["name"] == "pnl"] == periods
    for period in periods:
        part, weekly = (
            book[to_days(book).strftime(pattern) == period],
            ic[to_days(ic).strftime(pattern) == period],
        )
        if part.empty:
            assert sealed(seal, "pnl", period)["value"] is None
        else:
            start, end = part["starting_equity"], part["ending_equity"]
            peak = pd.Series(np.maximum(start, end), index=part.index).cummax()
            assert sealed(seal, "pnl", period)["value"] == near(end.iloc[-1] - start.iloc[0])
            assert sealed(seal, "max_drawdown", period)["value"] == near((peak - end).max())
            assert sealed(seal, "total_turnover", period)["value"] == near(part["turnover"].sum())
            if len(part) > 1:
                ratio = empyrical.sharpe_ratio(end / start - 1)
                assert sealed(seal, "information_ratio", period)["value"] == near(ratio)
        mean = sealed(seal, "mean_ic", period)["value"]
        assert mean is None if weekly.empty else mean == near(weekly.mean())
        icir = sealed(seal, "icir", period)["value"]
        assert icir is None if len(weekly) < 2 else icir == near(weekly.mean() / weekly.std() * np.sqrt(52))


def test_money_is_labelled_with_the_ledgers_unit(seal: Any) -> None:
    for name in ("pnl", "max_drawdown"):
        assert sealed(seal, name)["unit"] == MONEY[seal.basis]
        assert sealed(seal, name)["source_kind"] == "fact"
    assert sealed(seal, "max_drawdown_pct")["unit"] == "percentage_points"


def test_undetermined_figures_are_null_not_zero(default_seal: Any) -> None:
    decisions = default_seal["decisions"].with_columns(forward_return=pl.lit(None, dtype=pl.Float64))
    one_session = default_seal["portfolio"].group_by("book").head(1)
    records = own_metrics(decisions, default_seal["rebalances"], one_session)
    overall = {r["name"]: r["value"] for r in records if r["scope"] == "overall"}
    for name in ("mean_ic", "icir", "raw_mean_ic", "raw_icir", "ic_hit_rate", "ic_dispersion"):
        assert overall[name] is None
    assert overall["information_ratio"] is None
    assert overall["excess_sharpe"] is None
    assert overall["ic_coverage"] == 0
    assert overall["pnl"] != 0


def test_a_constant_signal_has_no_information_coefficient(default_seal: Any) -> None:
    decisions = default_seal["decisions"].with_columns(score=pl.lit(0.5))
    records = own_metrics(decisions, default_seal["rebalances"], default_seal["portfolio"])
    overall = {r["name"]: r["value"] for r in records if r["scope"] == "overall"}
    assert overall["mean_ic"] is None
    assert overall["raw_mean_ic"] is not None
