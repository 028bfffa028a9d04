"""Figures of random runs; tests can remove any part of them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from datasets.figures.checks import CheckSummary
from datasets.figures.panel import WeeklyDeciles
from datasets.figures.run_figures import CrossSections, Index, Ledger, RawSignal, RunFigures
from datasets.figures.run_metrics import Answer, MetricsQuery, assemble
from datasets.figures.sealed_records import SealedMetrics, SealedRecord
from datasets.figures.series import Window, mean_or_null
from schemas.metrics.core import SERVED_CONVENTIONS
from schemas.metrics.statistic import SOURCES
from schemas.tables.sealed_metrics import REPRODUCED
from schemas.tables.weekly_signal import BUCKETS, HORIZONS, LAGS

EVERYTHING = frozenset(source.endpoint for source in SOURCES)
FIRST = np.datetime64("2020-01-03")
KINDS = frozenset({"rebalances", "decisions", "portfolio", "metrics"})


def ledger(sessions: int = 200, seed: int = 1, opening: float = 1.0) -> Ledger:
    draw = np.random.default_rng(seed)
    ending: Any = opening * np.cumprod(1 + draw.normal(0.0004, 0.01, sessions))
    starting = np.concatenate([[opening], ending[:-1]]).astype(np.float64)
    days = np.arange(FIRST, FIRST + 2 * sessions)
    weekdays = days[np.is_busday(days)][:sessions]
    return Ledger(
        weekdays, starting, ending, np.full(sessions, 0.0001), np.abs(draw.normal(0.02, 0.01, sessions))
    )


def cross_sections(weeks: int = 40, seed: int = 2, *, raw: bool = True, pending: int = 1) -> CrossSections:
    draw = np.random.default_rng(seed)
    traded = np.arange(weeks) < weeks - pending
    known = np.where(traded, 1.0, np.nan)

    def series() -> Any:
        return draw.normal(0.02, 0.1, weeks) * known

    return CrossSections(
        date=FIRST + 7 * np.arange(weeks),
        traded=traded,
        in_force=np.ones(weeks, np.bool_),
        n_symbols=np.full(weeks, 50.0),
        cohort_size=np.full(weeks, 48.0),
        n_return_obs=np.where(traded, 45.0, 0.0),
        ic=series(),
        raw=RawSignal(
            ic=series(),
            n_return_obs=np.where(traded, 45.0, 0.0),
            decile_spread=series(),
            ic_by_horizon={horizon: series() for horizon in HORIZONS},
            rho_by_lag={lag: draw.normal(0.9, 0.02, weeks) for lag in LAGS},
            cohort_size=np.full(weeks, 46.0),
        )
        if raw
        else None,
    )


def deciles(sections: CrossSections, seed: int = 3) -> WeeklyDeciles:
    draw = np.random.default_rng(seed)
    rows = sections.date.size * BUCKETS
    traded = np.repeat(sections.traded, BUCKETS)
    return WeeklyDeciles(
        date=np.repeat(sections.date, BUCKETS),
        bucket=np.tile(np.arange(1, BUCKETS + 1), sections.date.size),
        n_symbols=np.full(rows, 5),
        mean_score=draw.normal(size=rows),
        mean_score_z=draw.normal(size=rows),
        mean_long_short_weight=draw.normal(size=rows),
        mean_long_only_weight=draw.uniform(size=rows),
        mean_forward_return=np.where(traded, draw.normal(0, 0.01, rows), np.nan),
        ic=np.where(traded, draw.uniform(-1, 1, rows), np.nan),
        n_return_obs=np.where(traded, 4, 0),
    )


def record(
    name: str,
    value: float | None,
    unit: str = "ratio",
    *,
    kind: str = "metric",
    annualised: bool = False,
    reconciliation: str = REPRODUCED,
    convention: str | None = None,
) -> SealedRecord:
    """Return a record, by default reproduced by the API's definition."""
    if reconciliation == REPRODUCED and convention is None:
        convention = SERVED_CONVENTIONS[name][0]
    return SealedRecord(name, value, unit, kind, annualised, reconciliation, convention)


def sealed_as_stated(sections: CrossSections) -> list[SealedRecord]:
    """Overall records of a complete run; the mean IC is that of its cross-sections."""
    return [
        record("mean_ic", mean_or_null(sections.ic)),
        record("icir", 1.25, annualised=True),
        record("raw_mean_ic", 0.011),
        record("raw_icir", 0.75, annualised=True),
        record("ic_hit_rate", 0.55),
        record("ic_dispersion", 0.1),
        record("ic_coverage", 0.97),
        record("information_ratio", 0.9, annualised=True),
        record("excess_sharpe", 0.7, annualised=True),
        record("risk_free_rate", 0.0131, annualised=True),
        record("pnl", 0.21, kind="fact"),
        record("max_drawdown", 0.13, kind="fact"),
        record("max_drawdown_pct", 11.5, "percentage_points", kind="fact"),
        record("annualised_turnover", 8.1, "per_year", annualised=True),
        record("total_turnover", 9.9, "period_sum"),
    ]


def sealed(overall: Sequence[SealedRecord], **periods: Sequence[SealedRecord]) -> SealedMetrics:
    """Index records; a keyword such as ``p2020_03`` names a year or month."""
    spans: dict[tuple[str, str | None], dict[str, SealedRecord]] = {
        ("overall", None): {x.name: x for x in overall}
    }
    for keyword, records in periods.items():
        period = keyword.removeprefix("p").replace("_", "-")
        spans["monthly" if "-" in period else "yearly", period] = {x.name: x for x in records}
    return spans


def run(**changes: Any) -> Any:
    """Return the figures of a complete run with sealed overall figures; `changes` replace parts.

    Typed as `Any`, since a test that removes parts knows which remain.
    """
    sections = changes.pop("cross_sections", cross_sections())
    made = RunFigures(
        alpha_id="Test_made_up",
        source_alpha_id="research-made-up",
        equity_basis=1.0,
        smoothing={"applied": True, "half_life_weeks": 2.0, "detail": "exponential"},
        kinds=KINDS,
        sealed=None if sections is None else sealed(sealed_as_stated(sections)),
        index=None if sections is None else Index(sections.date, sections.traded),
        cross_sections=sections,
        deciles=None if sections is None or sections.raw is None else deciles(sections),
        ledger=ledger(),
        checked=CheckSummary(13, 0, 0, (0.6, 0.6), 0),
    )
    return replace(made, **changes)


def answer_metrics(
    figures: RunFigures,
    *,
    first: str | None = None,
    last: str | None = None,
    may_call: frozenset[str] = EVERYTHING,
    granularity: str = "overall",
    panel: bool = True,
    raw: bool = True,
) -> Answer:
    window = Window(first and dt.date.fromisoformat(first), last and dt.date.fromisoformat(last))  # type: ignore[arg-type]
    return assemble(figures, MetricsQuery(may_call, window, granularity, panel, raw))


def core(figures: RunFigures, **question: Any) -> dict[str, Any]:
    """Return the headline figures of a run's answer."""
    entries: dict[str, Any] = answer_metrics(figures, **question).data["core"]
    return entries


def codes(answer: Answer, block: str | None = None) -> set[str]:
    return {x["code"] for x in answer.warnings if block is None or x["block"] == block}


def walk(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every path of a payload with its value; list entries share the path ``list[]``."""
    if isinstance(value, dict):
        for key, member in value.items():
            below = f"{path}.{key}" if path else key
            yield below, member
            if key != "doc":
                yield from walk(member, below)
    elif isinstance(value, list):
        for entry in value:
            yield from walk(entry, f"{path}[]")
