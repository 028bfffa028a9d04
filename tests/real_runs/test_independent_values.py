"""Served figures of a real run equal those of pandas and SciPy from its sealed files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from pipeline.snapshot_builder import build_seal
from tests.support.application import running

ALPHA = "Test_sp500_momentum"
TOLERANCE = 1e-12
WINDOWS = [("", ""), ("2019-02-14", "2020-04-01"), ("2022-06-01", ""), ("", "2017-08-31")]

Rows = Callable[..., tuple[pd.DataFrame, dict[str, Any]]]


@pytest.fixture(scope="module")
def seal(shared: Path) -> Path:
    return shared / "seals" / ALPHA


@pytest.fixture(scope="module")
def rows(seal: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rows]:
    """Return a function that pages through a collection and returns all rows and the last page's meta."""
    root = tmp_path_factory.mktemp("real") / "published"
    build_seal(str(seal), root)
    with running(root) as api:
        key = api.key(raw=True)

        def _rows(path: str, **query: str) -> tuple[pd.DataFrame, dict[str, Any]]:
            results: list[dict[str, Any]] = []
            requested = {name: value for name, value in query.items() if value} | {"limit": "5000"}
            while True:
                query_string = urlencode(requested | {"offset": str(len(results))})
                body = api.json(f"/v1/alphas/{ALPHA}/{path}?{query_string}", key)
                results += body["data"]
                assert body["pagination"]["total"] >= len(results)
                if not body["pagination"]["has_more"]:
                    assert body["pagination"]["total"] == len(results)
                    return pd.DataFrame(results), body["meta"]

        yield _rows


def _window(frame: pd.DataFrame, first: str, last: str) -> pd.DataFrame:
    days = frame["date"].astype(str)
    return frame[(days >= (first or "0")) & (days <= (last or "9"))]


def _equal(served: pd.Series, expected: pd.Series | np.ndarray) -> None:
    np.testing.assert_allclose(
        served.to_numpy(dtype=float), np.asarray(expected, dtype=float), rtol=TOLERANCE, atol=1e-300
    )


def _standing(week: pd.DataFrame, score: str) -> pd.DataFrame:
    values = week[score].to_numpy(dtype=float)
    valid = ~np.isnan(values)
    z, rank = np.full(len(week), np.nan), np.full(len(week), np.nan)
    z[valid] = stats.zscore(values[valid])
    rank[valid] = stats.rankdata(-values[valid])
    direction = np.where(valid, np.sign(values), np.nan)
    return pd.DataFrame(
        {"z": z, "rank": rank, "direction": direction, "confidence": np.abs(values), "cohort": valid.sum()},
        index=week.index,
    )


@pytest.mark.parametrize(("first", "last"), WINDOWS)
def test_cross_sections(rows: Rows, seal: Path, first: str, last: str) -> None:
    sealed = _window(pd.read_parquet(seal / "decisions.parquet"), first, last)
    sealed = sealed.sort_values(["date", "symbol"]).reset_index(drop=True)
    served, meta = rows("scores", fields="all", **{"from": first, "to": last})
    assert meta["fields"] == "all"
    assert len(served) == len(sealed)
    assert (served["symbol"] == sealed["symbol"]).all()
    assert (served["date"] == sealed["date"].astype(str)).all()
    for prefix, score in (("", "score"), ("raw_", "unsmoothed_score")):
        expected = sealed.groupby("date", group_keys=False)[[score]].apply(_standing, score=score)
        _equal(served[f"{prefix}score"], sealed[score])
        # A score next to the mean loses its digits in the subtraction, in any order of sums: in standard deviations
        # the agreement is absolute there.
        np.testing.assert_allclose(
            served[f"{prefix}score_z"].to_numpy(dtype=float), expected["z"], rtol=TOLERANCE, atol=1e-14
        )
        _equal(served[f"{prefix}average_rank"], expected["rank"])
        _equal(served[f"{prefix}direction"], expected["direction"])
        _equal(served[f"{prefix}confidence"], expected["confidence"])
        if not prefix:
            _equal(served["cohort_size"], expected["cohort"])
        for weight in ("long_short_target_weight", "long_only_target_weight"):
            _equal(served[f"{prefix}{weight}"], sealed[f"{prefix}{weight}"])
    _equal(served["forward_return"], sealed["forward_return"])
    assert "unsmoothed_score" not in served.columns


@pytest.mark.parametrize("book", ["long_short", "raw_long_only"])
@pytest.mark.parametrize(("first", "last"), WINDOWS)
def test_ledger(rows: Rows, seal: Path, book: str, first: str, last: str) -> None:
    sealed = _window(pd.read_parquet(seal / "portfolio.parquet").query("book == @book"), first, last)
    sealed = sealed.sort_values("date").reset_index(drop=True)
    served, _ = rows("portfolio", book=book, **{"from": first, "to": last})
    assert (served["date"] == sealed["date"].astype(str)).all()
    assert (pd.to_datetime(served["timestamp"]) == sealed["timestamp"]).all()
    numbers = [name for name in sealed.columns if name not in ("book", "date", "timestamp")]
    assert len(numbers) == 18
    for name in numbers:
        _equal(served[name], sealed[name])
    assert (served["equity_basis"] == 1.0).all()


