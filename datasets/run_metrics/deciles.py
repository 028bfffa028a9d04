"""The decile table and the weekly panel, which stand and fall together."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from datasets.maths.deciles import DecileBucket, decile_block
from datasets.maths.panel import panel_coverage, weekly_means, weekly_series
from datasets.maths.unavailable import Unavailable
from datasets.run_metrics.sources import Sources
from schemas.metrics.deciles import BUCKET_MEANS, bucket_name
from schemas.metrics.statistic import Signal
from schemas.metrics.vocabulary import FORWARD_RETURNS_PRESENT, SCORE_FIELD
from schemas.tables.weekly_signal import BUCKETS

Block = dict[str, Any]


def ic_deciles(sources: Sources, score_field: str | None = SCORE_FIELD) -> Block | Unavailable:
    """Average the weekly deciles of a window.

    Parameters
    ----------
    sources
        Cut to the window.
    score_field
        The column the names are ranked by, None when the key may not see it.
    """
    rows, sections = sources.deciles, sources.cross_sections
    if isinstance(rows, Unavailable):
        return rows
    if isinstance(sections, Unavailable):
        return sections
    table = decile_block(rows, int(sections.date.size))
    if isinstance(table, Unavailable):
        return table
    return {
        "score_field": score_field,
        "signal": Signal.RAW.value,
        "bucket_count": BUCKETS,
        "weeks": table.weeks,
        "buckets": [_bucket(bucket) for bucket in table.buckets],
        "monotonicity": {
            "spearman_bucket_vs_mean_forward_return": table.spearman_bucket_vs_mean_forward_return,
            "top_minus_bottom": table.top_minus_bottom,
        },
        "forward_returns": FORWARD_RETURNS_PRESENT,
        "weeks_skipped": table.weeks_skipped,
    }


def _bucket(bucket: DecileBucket) -> Block:
    return {
        "bucket": bucket_name(bucket.rank),
        "rank": bucket.rank,
        "weeks": bucket.weeks,
        "mean_n_symbols": bucket.mean_n_symbols,
        **{name: getattr(bucket, name) for name in BUCKET_MEANS},
        "n_return_obs": bucket.n_return_obs,
    }


def panel(sources: Sources, deciles: Block | Unavailable) -> Block | Unavailable:
    """Show the weekly series of a window.

    Parameters
    ----------
    sources
        Cut to the window.
    deciles
        The result of :func:`ic_deciles`: without it there is no panel, for the same reason.
    """
    sections, raw = sources.cross_sections, sources.raw
    for part in (deciles, sections, raw):
        if isinstance(part, Unavailable):
            return part
    assert not isinstance(sections, Unavailable)
    assert not isinstance(raw, Unavailable)
    return {
        "signal": Signal.RAW.value,
        "ic_weekly": [
            {"date": day.isoformat(), "ic": ic} for day, ic in weekly_series(sections.date, sections.ic)
        ],
        "decile_spread_weekly": [
            {"date": day.isoformat(), "spread": spread}
            for day, spread in weekly_series(sections.date, raw.decile_spread)
        ],
        "ic_term_structure": [
            {"horizon_weeks": mean.step, "mean_ic": mean.mean, "weeks": mean.weeks}
            for mean in weekly_means(raw.ic_by_horizon)
        ],
        "rank_autocorrelation": [
            {"lag_weeks": mean.step, "rho": mean.mean, "weeks": mean.weeks}
            for mean in weekly_means(raw.rho_by_lag)
        ],
        "coverage": asdict(
            panel_coverage(sections.n_symbols, raw.cohort_size, raw.n_return_obs, sections.traded)
        ),
    }
