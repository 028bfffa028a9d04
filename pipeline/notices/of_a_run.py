"""All notices of one run, from what was kept of its tables and the figures of its weeks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from datasets.figures.equity import period_returns
from datasets.figures.series import Floats, measured
from pipeline.notices import fills, ledger, signal, universe
from pipeline.notices.evidence import Evidence
from pipeline.notices.outcome import NoticeOutcome, in_declared_order, judged, not_checked
from pipeline.reconciliation.figures import Figure
from pipeline.rule import Coverage
from schemas.notices import MIN_PROVABLE_RETURNS, NOTICES
from schemas.tables.books import CONDITIONED_BOOKS
from schemas.tables.sealed_metrics import NOT_CHECKED

_AT_PUBLICATION: Final = {
    "catalogue": "it is compared with the other runs of a catalogue as it is published",
    "history": "it is compared with earlier seals of the alpha as it is published",
}


@dataclass(frozen=True, slots=True)
class Run:
    """Inputs of the notices of a run.

    Attributes
    ----------
    evidence
        What was kept of its rows.
    weeks
        ``date``, ``week_status`` and ``ic`` by rebalance date; None where the run sealed no cross-sections.
    portfolio
        The sealed ledger; None where there is none.
    delayed
        As :func:`aged_ic` returns it.
    proven
        How many forward returns fills prove; None where the rule could not be applied.
    figures
        The run's own figures and what they come to.
    """

    evidence: Evidence
    weeks: pl.DataFrame | None
    portfolio: pl.DataFrame | None
    delayed: Floats | None
    proven: Coverage | None = None
    figures: Sequence[Figure] = ()


def aged_ic(weeks: pl.DataFrame, measure: Callable[[], Floats]) -> Floats | None:
    """Return the weekly IC of the score of the week before, where it is looked at.

    Parameters
    ----------
    weeks
        ``ic`` by week.
    measure
        Measures it; NaN in weeks where it cannot be.

    Returns
    -------
    Floats or None
        The weeks measured; None where the mean IC cannot be told from zero, so that nothing follows from what is left of it a
        week later.
    """
    ic = weeks["ic"].drop_nulls().to_numpy()
    return measured(measure()) if signal.is_told_from_zero(ic) else None


def find_notices(run: Run) -> tuple[NoticeOutcome, ...]:
    """Judge a run by every declared notice; those on other runs are left to its publication."""
    with np.errstate(all="ignore"):  # a figure beyond a double is not finite, and so not checked
        return in_declared_order(_outcomes(run))


def _outcomes(run: Run) -> Iterator[NoticeOutcome]:
    lacking = {
        "signal": "decisions and rebalances",
        "book": "portfolio",
        "fills": "trades, positions and portfolio",
        "universe": "decisions",
        "figures": "metrics",
    }
    for notice in NOTICES:
        family = notice.partition(".")[0]
        yield not_checked(notice, _AT_PUBLICATION.get(family) or f"the run lacks one of {lacking[family]}")
    ledgers = [] if run.portfolio is None else ledger.ledgers_of(run.portfolio, run.evidence.cash_adjustments)
    if run.proven is not None:
        yield _of_proof(run.proven.checked_without_raw, run.proven.of)
    if run.figures:
        yield _of_statements(run.figures)
    if run.weeks is not None:
        yield from _of_weeks(run, run.weeks, ledgers)
    if ledgers:
        yield from ledger.of_ledgers(ledgers)
    if run.evidence.fills is not None:
        yield from fills.of_fills(run.evidence.fills)
    sections = run.evidence.cross_sections
    if sections is None:
        return
    yield universe.of_exits(sections.names, sections.last, sections.mean, sections.years)
    yield signal.of_copies("signal.copied_scores", sections.scores, sections.dates, "scores")
    if sections.forward_returns is not None:
        yield signal.of_copies(
            "signal.copied_forward_returns", sections.forward_returns, sections.dates, "forward returns"
        )


def _of_weeks(run: Run, weeks: pl.DataFrame, ledgers: list[ledger.Ledger]) -> Iterator[NoticeOutcome]:
    dates = weeks["date"].to_numpy()
    order = np.argsort(dates)
    dates, ic = dates[order], weeks["ic"].to_numpy()[order]
    yield signal.of_skipped_weeks(weeks["week_status"].gather(order).to_list())
    yield from signal.of_weekly_ic(ic[~np.isnan(ic)], run.delayed)
    if "raw_ic" in weeks.columns:
        raw = weeks["raw_ic"].to_numpy()
        yield signal.of_raw_ic(raw[~np.isnan(raw)])
    else:
        yield not_checked("signal.raw_mean_ic", "the run sealed no signal before smoothing")
    book = next((found for found in ledgers if found.book == CONDITIONED_BOOKS[0]), None)
    if book is None:
        yield not_checked("signal.book_correlation", f"the run has no ledger of {CONDITIONED_BOOKS[0]}")
    else:
        returns = period_returns(book["starting_equity"], book["ending_equity"])
        yield signal.of_the_book(dates, ic, book.dates, returns)


def _of_proof(proven: int, stated: int) -> NoticeOutcome:
    notice = "signal.forward_returns_proven"
    if stated < MIN_PROVABLE_RETURNS:
        return not_checked(notice, f"{stated} rows have a forward return; {MIN_PROVABLE_RETURNS} are needed")
    message = f"Fills prove {proven:,} of {stated:,} forward returns."
    return judged(notice, proven / stated, message, proven=proven, forward_returns=stated)


def _of_statements(figures: Sequence[Figure]) -> NoticeOutcome:
    stated = [figure for figure in figures if figure.sealed is not None and figure.status == NOT_CHECKED]
    names = list(dict.fromkeys(figure.name for figure in stated))
    return judged(
        "figures.stated",
        float(len(stated)),
        f"No table supports {len(stated)} sealed figures: {', '.join(names)}.",
        figures=names,
    )
