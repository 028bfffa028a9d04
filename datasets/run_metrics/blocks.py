"""The smaller blocks: tenure, rank IC, signal processing."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from datasets.maths.tenure import rebalance_tenure, session_tenure
from datasets.maths.unavailable import Unavailable
from datasets.run_metrics.figures import RunFigures
from datasets.run_metrics.sources import Sources
from datasets.run_metrics.statistics import Span, entry, sealed_value
from datasets.run_metrics.unavailable import MISSING_KIND, Warnings
from schemas.metrics.core import RANK_IC
from schemas.metrics.statistic import INDEX, LEDGER, Signal

Block = dict[str, Any]


def tenure(sources: Sources) -> Block | Unavailable:
    """Measure the record by its rebalance dates, or by the ledger's sessions when the run sealed no rebalances.

    Parameters
    ----------
    sources
        Cut to the window.

    Returns
    -------
    dict or Unavailable
        Unavailable when the window holds no date. A run whose index is only closed to the key is not measured by its
        ledger instead: the two answers would be taken for the same figure.
    """
    index, ledger = sources.index, sources.ledger
    if not isinstance(index, Unavailable):
        measured, kind = rebalance_tenure(index.date, index.traded), INDEX.kind
    elif index.code == MISSING_KIND and not isinstance(ledger, Unavailable):
        measured, kind = session_tenure(ledger.date), LEDGER.kind
    else:
        return index
    if measured is None:
        return Unavailable("insufficient_data", "the window holds no date of the record")
    block = asdict(measured)
    for end in ("first_rebalance", "last_rebalance"):
        block[end] = block[end].isoformat()
    return {**block, "source": kind}


def rank_ic(span: Span, warnings: Warnings, block: str = "rank_ic") -> Block | Unavailable:
    """Write the statistics of the weekly rank correlation, of both signals.

    Returns
    -------
    dict or Unavailable
        Unavailable when none was sealed and the cross-sections cannot be read; a statistic that only the data of the
        window do not determine is withheld in its place.
    """
    closed = span.rows.cross_sections
    statistics = [statistic for family in RANK_IC.values() for statistic in family]
    if isinstance(closed, Unavailable) and not any(sealed_value(x, span.records) for x in statistics):
        return closed
    return {
        signal.value: {
            statistic.name: entry(statistic, span, warnings, f"{block}.{signal.value}")
            for statistic in family
        }
        for signal, family in RANK_IC.items()
    }


def signal_processing(run: RunFigures) -> Block | None:
    """State what smoothing made the delivered score; None when the run said nothing of it."""
    if run.smoothing is None:
        return None
    return {
        "signal": Signal.CONDITIONED.value,
        "smoothing_applied": run.smoothing.get("applied"),
        "smoothing_half_life_weeks": run.smoothing.get("half_life_weeks"),
        "detail": run.smoothing.get("detail"),
    }
