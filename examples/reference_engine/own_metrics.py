"""The figures that the engine itself states in `metrics.json`.

They are computed from the ledger and the weekly decisions without any code of the pipeline, so that reconciliation compares
two implementations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from examples.reference_engine.sessions import Floats

Record = dict[str, Any]

_WEEKS_PER_YEAR = 52
_SESSIONS_PER_YEAR = 252


@dataclass(frozen=True)
class _Figure:
    """Label of a figure, and whether it is also stated by year and month."""

    unit: str
    source_kind: str = "metric"
    annualised: bool = False
    by_period: bool = False


def own_metrics(decisions: pl.DataFrame, rebalances: pl.DataFrame, portfolio: pl.DataFrame) -> list[Record]:
    """State the figures of a run, overall, by year and by month.

    The information coefficient of a week is the rank correlation (ties averaged) of score and forward
    return over the names with both; ratios use the sample deviation (ddof 1). An undefined figure is null.

    Parameters
    ----------
    decisions, rebalances, portfolio
        Tables of the same run; ledger figures are of the `long_short` book.

    Returns
    -------
    list of dict
        The records of `metrics.json`, periods ascending within a scope.
    """
    ledger = portfolio.filter(pl.col("book") == "long_short").sort("date")
    money = "ratio" if ledger["starting_equity"][0] == 1.0 else "base_currency_units"
    figures = {
        "mean_ic": _Figure("ratio", by_period=True),
        "icir": _Figure("ratio", annualised=True, by_period=True),
        "raw_mean_ic": _Figure("ratio"),
        "raw_icir": _Figure("ratio", annualised=True),
        "ic_hit_rate": _Figure("ratio"),
        "ic_dispersion": _Figure("ratio"),
        "ic_coverage": _Figure("ratio"),
        "information_ratio": _Figure("ratio", annualised=True, by_period=True),
        "excess_sharpe": _Figure("ratio", annualised=True, by_period=True),
        "risk_free_rate": _Figure("ratio", annualised=True),
        "pnl": _Figure(money, "fact", by_period=True),
        "max_drawdown": _Figure(money, "fact", by_period=True),
        "max_drawdown_pct": _Figure("percentage_points", "fact", by_period=True),
        "annualised_turnover": _Figure("per_year", annualised=True),
        "total_turnover": _Figure("period_sum", by_period=True),
    }
    ics = {"": _weekly_ic(decisions, "score")}
    if "unsmoothed_score" in decisions.columns:
        ics["raw_"] = _weekly_ic(decisions, "unsmoothed_score")
    coverage = _weekly_coverage(decisions, rebalances)

    records: list[Record] = []
    for scope, pattern in (("overall", None), ("yearly", "%Y"), ("monthly", "%Y-%m")):
        for period in _periods(ledger, rebalances, pattern):
            within = _period_filter(pattern, period)
            values = {
                **_ledger_figures(within(ledger)),
                **_ic_figures({prefix: within(weeks) for prefix, weeks in ics.items()}),
                "ic_coverage": _mean(within(coverage)["share"].to_numpy()),
            }
            records.extend(
                {
                    "name": name, "scope": scope, "period": period, "value": values[name],
                    "unit": figure.unit, "source_kind": figure.source_kind, "annualised": figure.annualised,
                }
                for name, figure in figures.items()
                if name in values and (figure.by_period or scope == "overall")
            )  # fmt: skip
    return records


def _periods(ledger: pl.DataFrame, rebalances: pl.DataFrame, pattern: str | None) -> Iterable[str | None]:
    if pattern is None:
        return (None,)
    days = pl.concat([ledger["date"], rebalances["date"]])
    return days.dt.strftime(pattern).unique().sort().to_list()


def _period_filter(pattern: str | None, period: str | None) -> Callable[[pl.DataFrame], pl.DataFrame]:
    if pattern is None:
        return lambda frame: frame
    return lambda frame: frame.filter(pl.col("date").dt.strftime(pattern) == period)


def _weekly_ic(decisions: pl.DataFrame, column: str) -> pl.DataFrame:
    """Return `date, ic` for the weeks in which the correlation exists."""
    from scipy.stats import rankdata  # slow to load

    pairs = decisions.select("date", column, "forward_return").drop_nulls()
    dates, values = [], []
    for (date,), week in pairs.group_by("date", maintain_order=True):
        ranks = rankdata(week[column].to_numpy()), rankdata(week["forward_return"].to_numpy())
        if min(np.ptp(ranks[0]), np.ptp(ranks[1])) > 0:
            dates.append(date)
            values.append(float(np.corrcoef(*ranks)[0, 1]))
    return pl.DataFrame({"date": dates, "ic": values}, schema={"date": pl.Date, "ic": pl.Float64})


def _weekly_coverage(decisions: pl.DataFrame, rebalances: pl.DataFrame) -> pl.DataFrame:
    """Return `date, share`: names with score and forward return over names listed, in traded weeks."""
    both = pl.col("score").is_not_null() & pl.col("forward_return").is_not_null()
    traded = rebalances.filter(pl.col("week_status") == "traded").select("date")
    return decisions.join(traded, on="date", how="semi").group_by("date").agg(share=both.mean()).sort("date")


def _ic_figures(weekly: dict[str, pl.DataFrame]) -> dict[str, float | None]:
    figures: dict[str, float | None] = {}
    for prefix, weeks in weekly.items():
        ic = weeks["ic"].to_numpy()
        figures[f"{prefix}mean_ic"] = _mean(ic)
        figures[f"{prefix}icir"] = _annualised_ratio(ic, _WEEKS_PER_YEAR)
    ic = weekly[""]["ic"].to_numpy()
    figures["ic_hit_rate"] = _mean((ic > 0).astype(np.float64))
    figures["ic_dispersion"] = float(ic.std(ddof=1)) if len(ic) > 1 else None
    return figures


def _ledger_figures(ledger: pl.DataFrame) -> dict[str, float | None]:
    names = (
        "pnl", "max_drawdown", "max_drawdown_pct", "information_ratio", "excess_sharpe", "risk_free_rate",
        "annualised_turnover", "total_turnover",
    )  # fmt: skip
    if ledger.is_empty():
        return dict.fromkeys(names)
    columns = ("starting_equity", "ending_equity", "risk_free_return", "turnover")
    start, end, risk_free, turnover = (ledger[column].to_numpy() for column in columns)
    returns = end / start - 1.0
    peak = np.maximum.accumulate(np.maximum(start, end))
    values = (
        float(end[-1] - start[0]),
        float((peak - end).max()),
        float(((peak - end) / peak).max() * 100.0),
        _annualised_ratio(returns, _SESSIONS_PER_YEAR),
        _annualised_ratio(returns - risk_free, _SESSIONS_PER_YEAR),
        float(risk_free.mean() * _SESSIONS_PER_YEAR),
        float(turnover.mean() * _SESSIONS_PER_YEAR),
        float(turnover.sum()),
    )
    return dict(zip(names, values, strict=True))


def _mean(values: Floats) -> float | None:
    return float(values.mean()) if len(values) else None


def _annualised_ratio(values: Floats, periods: int) -> float | None:
    if len(values) < 2:
        return None
    spread = float(values.std(ddof=1))
    return float(values.mean() / spread * np.sqrt(periods)) if spread > 0 else None
