"""Blocks of the metrics: tenure, rank IC, signal processing, deciles, panel and Newey-West tests."""

from __future__ import annotations

import math
from typing import Any, Final

from datasets.figures.equity import solvent_returns
from datasets.figures.newey_west import newey_west
from datasets.figures.panel import decile_block, panel_coverage, weekly_means, weekly_series
from datasets.figures.run_figures import RunFigures, Sources
from datasets.figures.series import DAYS_PER_YEAR, Floats, mean_or_null
from datasets.figures.statistics import Span, any_sealed, entry, stated_value, without_returns
from datasets.figures.unavailable import MISSING_KIND, Unavailable, Warnings
from datasets.figures.window import day
from schemas.metrics.core import CORE, RANK_IC, REPRODUCTION_TOLERANCE
from schemas.metrics.statistic import COMPUTED, DAILY, DERIVED, INDEX, LEDGER, SCORE_FIELD, Signal
from schemas.tables.weekly_signal import BUCKETS

Block = dict[str, Any]
_MISMATCH: Final = "ic_reproduction_mismatch"
_IC: Final = next(statistic for statistic in CORE if statistic.name == "ic")


def tenure(sources: Sources) -> Block | Unavailable:
    """Compute the tenure from the rebalance dates, or from the ledger's sessions if the run sealed no rebalances.

    Parameters
    ----------
    sources : Sources
        Cut to the window.

    Returns
    -------
    dict or Unavailable
        Unavailable when the window holds no date. A run whose index is only closed to the key is not measured by its
        ledger instead: the two answers would pass for the same figure.
    """
    index, ledger = sources.index, sources.ledger
    if not isinstance(index, Unavailable):
        dates, kind = index.date, INDEX.kind
        counts: tuple[int | None, int | None] = (int(index.date.size), int(index.traded.sum()))
    elif index.code == MISSING_KIND and not isinstance(ledger, Unavailable):
        dates, kind = ledger.date, LEDGER.kind
        counts = (None, None)
    else:
        return index
    if not dates.size:
        return Unavailable("insufficient_data", "the window holds no date of the record")
    first, last = day(dates, 0), day(dates, -1)
    return {
        "weeks": counts[0],
        "traded_weeks": counts[1],
        "first_rebalance": first.isoformat(),
        "last_rebalance": last.isoformat(),
        "calendar_days": (last - first).days,
        "years": (last - first).days / DAYS_PER_YEAR,
        "source": kind,
    }


def rank_ic(span: Span, warnings: Warnings, block: str = "rank_ic") -> Block | Unavailable:
    """Return the statistics of the weekly rank IC of both signals.

    Returns
    -------
    dict or Unavailable
        Unavailable when the sealed records cannot be read, or none was sealed and the cross-sections cannot be read; a
        statistic that only the data of the window do not determine is withheld in its place.
    """
    if span.unreadable is not None:
        return span.unreadable
    closed = span.rows.cross_sections
    statistics = [statistic for family in RANK_IC.values() for statistic in family]
    if isinstance(closed, Unavailable) and not any_sealed(statistics, span.records):
        return closed
    return {
        signal.value: {
            statistic.name: entry(statistic, span, warnings, f"{block}.{signal.value}")
            for statistic in family
        }
        for signal, family in RANK_IC.items()
    }


def signal_processing(run: RunFigures, *, raw: bool) -> Block | None:
    """Return the smoothing of the delivered score; None if the run did not record it.

    Without raw-book access neither the half-life nor its wording is given: with it the signal before smoothing can be
    solved for, score by score.
    """
    if run.smoothing is None:
        return None
    return {
        "signal": Signal.CONDITIONED.value,
        "smoothing_applied": run.smoothing.get("applied"),
        "smoothing_half_life_weeks": run.smoothing.get("half_life_weeks") if raw else None,
        "detail": run.smoothing.get("detail") if raw else None,
    }


