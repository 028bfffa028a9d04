"""Slow reference implementations, one loop per definition."""

from __future__ import annotations

import datetime as dt
import math
import statistics
from collections.abc import Sequence
from typing import Any

import polars as pl
from scipy import stats

Row = dict[str, Any]


def measure_weeks(frame: pl.DataFrame) -> dict[dt.date, list[Row]]:
    weeks: dict[dt.date, list[Row]] = {}
    for row in frame.sort("date", "symbol").iter_rows(named=True):
        weeks.setdefault(row["date"], []).append(row)
    return weeks


def spearman(pairs: Sequence[tuple[float | None, float | None]]) -> tuple[float | None, int]:
    """Rank correlation by SciPy over the pairs with both values."""
    known = [(x, y) for x, y in pairs if x is not None and y is not None]
    if len(known) < 2 or len({x for x, _ in known}) == 1 or len({y for _, y in known}) == 1:
        return None, len(known)
    return float(stats.spearmanr([x for x, _ in known], [y for _, y in known]).statistic), len(known)


def mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None


def z_scores(values: Sequence[float | None]) -> list[float | None]:
    known = [value for value in values if value is not None]
    if len(set(known)) < 2:
        return [None] * len(values)
    centre, spread = statistics.fmean(known), statistics.pstdev(known)
    return [None if value is None else (value - centre) / spread for value in values]


def clock(rebalances: pl.DataFrame) -> list[dt.date]:
    return [
        row["date"]
        for row in rebalances.sort("date").iter_rows(named=True)
        if row["week_status"] in {"traded", "pending"}
    ]


def horizon_ic(
    rebalances: pl.DataFrame, decisions: pl.DataFrame, horizon: int
) -> dict[dt.date, float | None]:
    ticks, weeks = clock(rebalances), measure_weeks(decisions)
    results: dict[dt.date, float | None] = {}
    for t, date in enumerate(ticks):
        pairs = []
        for row in weeks.get(date, []):
            factors = [
                other["forward_return"]
                for later in ticks[t : t + horizon]
                for other in weeks.get(later, [])
                if other["symbol"] == row["symbol"]
            ]
            if len(factors) == horizon and None not in factors:
                pairs.append((row["raw_score"], math.prod(1 + factor for factor in factors) - 1))
        results[date] = spearman(pairs)[0]
    return results


def autocorrelation(
    rebalances: pl.DataFrame, decisions: pl.DataFrame, lag: int
) -> dict[dt.date, float | None]:
    ticks, weeks = clock(rebalances), measure_weeks(decisions)
    results: dict[dt.date, float | None] = {}
    for t, date in enumerate(ticks):
        before = (
            {row["symbol"]: row["raw_score"] for row in weeks.get(ticks[t - lag], [])} if t >= lag else {}
        )
        results[date] = spearman(
            [(row["raw_score"], before.get(row["symbol"])) for row in weeks.get(date, [])]
        )[0]
    return results


def deciles(decisions: pl.DataFrame) -> list[Row]:
    rows = []
    for date, names in measure_weeks(decisions).items():
        scored = sorted(
            (row for row in names if row["raw_score"] is not None),
            key=lambda r: (r["raw_score"], r["symbol"]),
        )
        n = len(scored)
        if n < 20 or scored[0]["raw_score"] == scored[-1]["raw_score"]:
            continue
        z = dict(zip([r["symbol"] for r in scored], z_scores([r["raw_score"] for r in scored]), strict=True))
        buckets: dict[int, list[Row]] = {}
        for rank, row in enumerate(scored, start=1):
            buckets.setdefault(math.floor(10 * (rank - 1) / n) + 1, []).append(row)
        for bucket in sorted(buckets):
            inside = buckets[bucket]
            returns = [r["forward_return"] for r in inside]
            rows.append(
                {
                    "date": date,
                    "bucket": bucket,
                    "n_symbols": len(inside),
                    "mean_score": mean([r["raw_score"] for r in inside]),
                    "mean_score_z": mean([z[r["symbol"]] for r in inside]),
                    "mean_long_short_weight": mean([r["long_short_target_weight"] for r in inside]),
                    "mean_long_only_weight": mean([r["long_only_target_weight"] for r in inside]),
                    "mean_forward_return": mean(returns),
                    "ic": spearman([(r["raw_score"], r["forward_return"]) for r in inside])[0],
                    "n_return_obs": sum(value is not None for value in returns),
                }
            )
    return rows


def close(actual: float | None, expected: float | None, tolerance: float = 1e-12) -> bool:
    if actual is None or expected is None:
        return actual is expected
    return math.isclose(actual, expected, rel_tol=tolerance, abs_tol=tolerance)
