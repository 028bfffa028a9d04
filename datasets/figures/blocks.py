"""Blocks of the metrics: tenure, rank IC, signal processing, deciles, panel and Newey-West tests."""

from __future__ import annotations

from typing import Any, Final

from datasets.figures.equity import solvent_returns
from datasets.figures.newey_west import mean_payload
from datasets.figures.panel import decile_block, panel_coverage, weekly_means, weekly_series
from datasets.figures.run_figures import RunFigures, Sources
from datasets.figures.series import DAYS_PER_YEAR, day, mean_or_null
from datasets.figures.statistics import Span, any_sealed, entry, stated_value, without_returns
from datasets.figures.unavailable import MISSING_KIND, Unavailable, Warnings
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
        Data of the window.

    Returns
    -------
    dict or Unavailable
        ``weeks``, ``traded_weeks``, ``first_rebalance``, ``last_rebalance``, ``calendar_days``, ``years`` (of 365.25 days)
        and ``source``. Unavailable if the window has no date, or if the key may not read the index. The ledger then does not
        replace the index, because the two figures could not be distinguished.
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
        return Unavailable("insufficient_data", "no date of the run lies in the window")
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

    Parameters
    ----------
    span : Span
        Sealed records and data.
    warnings : Warnings
        Receives the warnings about the statistics.
    block : str
        Dotted path of the block, for warnings.

    Returns
    -------
    dict or Unavailable
        Signal -> statistic -> entry. Unavailable when the sealed records cannot be read, or none was sealed and the
        cross-sections cannot be read; a statistic that the data do not determine is withheld in its own entry.
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
    """Return the smoothing of the delivered score.

    Parameters
    ----------
    run : RunFigures
        Provides the record of the smoothing.
    raw : bool
        Whether the key has raw-book access. Without it the half-life and its wording are withheld, because they allow the
        signal before smoothing to be reconstructed from the scores.

    Returns
    -------
    dict or None
        ``signal``, ``smoothing_applied``, ``smoothing_half_life_weeks`` and ``detail``; None if the run did not record it.
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
        Data of the window.
    score_field : str or None
        Column that ranks the names; None if the key may not see it.

    Returns
    -------
    dict or Unavailable
        The members of :data:`schemas.metrics.deciles.DECILES`, as :func:`datasets.figures.panel.decile_block` averages them.
    """
    rows, sections = sources.deciles, sources.cross_sections
    if isinstance(rows, Unavailable):
        return rows
    assert not isinstance(sections, Unavailable)  # the deciles are computed from them
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
        Data of the window.
    deciles : dict or Unavailable
        Result of :func:`ic_deciles`; the panel is withheld for the same reason.

    Returns
    -------
    dict or Unavailable
        Weekly IC of the delivered score; decile spread, means by horizon and lag, and coverage of the signal before
        smoothing.
    """
    sections, raw = sources.cross_sections, sources.raw
    if isinstance(deciles, Unavailable):
        return deciles
    # Deciles are computed from the cross-sections of the signal before smoothing.
    assert not isinstance(sections, Unavailable)
    assert not isinstance(raw, Unavailable)
    return {
        "signal": Signal.RAW.value,
        "ic_weekly": weekly_series(sections.date, sections.ic, "ic"),
        "decile_spread_weekly": weekly_series(sections.date, raw.decile_spread, "spread"),
        "ic_term_structure": weekly_means(raw.ic_by_horizon, "horizon_weeks", "mean_ic"),
        "rank_autocorrelation": weekly_means(raw.rho_by_lag, "lag_weeks", "rho"),
        "coverage": panel_coverage(sections.n_symbols, raw.cohort_size, raw.n_return_obs, sections.traded),
    }


def nwt_ic(span: Span) -> Block | Unavailable:
    """Test the weekly IC of the delivered score against zero, if its mean equals the sealed one.

    Parameters
    ----------
    span : Span
        Sealed records and data of the complete run, regardless of the window.

    Returns
    -------
    dict or Unavailable
        As :func:`nwt_ic_computed`; ``ic_reproduction_mismatch`` when the recomputed mean IC differs from the sealed one by
        more than :data:`schemas.metrics.core.REPRODUCTION_TOLERANCE`, or either is missing.
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
        return Unavailable(_MISMATCH, "the run sealed no mean IC to compare the rebuilt one with")
    sealed, rebuilt = stated[1].value, mean_or_null(sections.ic)
    if rebuilt is None:
        return Unavailable(_MISMATCH, "no weekly IC can be computed from the cross-sections of the run")
    if abs(rebuilt - sealed) > REPRODUCTION_TOLERANCE:
        return Unavailable(
            _MISMATCH, f"the rebuilt weekly IC has a mean of {rebuilt:.9g}, but {sealed:.9g} was sealed"
        )
    return nwt_ic_computed(span.complete)


def nwt_ic_computed(rows: Sources) -> Block | Unavailable:
    """Test the weekly IC of the delivered score against zero.

    Parameters
    ----------
    rows : Sources
        Data of the window.

    Returns
    -------
    dict or Unavailable
        As :func:`datasets.figures.newey_west.mean_payload`, with the source of the series.
    """
    if isinstance(rows.cross_sections, Unavailable):
        return rows.cross_sections
    return mean_payload(
        rows.cross_sections.ic, source=COMPUTED, source_kind=DERIVED, signal=Signal.CONDITIONED.value
    )


def nwt_ic_score_panel(rows: Sources) -> Block | Unavailable:
    """Test the weekly IC of the signal before smoothing against zero.

    Parameters
    ----------
    rows : Sources
        Data of the window.

    Returns
    -------
    dict or Unavailable
        As :func:`nwt_ic_computed`.
    """
    if isinstance(rows.raw, Unavailable):
        return rows.raw
    return without_returns(rows.raw) or mean_payload(
        rows.raw.ic, source=COMPUTED, source_kind=DERIVED, signal=Signal.RAW.value
    )


def nwt_ir(rows: Sources) -> Block | Unavailable:
    """Test the daily returns of the long_short book against zero.

    Parameters
    ----------
    rows : Sources
        Data of the window.

    Returns
    -------
    dict or Unavailable
        As :func:`nwt_ic_computed`; withheld also when a session opens with equity not above 0.
    """
    if isinstance(rows.ledger, Unavailable):
        return rows.ledger
    returns = solvent_returns(rows.ledger.starting, rows.ledger.ending)
    if isinstance(returns, Unavailable):
        return returns
    return mean_payload(returns, source=LEDGER.kind, frequency=DAILY)