def ic_deciles(sources: Sources, score_field: str | None = SCORE_FIELD) -> Block | Unavailable:
    """Average the weekly deciles of a window.

    Parameters
    ----------
    sources : Sources
        Cut to the window.
    score_field : str or None
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
        **table,
    }


def panel(sources: Sources, deciles: Block | Unavailable) -> Block | Unavailable:
    """Return the weekly series of a window.

    Parameters
    ----------
    sources : Sources
        Cut to the window.
    deciles : Block or Unavailable
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
            {"date": week.isoformat(), "ic": ic} for week, ic in weekly_series(sections.date, sections.ic)
        ],
        "decile_spread_weekly": [
            {"date": week.isoformat(), "spread": spread}
            for week, spread in weekly_series(sections.date, raw.decile_spread)
        ],
        "ic_term_structure": weekly_means(raw.ic_by_horizon, "horizon_weeks", "mean_ic"),
        "rank_autocorrelation": weekly_means(raw.rho_by_lag, "lag_weeks", "rho"),
        "coverage": panel_coverage(sections.n_symbols, raw.cohort_size, raw.n_return_obs, sections.traded),
    }


def nwt_ic(span: Span) -> Block | Unavailable:
    """Test the weekly conditioned IC of the run, if its mean equals the sealed one.

    Parameters
    ----------
    span : Span
        The whole run, whatever the window.
    """
    if span.unreadable is not None:
        return span.unreadable
    sections = span.complete.cross_sections
    if isinstance(sections, Unavailable):
        if sections.code == MISSING_KIND:
            return Unavailable("ic_family_mismatch", sections.text, sections.kind)
        return sections
    stated = stated_value(_IC, span.records)
    if stated is None or stated[1].value is None:
        return Unavailable(_MISMATCH, "the run sealed no mean IC that the rebuilt one could be compared with")
    sealed, rebuilt = stated[1].value, mean_or_null(sections.ic)
    if rebuilt is None:
        return Unavailable(_MISMATCH, "no weekly IC can be measured on the cross-sections of the run")
    if abs(rebuilt - sealed) > REPRODUCTION_TOLERANCE:
        return Unavailable(
            _MISMATCH, f"the rebuilt weekly IC has a mean of {rebuilt:.9g}, but {sealed:.9g} was sealed"
        )
    return nwt_ic_computed(span.complete)


def nwt_ic_computed(rows: Sources) -> Block | Unavailable:
    """Test the weekly conditioned IC of the window."""
    if isinstance(rows.cross_sections, Unavailable):
        return rows.cross_sections
    return _test(
        rows.cross_sections.ic, source=COMPUTED, source_kind=DERIVED, signal=Signal.CONDITIONED.value
    )


def nwt_ic_score_panel(rows: Sources) -> Block | Unavailable:
    """Test the weekly IC of the signal before smoothing over the window."""
    if isinstance(rows.raw, Unavailable):
        return rows.raw
    reason = without_returns(rows.raw.n_return_obs)
    if reason is not None:
        return reason
    return _test(rows.raw.ic, source=COMPUTED, source_kind=DERIVED, signal=Signal.RAW.value)


def nwt_ir(rows: Sources) -> Block | Unavailable:
    """Test the daily return of the long_short book over the window."""
    if isinstance(rows.ledger, Unavailable):
        return rows.ledger
    returns = solvent_returns(rows.ledger.starting, rows.ledger.ending)
    if isinstance(returns, Unavailable):
        return returns
    return _test(returns, source=LEDGER.kind, frequency=DAILY)


def _test(series: Floats, **labels: str) -> Block | Unavailable:
    result = newey_west(series)
    if isinstance(result, Unavailable):
        return result
    names = ("t_stat", "p_value", "lag", "n", "mean", "standard_error")
    figures = {name: getattr(result, name) for name in names}
    if not all(math.isfinite(figure) for figure in figures.values()):
        return Unavailable(
            "insufficient_data", "the series holds values without bounds, as of equity that vanished"
        )
    return {**figures, **labels}
