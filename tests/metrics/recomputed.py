"""The metrics of a run recomputed from its sealed files with pandas, SciPy and statsmodels, one week at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import statsmodels.api as sm
from scipy.stats import spearmanr

from pipeline.snapshot_builder import build_seal
from tests.support.application import running
from tests.support.client import ApiClient

Data = dict[str, Any]


class Recomputed:
    """A run's files, cut to a window.

    Parameters
    ----------
    seal
        Folder of the seal.
    first, last
        Inclusive days; empty for an open end.
    """

    def __init__(self, seal: Path, first: str = "", last: str = "") -> None:
        index = pd.read_parquet(seal / "rebalances.parquet").sort_values("date")
        cross = pd.read_parquet(seal / "decisions.parquet").sort_values(["date", "symbol"])
        ledger = pd.read_parquet(seal / "portfolio.parquet").query("book == 'long_short'").sort_values("date")
        self.index, self.decisions, self.ledger = (_between(x, first, last) for x in (index, cross, ledger))
        self.raw = "unsmoothed_score" in cross
        status = dict(zip(self.index["date"], self.index["week_status"], strict=True))
        # One matrix per column, weeks by names, so that a name has the same position in every week.
        self.dates = list(status)
        self.traded = [status[date] == "traded" for date in self.dates]
        self.in_force = [x for x, date in enumerate(self.dates) if status[date] in ("traded", "pending")]

    def matrix(self, column: str) -> Any:
        table = self.decisions.pivot_table(column, "date", "symbol", dropna=False)
        names = sorted(self.decisions["symbol"].unique())
        return table.reindex(index=self.dates, columns=names).to_numpy(float)

    @cached_property
    def score(self) -> Any:
        return self.matrix("score")

    @cached_property
    def raw_score(self) -> Any:
        return self.matrix("unsmoothed_score")

    @cached_property
    def forward(self) -> Any:
        return self.matrix("forward_return")

    @cached_property
    def ic(self) -> Any:
        return weekly(self.score, self.forward)

    @cached_property
    def raw_ic(self) -> Any:
        return weekly(self.raw_score, self.forward)

    @cached_property
    def core(self) -> Data:
        ic = pd.Series(self.ic).dropna()
        start, end = self.ledger["starting_equity"].to_numpy(), self.ledger["ending_equity"].to_numpy()
        returns = pd.Series(end / start - 1)
        excess = returns - self.ledger["risk_free_return"].to_numpy()
        equity = np.column_stack([start, end]).ravel()
        peak = np.maximum.accumulate(equity)[1::2]
        return {
            "ic": ic.mean(),
            "icir": ic.mean() / ic.std() * math.sqrt(52),
            "information_ratio": returns.mean() / returns.std() * math.sqrt(252),
            "excess_sharpe": excess.mean() / excess.std() * math.sqrt(252),
            "pnl": end[-1] - start[0],
            "max_drawdown": (peak - end).max(),
            "max_drawdown_pct": ((peak - end) / peak).max() * 100,
            "turnover": self.ledger["turnover"].mean() * 252,
        }

    @property
    def rank_ic(self) -> Data:
        ic = pd.Series(self.ic).dropna()
        both = self.decisions[["score", "forward_return"]].notna().all(axis=1)
        share = both.groupby(self.decisions["date"]).mean()
        traded = [date for date, counts in zip(self.dates, self.traded, strict=True) if counts]
        result = {
            "conditioned": {
                "hit_rate": (ic > 0).mean(),
                "dispersion": ic.std(),
                "coverage": share[share.index.isin(traded)].mean(),
            }
        }
        if self.raw:
            raw = pd.Series(self.raw_ic).dropna()
            result["raw"] = {"ic": raw.mean(), "icir": raw.mean() / raw.std() * math.sqrt(52)}
        return result

    @property
    def nwt(self) -> Data:
        result = {
            "ic": newey_west(self.ic),
            "ir": newey_west(self.ledger["ending_equity"] / self.ledger["starting_equity"] - 1),
        }
        return {**result, "ic_score_panel": newey_west(self.raw_ic)} if self.raw else result

    @cached_property
    def weekly_buckets(self) -> pd.DataFrame:
        """One row per week and bucket, of the weeks with 20 scored names and a forward return."""
        names = self.decisions.dropna(subset="unsmoothed_score")
        names = names.sort_values(["date", "unsmoothed_score", "symbol"])
        week = names.groupby("date")
        measured = (week["symbol"].transform("size") >= 20) & (week["forward_return"].transform("count") > 0)
        names = names[measured]
        week = names.groupby("date")
        score = week["unsmoothed_score"]
        deviation = score.transform(lambda x: x.std(ddof=0) if x.min() < x.max() else np.nan)
        names = names.assign(
            z=(names["unsmoothed_score"] - score.transform("mean")) / deviation,
            rank=10 * week.cumcount() // week["symbol"].transform("size") + 1,
        )
        bucket = names.groupby(["date", "rank"])
        table = bucket.agg(
            mean_n_symbols=("symbol", "size"),
            mean_score=("unsmoothed_score", "mean"),
            mean_score_z=("z", "mean"),
            mean_long_short_weight=("long_short_target_weight", "mean"),
            mean_long_only_weight=("long_only_target_weight", "mean"),
            mean_forward_return=("forward_return", "mean"),
        )
        table["ic"] = [rank_correlation(x["unsmoothed_score"], x["forward_return"]) for _, x in bucket]
        table["n_return_obs"] = bucket["forward_return"].count()
        return table.reset_index()

    @property
    def buckets(self) -> list[Data]:
        by_rank = self.weekly_buckets.drop(columns="date").groupby("rank")
        means = by_rank.mean().assign(n_return_obs=by_rank["n_return_obs"].sum(), weeks=by_rank.size())
        rows: list[Data] = means.reset_index().to_dict("records")  # type: ignore[assignment]  # keys are names
        return [{**row, "bucket": f"Q{row['rank']}"} for row in rows]

    @property
    def ic_weekly(self) -> list[Data]:
        return [
            {"date": x, "ic": ic}
            for x, ic in zip(map(_day, self.dates), self.ic, strict=True)
            if not math.isnan(ic)
        ]

    @property
    def spreads(self) -> list[Data]:
        table = self.weekly_buckets.pivot_table("mean_forward_return", "date", "rank")
        spread = (table[10] - table[1]).dropna()
        return [{"date": _day(date), "spread": x} for date, x in spread.items()]

    @property
    def term_structure(self) -> list[Data]:
        results = []
        for horizon in (1, 2, 4, 8):
            ics = []
            for place in range(len(self.in_force) - horizon + 1):
                held = self.in_force[place : place + horizon]
                ics.append(
                    rank_correlation(self.raw_score[held[0]], (1 + self.forward[held]).prod(axis=0) - 1)
                )
            known = pd.Series(ics, dtype=float).dropna()
            results.append({"horizon_weeks": horizon, "mean_ic": known.mean(), "weeks": len(known)})
        return results

    @property
    def autocorrelation(self) -> list[Data]:
        results = []
        for lag in range(1, 9):
            pairs = zip(self.in_force, self.in_force[lag:], strict=False)
            rho = [rank_correlation(self.raw_score[now], self.raw_score[before]) for before, now in pairs]
            known = pd.Series(rho, dtype=float).dropna()
            results.append({"lag_weeks": lag, "rho": known.mean(), "weeks": len(known)})
        return results


def weekly(x: Any, y: Any) -> list[float]:
    return [rank_correlation(*rows) for rows in zip(x, y, strict=True)]


def rank_correlation(x: Any, y: Any) -> float:
    x, y = np.asarray(x, float), np.asarray(y, float)
    both = ~(np.isnan(x) | np.isnan(y))
    x, y = x[both], y[both]
    if x.size < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return math.nan
    return float(spearmanr(x, y).statistic)


def newey_west(series: Any) -> Data:
    x = pd.Series(series, dtype=float).dropna().to_numpy()
    lag = int(np.floor(4 * (len(x) / 100) ** (2 / 9)))
    fit = sm.OLS(x, np.ones_like(x)).fit(
        cov_type="HAC", cov_kwds={"maxlags": lag, "use_correction": False}, use_t=True
    )
    return {
        "t_stat": float(fit.tvalues[0]),
        "p_value": float(fit.pvalues[0]),
        "lag": lag,
        "n": len(x),
        "mean": float(fit.params[0]),
        "standard_error": float(fit.bse[0]),
    }


def _day(date: Any) -> str:
    return str(pd.Timestamp(date).date())


def _between(frame: pd.DataFrame, first: str, last: str) -> pd.DataFrame:
    days = pd.to_datetime(frame["date"])
    return frame[(days >= pd.Timestamp(first or "1900-01-01")) & (days <= pd.Timestamp(last or "2200-01-01"))]


def same(value: Any, *, rel: float = 1e-10, abs_: float = 1e-12) -> Any:
    if isinstance(value, dict):
        return {key: same(member, rel=rel, abs_=abs_) for key, member in value.items()}
    if isinstance(value, list):
        return [same(member, rel=rel, abs_=abs_) for member in value]
    return pytest.approx(value, rel=rel, abs=abs_) if isinstance(value, float) else value


class Published:
    """Seals, published and served."""

    def __init__(self, folders: dict[str, Path], api: ApiClient) -> None:
        self.folders = folders
        self.api = api
        self.key = api.key()

    def data(self, alpha: str, query: str = "panel=1") -> Any:
        return self.api.json(f"/v1/alphas/{alpha}/metrics?{query}", self.key)["data"]


def serving(folders: dict[str, Path], root: Path) -> Iterator[Published]:
    root.mkdir()
    for seal in folders.values():
        build_seal(str(seal), root)
    with running(root) as api:
        yield Published(folders, api)


def compare(data: Any, run: Recomputed, *, sealed_test: bool = True) -> None:
    """Compare every computed figure of an answer with the recomputation on the same window."""
    if data["within_window"] is not None:
        within = data["within_window"]
        data = {**data, **within, "nwt": {**data["nwt"], **within["nwt"]}}
        assert all(_derived(entry) for entry in within["core"].values())
    core = {name: x["value"] for name, x in data["core"].items() if name in run.core and _derived(x)}
    assert core == same({name: run.core[name] for name in core})
    for family, entries in run.rank_ic.items():
        served = {name: x["value"] for name, x in data["rank_ic"][family].items() if _derived(x)}
        assert served == same({name: entries[name] for name in served})
    for block, expected in run.nwt.items():
        if block == "ic" and not sealed_test:
            continue
        actual = data["nwt"][block]
        assert {name: actual[name] for name in expected} == same(expected)
    if not run.raw:
        assert data["ic_deciles"] is data["panel"] is None
        return
    assert data["ic_deciles"]["buckets"] == same(run.buckets)
    panel = data["panel"]
    assert panel["ic_weekly"] == same(run.ic_weekly)
    assert panel["decile_spread_weekly"] == same(run.spreads)
    # Names whose prices moved by the same amount over several weeks, in different steps, are tied up to rounding: which
    # comes first depends on how the product is computed, and changes the mean of some hundred weeks by less than this.
    assert panel["ic_term_structure"] == same(run.term_structure, abs_=2e-6)
    assert panel["rank_autocorrelation"] == same(run.autocorrelation)


def _derived(entry: Any) -> bool:
    return bool(entry["source_kind"] == "derived")


def middle(folder: Path) -> tuple[str, str]:
    """Return a window inside the run: its second quarter and a little more."""
    days = sorted(str(day) for day in pl.read_parquet(folder / "portfolio.parquet")["date"].unique())
    return days[len(days) // 4], days[len(days) // 2 + 3]
