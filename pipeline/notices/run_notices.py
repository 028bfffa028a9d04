"""All notices of one run, from the samples of its tables and its weekly figures."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import numpy as np
import polars as pl

from datasets.figures.series import Dates, Floats, measured
from pipeline.notices import books, fills, moves, panel, signal, universe
from pipeline.notices.correlations import rank_correlations
from pipeline.notices.evidence import CrossSections, Evidence
from pipeline.notices.held_names import Holdings
from pipeline.notices.ledger import Ledger, split_ledgers
from pipeline.notices.outcome import (
    NoticeOutcome,
    first_noticed,
    in_declared_order,
    judged,
    none_checked,
    not_checked,
    too_few,
)
from pipeline.reconciliation.figures import NO_RAW_SIGNAL, Figure
from pipeline.rule import Coverage
from schemas.notices import NOTICES
from schemas.notices.moves import MOVE_NOTICES
from schemas.notices.notice import MIN_CORRELATED_WEEKS
from schemas.notices.signal import MIN_OUTLYING_NAMES, MIN_PROVABLE_RETURNS, PROVEN_BY_CHANCE, PROVEN_SHARE
from schemas.plurals import counted
from schemas.settings import SETTINGS
from schemas.tables.books import CONDITIONED_BOOKS
from schemas.tables.sealed_metrics import NOT_CHECKED

_PRICES: Final = SETTINGS["prices"]
_NOT_COMPARED: Final = {
    "catalogue": "it is compared with the other runs of a catalogue when it is published",
    "history": "it is compared with earlier seals of the alpha when it is published",
    "market": f"no market prices were given: give a file with {_PRICES.flag} or {_PRICES.variable}",
}
"""Family -> reason why it is not checked unless the run was compared."""
_PORTFOLIO_AND_POSITIONS: Final = "portfolio and positions"
_NEEDED_BY_FAMILY: Final = {
    "signal": "decisions and rebalances",
    "book": "portfolio",
    "fills": "trades, positions and portfolio",
    "universe": "decisions",
    "figures": "metrics",
    "trials": "trials",
}
_NEEDED: Final = {
    "signal.forward_returns_proven": "decisions and trades",
    "signal.irregular_weeks": "decisions and portfolio",
    "book.timing": "decisions, rebalances and portfolio",
    "book.risk_timing": "decisions, rebalances and portfolio",
    "book.tilt": "decisions, positions and portfolio",
    "book.net_timing": "decisions",
    "book.target_size": "decisions and portfolio",
    "universe.frozen_marks": _PORTFOLIO_AND_POSITIONS,
    "universe.undecided_names": "decisions, portfolio and positions",
    **{notice.id: _PORTFOLIO_AND_POSITIONS for notice in MOVE_NOTICES},
}
"""Notice -> tables that it needs, where these differ from those of its family."""
_NO_LONG_SHORT: Final = f"the run has no ledger of {CONDITIONED_BOOKS[0]}"


@dataclass(frozen=True, slots=True)
class Run:
    """Inputs of the notices of a run.

    Attributes
    ----------
    sealed_at
        When the seal says it was made.
    evidence
        Samples of the rows of the run.
    weeks
        ``date``, ``week_status``, ``ic`` and ``n_return_obs`` by rebalance date; None where the run sealed no cross-sections.
    portfolio
        The sealed ledger; None if the run sealed none.
    proven
        Number of forward returns that fills prove; None where the rule could not be applied.
    figures
        The run's own figures and their reconciliation.
    outside_turnover
        Trade-only variants whose fills the seal leaves out of turnover.
    """

    sealed_at: datetime
    evidence: Evidence
    weeks: pl.DataFrame | None
    portfolio: pl.DataFrame | None
    proven: Coverage | None = None
    figures: Sequence[Figure] = ()
    outside_turnover: Collection[str] = ()

    @property
    def held_share(self) -> float | None:
        """As in :class:`~pipeline.notices.evidence.CrossSections`."""
        sections = self.evidence.cross_sections
        return None if sections is None else sections.held_share


@np.errstate(all="ignore")  # infinite figures are reported as not checked
def find_notices(run: Run) -> tuple[NoticeOutcome, ...]:
    """Judge a run by every declared notice, except those that compare it with other runs."""
    return in_declared_order(_outcomes(run))


def _outcomes(run: Run) -> Iterator[NoticeOutcome]:
    for notice in NOTICES:
        family = notice.partition(".")[0]
        needed = _NEEDED.get(notice) or _NEEDED_BY_FAMILY.get(family)
        yield not_checked(
            notice, _NOT_COMPARED.get(family) or f"it needs {needed}, which the run did not all seal"
        )
    ledgers = [] if run.portfolio is None else split_ledgers(run.portfolio, run.evidence.prices.flows)
    yield from run.evidence.outcomes
    if run.proven is not None:
        yield _judge_proof(run.proven, run.held_share, run.evidence.prices.filled)
    if run.figures:
        yield _judge_statements(run.figures)
    if run.weeks is not None:
        yield from _judge_weeks(run, run.weeks, ledgers)
    if ledgers:
        yield from books.judge_ledgers(ledgers)
        yield _judge_seal_date(run.sealed_at, max(book.dates.max() for book in ledgers))
    yield from _judge_prices(run, ledgers)
    if run.evidence.trials:
        yield _judge_trials(run.evidence.trials, ledgers)
    sections = run.evidence.cross_sections
    if sections is None:
        return
    yield from sections.outcomes
    yield from panel.judge_panel(sections.panel)
    if ledgers:
        yield signal.judge_weekly_days(sections.panel.dates, sections.panel.entries, ledgers[0].dates)
    yield _judge_net_timing(sections)
    if ledgers and sections.targets is not None:
        yield _judge_target_size(sections.panel.dates, sections.targets, _long_short(ledgers))


def _judge_seal_date(sealed_at: datetime, last: np.datetime64) -> NoticeOutcome:
    """Judge the date of the seal against the last session, which closes on its own day in UTC everywhere."""
    days = int((last - np.datetime64(sealed_at.date())) / np.timedelta64(1, "D"))
    message = f"The seal is dated {sealed_at:%Y-%m-%d}, but has sessions up to {last}."
    return judged("book.early_seal", float(max(days, 0)), message)


def _judge_target_size(dates: Dates, targets: Floats, book: Ledger | None) -> NoticeOutcome:
    """Compare the sum of absolute target weights by week with the gross exposure of their book at the next close.

    At later closes the exposure drifts with the prices.
    """
    notice = "book.target_size"
    if book is None:
        return not_checked(notice, _NO_LONG_SHORT)
    after = np.searchsorted(book.dates, dates, side="right")
    dated = after < book.dates.size
    targets, exposure = targets[dated], book.exposure[after[dated]]
    known = (targets > 0) & (exposure > 0)
    targets, exposure = targets[known], exposure[known]
    if targets.size < MIN_CORRELATED_WEEKS:
        return too_few(notice, targets.size, "week", "target weights and positions", MIN_CORRELATED_WEEKS)
    target, held = float(np.median(targets)), float(np.median(exposure))
    message = f"The median sum of absolute target weights is {target:.3g}; the median gross exposure at the next close is {held:.3g}."
    return judged(notice, target / held, message, weeks=targets.size)


def _judge_net_timing(sections: CrossSections) -> NoticeOutcome:
    market, weights = sections.panel.market, sections.panel.weights.get(CONDITIONED_BOOKS[0])
    net, gross = sections.net_targets, sections.targets
    if market is None or weights is None or net is None or gross is None:
        return not_checked("book.net_timing", "the run sealed no forward return or no target weight")
    # A book of equal sides may still hold names that move more than the market on the side on which they pay.
    betas = sections.panel.betas[:, np.newaxis]
    net_beta = np.nansum(weights * betas, axis=0) / np.nansum(np.abs(weights), axis=0)
    return first_noticed(
        signal.judge_net_timing(net_beta, market, "beta of the target weights"),
        signal.judge_net_timing(net / gross, market, "net target weight"),
    )


def _with_entries(weeks: pl.DataFrame, sections: CrossSections) -> pl.DataFrame:
    """Add the start of the forward returns, ``entry``, what the net target weight earns at their mean, ``with_market``, and ``targets``."""
    sampled, net = sections.panel, sections.net_targets
    earned = None if sampled.market is None or net is None else net * sampled.market
    columns = {
        "date": sampled.dates,
        "entry": sampled.entries,
        "with_market": earned,
        "targets": sections.targets,
    }
    return weeks.join(pl.DataFrame(columns), on="date", how="left")


def _closes_before_entry(dates: Dates, entries: Dates, portfolio: pl.DataFrame) -> Dates:
    """Return the last session that closes before the forward returns of each rebalance date begin: fills may come days later."""
    sessions = portfolio.select("timestamp", "date").unique("date").sort("date")
    before = np.searchsorted(sessions["timestamp"].to_numpy(), entries, side="right") - 1
    last = np.maximum(sessions["date"].to_numpy()[before], dates)
    known = (before >= 0) & ~np.isnat(entries)
    begins: Dates = np.maximum.accumulate(np.where(known, last, dates))
    return begins


def _judge_prices(run: Run, ledgers: Sequence[Ledger]) -> Iterator[NoticeOutcome]:
    prices = run.evidence.prices
    if prices.fills is not None:
        yield from fills.judge_fills(prices.fills, run.outside_turnover)
    if prices.closes is not None:
        yield universe.judge_frozen_marks(*prices.closes)
    if prices.holdings is not None:
        sections = run.evidence.cross_sections
        decided = panel.NO_PANEL if sections is None else sections.panel
        yield from _judge_moves(prices.holdings, ledgers, decided)
    elif prices.closes is not None and ledgers:
        reason = f"{ledgers[0].book} holds no name at a close"
        yield from none_checked((move.id for move in MOVE_NOTICES), reason)


def _judge_weeks(run: Run, weeks: pl.DataFrame, ledgers: Sequence[Ledger]) -> Iterator[NoticeOutcome]:
    weeks = weeks.sort("date")
    dates, ic = weeks["date"].to_numpy(), weeks["ic"].to_numpy()
    yield signal.judge_skipped_weeks(weeks["week_status"].to_list())
    yield signal.judge_frequency(dates)
    sections = run.evidence.cross_sections
    yield from signal.judge_weekly_ic(ic[~np.isnan(ic)])
    names = weeks["n_return_obs"].to_numpy()
    outlying = [signal.judge_outlying_weeks(ic[~np.isnan(ic) & (names >= MIN_OUTLYING_NAMES)])]
    if sections is not None and (forward := sections.panel.forward_returns) is not None:
        news = rank_correlations(sections.panel.news, forward, MIN_OUTLYING_NAMES)
        outlying.append(
            signal.judge_outlying_weeks(news[~np.isnan(news)], "The IC of what is new in the score")
        )
    yield first_noticed(*outlying)
    if "raw_ic" in weeks.columns:
        raw = weeks["raw_ic"].to_numpy()
        yield signal.judge_raw_ic(raw[~np.isnan(raw)])
    else:
        yield not_checked("signal.raw_mean_ic", NO_RAW_SIGNAL)
    book = _long_short(ledgers)
    if book is None:
        yield from none_checked(
            ("signal.book_correlation", "book.timing", "book.risk_timing"), _NO_LONG_SHORT
        )
        return
    begins, market, targets = dates, None, None
    if sections is not None and run.portfolio is not None:
        weeks = _with_entries(weeks, sections).sort("date")
        begins = _closes_before_entry(dates, weeks["entry"].to_numpy(), run.portfolio)
        market, targets = (weeks[name].cast(pl.Float64).to_numpy() for name in ("with_market", "targets"))
    days, returns = book.dates[book.invested], book.returns[book.invested]
    yield signal.judge_book(begins, ic, days, returns, run.held_share, market=market)
    yield from signal.judge_timing(dates, book.dates, book.exposure, book.returns, targets)


def _judge_moves(
    holdings: Holdings, ledgers: Sequence[Ledger], decided: panel.Panel
) -> Iterator[NoticeOutcome]:
    book = next(own for own in ledgers if own.book == holdings.book)
    returns = np.full(holdings.days.size, np.nan)
    days = book.dates.astype("datetime64[D]").astype(np.int64)
    returns[np.searchsorted(holdings.days, days)] = book.returns
    return moves.judge_moves(holdings, returns, decided.earned(holdings.book))


def _long_short(ledgers: Sequence[Ledger]) -> Ledger | None:
    return next((own for own in ledgers if own.book == CONDITIONED_BOOKS[0]), None)


def _judge_trials(deviations: Mapping[str, float], ledgers: Sequence[Ledger]) -> NoticeOutcome:
    """Judge the trial with the smallest standard deviation of returns."""
    notice, book = "trials.volatility", _long_short(ledgers)
    own = np.empty(0) if book is None else measured(book.returns)
    if own.size < 2 or not own.std(ddof=1) > 0:
        return not_checked(notice, f"{CONDITIONED_BOOKS[0]} has no returns to compare with")
    calmest = min(deviations, key=lambda trial: (deviations[trial], trial))
    share = deviations[calmest] / float(own.std(ddof=1))
    message = f"The returns of {calmest} have {share:.2f} times the standard deviation of those of the run."
    return judged(notice, share, message, trial=calmest, trials=len(deviations))


def _judge_proof(coverage: Coverage, held_share: float | None, filled: int) -> NoticeOutcome:
    notice, proven, stated = "signal.forward_returns_proven", coverage.checked_without_raw, coverage.of
    if stated < MIN_PROVABLE_RETURNS:
        return too_few(notice, stated, "row", "a forward return", MIN_PROVABLE_RETURNS)
    message = f"Fills prove {proven:,} of {stated:,} forward returns."
    # Fills of independent names in each week would prove the square of their share.
    chance = PROVEN_BY_CHANCE * (filled / stated) ** 2 if filled else math.inf
    if held_share is not None:
        chance = min(chance, PROVEN_SHARE * held_share)
    return judged(notice, proven / stated, message, chance=chance, proven=proven, forward_returns=stated)


def _judge_statements(figures: Sequence[Figure]) -> NoticeOutcome:
    # An engine may keep its signal before smoothing to itself: figures on it are served as stated, to readers with raw access.
    stated = [
        figure
        for figure in figures
        if figure.sealed is not None and figure.status == NOT_CHECKED and figure.reason != NO_RAW_SIGNAL
    ]
    names = list(dict.fromkeys(figure.name for figure in stated))
    message = f"No table supports {counted(len(stated), 'sealed figure')}: {', '.join(names)}."
    return judged("figures.stated", float(len(stated)), message, figures=names)
