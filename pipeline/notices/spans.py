"""Notices on the spans of forward returns, compared with the fills at their starts and ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from datasets.figures.series import Floats
from pipeline.notices.correlations import judge_mean, rank_correlations
from pipeline.notices.outcome import NoticeOutcome, judged, not_checked, too_few
from schemas.notices.forward_returns import MIN_NAME_SPANS, UNPROVEN_BY_SKIPPING
from schemas.notices.notice import MIN_CORRELATED_WEEKS
from schemas.notices.signal import MIN_PAUSES, MIN_PROVEN_NAMES

Instants = NDArray[np.int64]
NEVER: Final = np.iinfo(np.int64).min
"""Value for a missing instant."""
_TOLERANCE: Final = 1e-6
"""Relative tolerance per week of a compounded return."""


@dataclass(frozen=True, slots=True)
class Span:
    """Start, end and prices of each forward return; every array has shape (names, weeks).

    Attributes
    ----------
    entry, maturity
        Microseconds since 1970; :data:`NEVER` where unknown.
    mid_at_entry, mid_at_maturity
        Mids of fills at these instants; NaN where no fill exists. Entry mids are also NaN for names with a sealed split or dividend.
    adjusted
        Whether the run seals splits or dividends. Prices then jump where forward returns do not, even for names that no book held.
    """

    entry: Instants
    maturity: Instants
    mid_at_entry: Floats
    mid_at_maturity: Floats
    adjusted: bool = False


def judge_chained_returns(returns: Floats, span: Span, marks: Floats | None = None) -> NoticeOutcome:
    """Compare forward returns, compounded from one fill of a name to the next, with the ratio of the two mids.

    Spans of one week are left to the rule decisions.forward_return, which refuses a seal. If the run seals splits and
    dividends, only names held at the close of every rebalance date are compared, because it would have sealed theirs.
    """
    notice = "signal.chained_returns"
    growth = np.log1p(returns)
    known = np.isfinite(growth) & (span.entry < span.maturity)
    # The chain continues if a week has a return and the next begins at the instant at which it ended.
    continues = known[:, :-1] & (span.maturity[:, :-1] == span.entry[:, 1:])
    if span.adjusted:
        continues &= np.zeros_like(continues) if marks is None else np.isfinite(marks[:, 1:])
    chain, level = np.zeros(growth.shape, np.int64), np.zeros(growth.shape)
    chain[:, 1:] = np.cumsum(~continues, axis=1)
    level[:, 1:] = np.cumsum(np.where(known, growth, 0.0)[:, :-1], axis=1)
    name, week = np.nonzero(np.isfinite(span.mid_at_entry))
    excess = np.log(span.mid_at_entry[name, week]) - level[name, week]
    length = np.diff(week)
    linked = (np.diff(name) == 0) & (np.diff(chain[name, week]) == 0) & (length > 1)
    spans = int(linked.sum())
    if spans < MIN_NAME_SPANS:
        return not_checked(
            notice,
            f"{spans} spans of several weeks lie between two fills of a name; {MIN_NAME_SPANS} are needed",
        )
    wrong = int((np.abs(np.diff(excess)) > _TOLERANCE * length)[linked].sum())
    message = f"Over {wrong} of {spans} spans between two fills of a name, its forward returns do not compound to the ratio of the mids."
    return judged(notice, wrong / spans, message, spans=spans, contradicted=wrong)


def judge_unproven_weeks(
    weights: Floats | None, scores: Floats, returns: Floats, span: Span
) -> NoticeOutcome:
    """Judge how many weeks have forward returns of scored names but no forward return that fills confirm.

    While a signal warms up, names have returns, but no score, and nothing is traded. Nor is it in the pauses of long_short, and the returns
    of the week before a pause end in it.
    """
    notice = "signal.unproven_weeks"
    known = np.isfinite(scores) & np.isfinite(returns)
    proven = (known & np.isfinite(span.mid_at_entry + span.mid_at_maturity)).sum(axis=0)
    measured = known.any(axis=0)
    weeks = int(measured.sum())
    if weeks < MIN_CORRELATED_WEEKS:
        return too_few(notice, weeks, "week", "a forward return", MIN_CORRELATED_WEEKS)
    if span.adjusted:
        return not_checked(notice, "the run seals splits or dividends")
    if not proven.any():
        return not_checked(notice, "fills prove no forward return of any week")
    usual = float(np.median(proven[proven > 0]))
    if usual < MIN_PROVEN_NAMES:
        # Books that trade few names, or few in the sample, trade none in some weeks.
        return not_checked(
            notice,
            f"fills of a week prove the forward returns of {usual:g} names; {MIN_PROVEN_NAMES} are needed",
        )
    if weights is not None:
        held = (np.nan_to_num(weights) != 0).any(axis=0)
        measured &= held & np.append(held[1:], True)
    unproven = int((measured & (proven == 0)).sum())
    message = f"Fills prove no forward return in {unproven} of {weeks} weeks."
    return judged(
        notice, unproven / weeks, message, chance=UNPROVEN_BY_SKIPPING / weeks, weeks=weeks, unproven=unproven
    )


def judge_skipped_losses(
    weights: Floats | None, scores: Floats, returns: Floats, span: Span
) -> NoticeOutcome:
    """Judge whether long_short would have lost in the pauses between a fill that closed its positions and one that opened them again.

    The IC of each week without a target weight is ranked among the IC of those with one. Where these weeks have no scores or forward returns,
    what the positions before each pause would have earned is ranked among what the target weights earned in the weeks traded.
    """
    notice = "signal.skipped_losses"
    if weights is None:
        return not_checked(notice, "the run sealed no target weights of long_short")
    traded = np.flatnonzero((np.nan_to_num(weights) != 0).any(axis=0))
    before, after = traded[:-1], traded[1:]
    paused = span.maturity[:, before] < span.entry[:, after]
    missed = np.where(paused, span.mid_at_entry[:, after] / span.mid_at_maturity[:, before] - 1, np.nan)
    ic = rank_correlations(scores, returns)
    sat_out = np.setdiff1d(np.arange(traded.min(initial=0), traded.max(initial=0)), traded)
    avoided, usual, what = ic[sat_out], ic[traded], "the score of long_short"
    if np.isfinite(avoided).sum() < MIN_PAUSES:
        avoided, usual = _earned(weights[:, before], missed), _earned(weights, returns)
        what = "the positions that long_short had closed"
    known = np.sort(usual[np.isfinite(usual)])
    place = np.searchsorted(known, avoided) / max(known.size, 1)
    return judge_mean(
        notice,
        np.where(np.isfinite(avoided), 1 - 2 * place, np.nan),
        f"In {{number}} pauses {what} would have lost: between the middle of the weeks that it traded (0) and the worst of them (1) what these "
        "would have earned ranks at {mean:.2f} on average.",
        f"{MIN_PROVEN_NAMES} names with fills at both ends",
        period="pause",
        fewest=MIN_PAUSES,
    )


def _earned(weights: Floats, returns: Floats) -> Floats:
    """Return what weights earn per week, relative to the sum of their sizes; NaN where few names have both."""
    known = np.isfinite(returns) & (np.nan_to_num(weights) != 0)
    size = np.sum(np.abs(weights), axis=0, where=known)
    earned: Floats = np.sum(weights * returns, axis=0, where=known) / size
    return np.where(known.sum(axis=0) >= MIN_PROVEN_NAMES, earned, np.nan)
