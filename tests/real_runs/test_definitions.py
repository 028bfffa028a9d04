"""The definitions compared with an independent engine and libraries on real prices."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pytest

from datasets.figures import rank_ic, ratios
from datasets.figures.panel import WeeklyDeciles, decile_block
from datasets.figures.series import Floats
from datasets.figures.unavailable import Unavailable
from pipeline.maths.deciles import weekly_deciles
from pipeline.maths.information_coefficient import weekly_ic
from pipeline.maths.weekly_signal import weekly_signal
from tests.maths import oracles

SESSIONS_IN_A_YEAR = 252


class Window(NamedTuple):
    weeks: pl.DataFrame
    ledger: pl.DataFrame


def decisions_of(seal: Path) -> pl.DataFrame:
    return pl.read_parquet(seal / "decisions.parquet").rename({"unsmoothed_score": "raw_score"}, strict=False)


def complete_run(seal: Path) -> Window:
    weeks = weekly_signal(pl.read_parquet(seal / "rebalances.parquet"), decisions_of(seal))
    ledger = pl.read_parquet(seal / "portfolio.parquet").filter(pl.col("book") == "long_short").sort("date")
    return Window(weeks, ledger)


def cut(window: Window, period: str | None) -> Window:
    if period is None:
        return window
    inside = pl.col("date").cast(pl.String).str.starts_with(period)
    return Window(window.weeks.filter(inside), window.ledger.filter(inside))


def series(frame: pl.DataFrame, column: str) -> Floats:
    return frame[column].cast(pl.Float64).fill_null(math.nan).to_numpy()


def figures(window: Window) -> dict[str, float | Unavailable]:
    """Return every sealed figure that has a formula here, measured on the window."""
    weeks, ledger = window
    ic = series(weeks, "ic")
    starting, ending = series(ledger, "starting_equity"), series(ledger, "ending_equity")
    daily_turnover = series(ledger, "turnover")
    result = {
        "mean_ic": rank_ic.mean_ic(ic),
        "icir": rank_ic.icir(ic),
        "ic_hit_rate": rank_ic.hit_rate(ic),
        "ic_dispersion": rank_ic.dispersion(ic),
        "ic_coverage": rank_ic.coverage(
            series(weeks, "n_return_obs"),
            series(weeks, "n_symbols"),
            (weeks["week_status"] == "traded").to_numpy(),
        ),
        "information_ratio": ratios.information_ratio(starting, ending),
        "excess_sharpe": ratios.excess_sharpe(starting, ending, series(ledger, "risk_free_return")),
        "pnl": ratios.pnl(starting, ending),
        "max_drawdown": ratios.max_drawdown(starting, ending),
        "max_drawdown_pct": ratios.max_drawdown_pct(starting, ending),
        "annualised_turnover": ratios.turnover(daily_turnover),
        "total_turnover": float(daily_turnover.sum()),
        "risk_free_rate": float(series(ledger, "risk_free_return").mean()) * SESSIONS_IN_A_YEAR,
    }
    if "raw_ic" in weeks.columns:
        raw_ic = series(weeks, "raw_ic")
        result |= {"raw_mean_ic": rank_ic.mean_ic(raw_ic), "raw_icir": rank_ic.icir(raw_ic)}
    return result


@pytest.mark.parametrize(
    ("alpha", "records", "underivable"),
    [
        ("Test_sp500_momentum", 615, set()),
        # This run sealed the figures of a raw signal that it did not record.
        ("sp500_lowvol", 343, {"raw_mean_ic", "raw_icir"}),
    ],
)
def test_every_sealed_figure_is_reproduced(
    shared: Path, alpha: str, records: int, underivable: set[str]
) -> None:
    seal = shared / "seals" / alpha
    sealed: list[dict[str, Any]] = json.loads((seal / "metrics.json").read_text())["records"]
    run = complete_run(seal)
    by_period = {period: figures(cut(run, period)) for period in {record["period"] for record in sealed}}
    assert len(sealed) == records
    missing = set()
    for record in sealed:
        result = by_period[record["period"]].get(record["name"])
        if result is None:
            missing.add(record["name"])
        elif record["value"] is None:
            assert isinstance(result, Unavailable), record
        else:
            assert result == pytest.approx(record["value"], rel=1e-9, abs=1e-9), record
    assert missing == underivable


def test_a_year_of_the_largest_run_matches_the_slow_loops(shared: Path) -> None:
    seal = shared / "seals/Test_sp500_momentum"
    index = pl.read_parquet(seal / "rebalances.parquet").sort("date").tail(30)
    decisions = decisions_of(seal).join(index.select("date"), on="date", how="semi")
    weeks = {row["date"]: row for row in weekly_signal(index, decisions).iter_rows(named=True)}
    for date, rows in oracles.measure_weeks(decisions).items():
        ic, pairs = oracles.spearman([(row["score"], row["forward_return"]) for row in rows])
        assert oracles.close(weeks[date]["ic"], ic)
        assert weeks[date]["n_return_obs"] == pairs
    for lag in (1, 8):
        for date, rho in oracles.autocorrelation(index, decisions, lag).items():
            assert oracles.close(weeks[date][f"rho_lag{lag}"], rho)
    expected = oracles.deciles(decisions)
    for row, wanted in zip(weekly_deciles(decisions).iter_rows(named=True), expected, strict=True):
        for name in set(wanted) - {"date"}:
            assert oracles.close(row[name], wanted[name], 1e-9)


def test_skipped_weeks_stay_in_the_index_but_not_in_horizons(shared: Path) -> None:
    weeks = complete_run(shared / "seals/Test_sp500_reversal").weeks
    skipped = weeks.filter(~pl.col("week_status").is_in(["traded", "pending"]))
    assert weeks.height == 135
    assert skipped.height == 3
    assert skipped["cohort_size"].to_list() == [80] * 3
    assert skipped.select("ic", "^rho_.*$", "^ic_h.*$").null_count().row(0) == (3,) * 13
    first_traded = weeks.filter(pl.col("week_status") == "traded").row(0, named=True)
    assert first_traded["rho_lag1"] is None
    assert first_traded["ic_h1"] == first_traded["raw_ic"] is not None


def test_the_decile_table_of_the_largest_run_accounts_for_every_return(shared: Path) -> None:
    decisions = decisions_of(shared / "seals/Test_sp500_momentum")
    frame = weekly_deciles(decisions)
    rows = WeeklyDeciles(**{name: frame[name].to_numpy() for name in frame.columns})
    block = decile_block(rows, rebalance_weeks=297)
    assert isinstance(block, dict)
    # The last traded week and the pending one have no return yet.
    assert (block["weeks"], block["weeks_skipped"]) == (295, 0)
    assert sum(bucket["n_return_obs"] for bucket in block["buckets"]) == 156_802 - 1_099
    scores = [bucket["mean_score"] for bucket in block["buckets"]]
    assert scores == sorted(scores, key=lambda score: -math.inf if score is None else score)


def test_momentum_ics_match_alphalens(shared: Path) -> None:
    published = json.loads((shared / "data/oracles/oracles.json").read_text())
    theirs = published["third_party_runs_on_these_files"]["alphalens_mom12_1"]
    prices = pl.read_parquet(shared / "data/prices_sp500.parquet", columns=["date", "symbol", "adj_close"])
    window = pl.col("date").is_between(pl.date(2014, 1, 2), pl.date(2019, 12, 31))
    days = prices.filter(window)["date"].n_unique()
    full = prices.filter(window).group_by("symbol").len().filter(pl.col("len") == days)
    assert full.height == theirs["n_assets"]

    price, months = pl.col("adj_close"), pl.col("date").dt.strftime("%Y-%m")
    # Every name on every day of the file, since a shift counts days of the panel, not of the name.
    grid = prices.select(pl.col("date").unique()).join(full.select("symbol"), how="cross")
    panel = grid.join(prices, on=["date", "symbol"], how="left").sort("symbol", "date")
    panel = panel.with_columns(
        (price.shift(21) / price.shift(252) - 1).over("symbol").alias("factor"),
        *((price.shift(-n) / price - 1).over("symbol").alias(f"{n}D") for n in (1, 5, 21)),
    ).drop_nulls("factor")
    first_days = (
        panel.filter(window).group_by(months.alias("month")).agg(pl.col("date").min())["date"].implode()
    )
    sampled = panel.filter(window & pl.col("date").is_in(first_days) & (months <= "2019-10"))
    assert (sampled["date"].n_unique(), sampled.height) == (theirs["n_dates"], theirs["n_rows"])

    for horizon in ("1D", "5D", "21D"):
        ic = series(weekly_ic(sampled.with_columns(forward_return=horizon), "factor"), "ic")
        assert ic.mean() == pytest.approx(theirs["ic_mean"][horizon], abs=1e-12)
        assert rank_ic.dispersion(ic) == pytest.approx(theirs["ic_std"][horizon], abs=1e-12)
        assert ic[0] == pytest.approx(theirs["ic_first_date"][horizon], abs=1e-12)
        assert ic[-1] == pytest.approx(theirs["ic_last_date"][horizon], abs=1e-12)