@pytest.mark.parametrize("book", ["long_short", "raw_long_only"])
@pytest.mark.parametrize(("first", "last"), WINDOWS)
def test_equity_curve(rows: Rows, seal: Path, book: str, first: str, last: str) -> None:
    sealed = _window(pd.read_parquet(seal / "portfolio.parquet").query("book == @book"), first, last)
    sealed = sealed.sort_values("date").reset_index(drop=True)
    served, meta = rows("equity-curve", book=book, **{"from": first, "to": last})
    start, end = sealed["starting_equity"], sealed["ending_equity"]
    returns = (end - start) / start
    # Interleaved open, close, open, close: the opening equity counts towards the peak.
    peak = np.maximum.accumulate(np.column_stack([start, end]).ravel())[1::2]
    growth = (1 + returns).cumprod()
    _equal(served["period_return"], returns)
    _equal(served["peak_equity"], peak)
    _equal(served["drawdown"], peak - end)
    _equal(served["drawdown_pct"], (peak - end) / peak * 100)
    np.testing.assert_allclose(1 + served["cumulative_return"], growth, rtol=TOLERANCE)
    for name in ("gross_exposure", "net_exposure", "turnover"):
        _equal(served[name], sealed[name])
    summary, fall = meta["summary"], (peak - end) / peak * 100
    assert summary["book"] == book
    assert summary["sessions"] == len(sealed)
    assert (summary["first_date"], summary["last_date"]) == (served["date"].iloc[0], served["date"].iloc[-1])
    expected = {
        "starting_equity": start.iloc[0],
        "ending_equity": end.iloc[-1],
        "peak_equity": peak[-1],
        "total_return": end.iloc[-1] / start.iloc[0] - 1,
        "cumulative_return_pct": (growth.iloc[-1] - 1) * 100,
        "max_drawdown": (peak - end).max(),
        "max_drawdown_pct": fall.max(),
    }
    for name, value in expected.items():
        assert summary[name] == pytest.approx(
            value, rel=1e-10 if name.endswith(("return", "return_pct")) else TOLERANCE
        )
    assert summary["max_drawdown_date"] == served["date"].iloc[int(np.argmax(fall))]


def test_holdings_pnl_and_fills(rows: Rows, seal: Path) -> None:
    window = {"from": "2019-03-01", "to": "2019-05-31"}
    for kind, numbers in (
        ("positions", ["quantity", "mark_price", "signed_notional", "weight"]),
        ("pnl", ["market_pnl", "execution_cost", "borrow_cashflow"]),
    ):
        sealed = _window(
            pd.read_parquet(seal / f"{kind}.parquet").query("book == 'long_only'"), *window.values()
        )
        sealed = sealed.sort_values(["date", "symbol"]).reset_index(drop=True)
        served, _ = rows(kind, book="long_only", **window)
        assert (served["symbol"] == sealed["symbol"]).all()
        for name in numbers:
            _equal(served[name], sealed[name])
        if kind == "pnl":
            _equal(
                served["net_pnl"], sealed["market_pnl"] + sealed["execution_cost"] + sealed["borrow_cashflow"]
            )
    sealed = pd.read_parquet(seal / "trades.parquet").query("book == 'long_short_adjustments'")
    sealed = sealed.sort_values(["timestamp", "symbol"], kind="stable").reset_index(drop=True)
    served, _ = rows("trades", book="long_short_adjustments")
    assert (pd.to_datetime(served["timestamp"]) == sealed["timestamp"]).all()
    for name in ("quantity", "mid_price", "fill_price", "fee", "execution_cost"):
        _equal(served[name], sealed[name])
    for name in ("symbol", "phase"):
        assert (served[name] == sealed[name]).all()


def test_index_and_pending_week(rows: Rows, seal: Path) -> None:
    sealed = pd.read_parquet(seal / "rebalances.parquet").sort_values("date").reset_index(drop=True)
    sizes = pd.read_parquet(seal / "decisions.parquet").groupby("date").size()
    served, _ = rows("rebalances")
    assert (served["date"] == sealed["date"].astype(str)).all()
    assert (served["week_status"] == sealed["week_status"]).all()
    assert (served["n_symbols"] == sizes.reindex(sealed["date"]).fillna(0).to_numpy()).all()
    pending = served.query("week_status == 'pending'")["date"].iloc[0]
    week, meta = rows(f"rebalances/{pending}")
    assert meta["week_status"] == "pending"
    assert len(week) == meta["n_symbols"]
    assert week["fill_at"].isna().all()
    assert week["forward_return"].isna().all()
    assert week["score"].is_monotonic_decreasing
