"""Notices on a panel of up to 64 names: their scores, forward returns, weights and prices, week by week."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import numpy as np

from datasets.figures.rank_correlation import Integers
from datasets.figures.series import Dates, Floats
from pipeline.notices import foresight, spans, universe, weights
from pipeline.notices.clipped_returns import judge_repeated_returns
from pipeline.notices.copies import judge_copies
from pipeline.notices.correlations import (
    centred_ranks,
    column_mean,
    judge_mean,
    rank_correlations,
    relative_ranks,
)
from pipeline.notices.outcome import (
    NoticeOutcome,
    judged,
    none_checked,
    not_checked,
)
from pipeline.notices.rows import place_in
from pipeline.notices.spans import Instants, Span
from pipeline.notices.turned_weeks import judge_turned_weeks
from schemas.notices.signal import (
    EXPLAINING_WEEKS,
    MIN_PROVABLE_RETURNS,
)
from schemas.plurals import counted
from schemas.tables.books import CONDITIONED_BOOKS

NO_FORWARD_RETURN: Final = "the run sealed no forward return"
"""Reason that a notice on forward returns is not checked."""
_NEED_MARKS: Final = ("signal.returns_beyond_marks", "signal.return_size")
_BETWEEN_FILLS: Final = ("signal.chained_returns", "signal.unproven_weeks", "signal.skipped_losses")
_ON_RETURNS: Final = (
    "signal.copied_forward_returns",
    "universe.gaps",
    "signal.innovation_ic",
    "signal.known_names",
    "signal.known_means",
    "signal.extremes",
    "signal.neighbours",
    "signal.weight_ic",
    "signal.name_sizes",
    "book.tilt",
    "universe.barred_names",
    *_NEED_MARKS,
    "signal.flipped_weeks",
    "signal.flipped_spells",
    "signal.opposed_weeks",
    "signal.repeated_returns",
    "signal.shared_extremes",
    *_BETWEEN_FILLS,
)
_COMPARED_NAMES: Final = 32
"""Maximum names for the comparison of two weeks."""


@dataclass(frozen=True)
class Panel:
    """Some names by week; every array has shape (names, weeks), NaN where there is no value.

    Attributes
    ----------
    codes
        Number of each name, shape (names,).
    dates
        Rebalance dates, ascending, shape (weeks,).
    entry, maturity
        Sealed start and end of each forward return, microseconds since 1970; :data:`NEVER` where not sealed.
    scores, forward_returns, tradeable
        Columns of the decisions; None where the column was not sealed. Tradeable is 1 or 0.
    weights
        Book -> target weights, for the books whose weights were sealed.
    span
        None where the run sealed no fills.
    marks, after_fills
        Marks at the close of the rebalance date, and of the session after it; None and empty where the run sealed no positions.
    positions
        Signed value in long_short at the next close; None where the run sealed none of it.
    """

    codes: Integers
    dates: Dates
    entry: Instants
    maturity: Instants
    scores: Floats
    forward_returns: Floats | None = None
    weights: Mapping[str, Floats] = field(default_factory=dict)
    tradeable: Floats | None = None
    span: Span | None = None
    marks: Floats | None = None
    after_fills: Floats = field(default_factory=lambda: np.empty((0, 0)))
    positions: Floats | None = None

    @property
    def days(self) -> Integers:
        """Rebalance dates as days since 1970."""
        return self.dates.astype(np.int64)

    @property
    def returns(self) -> Floats:
        """Forward returns; NaN where the run sealed none."""
        return np.full(self.scores.shape, np.nan) if self.forward_returns is None else self.forward_returns

    def at(self, table: Floats, codes: Integers, days: Integers) -> Floats:
        """Return the values of names and rebalance dates in a table of shape (names, weeks); NaN for those that the panel lacks."""
        (name, known), (week, dated) = place_in(codes, self.codes), place_in(days, self.days)
        values = np.full(codes.size, np.nan)
        among = known & dated
        values[among] = table[name[among], week[among]]
        return values

    @property
    def entries(self) -> Dates:
        """Instant at which the forward returns of each week begin; NaT where unknown."""
        # Fills also tell the start where it is not sealed.
        entry = self.entry if self.span is None else self.span.entry
        first: Dates = np.fmin.reduce(entry.view("datetime64[us]"), axis=0)
        return first

    @property
    def rank_changes(self) -> Floats:
        """Change of the rank of each score since the week before; NaN where it has none."""
        changes = np.full(self.scores.shape, np.nan)
        changes[:, 1:] = np.diff(centred_ranks(self.scores), axis=1)
        return changes

    @cached_property
    def news(self) -> Floats:
        """Part of the rank of each score that its rank of the week before and the returns of the last weeks do not explain, by least squares.

        NaN where one of these is unknown, and everywhere if few ranks are known.
        """
        news = np.full(self.scores.shape, np.nan)
        score, earned = relative_ranks(self.scores), relative_ranks(self.returns)
        weeks = score.shape[1]
        explaining = [(score, 1), *((earned, delay) for delay in range(1, EXPLAINING_WEEKS + 1))]
        earlier = np.stack(
            [
                np.hstack([news[:, :delay], values[:, : max(weeks - delay, 0)]])
                for values, delay in explaining
            ],
            axis=-1,
        )
        known = np.isfinite(score) & np.isfinite(earlier).all(axis=-1)
        if known.sum() >= MIN_PROVABLE_RETURNS:
            shares = np.linalg.lstsq(earlier[known], score[known], rcond=None)[0]
            news[known] = score[known] - earlier[known] @ shares
        return news

    def earned(self, book: str) -> Floats:
        """Return the forward returns less the mean of their week, on the side of the target weight in a book; NaN where it has none."""
        weights = self.weights.get(book, np.zeros(self.scores.shape))
        return np.where(weights != 0, np.sign(weights) * (self.returns - column_mean(self.returns)), np.nan)

    @property
    def market(self) -> Floats | None:
        """Mean forward return of the names of each week; NaN where unknown, None where the run sealed no forward return."""
        if self.forward_returns is None:
            return None
        return column_mean(self.forward_returns)

    @property
    def betas(self) -> Floats:
        """Slope of the forward returns of each name on those of the market; NaN where the market has none or does not vary."""
        market = column_mean(self.returns)
        own = self.returns - column_mean(self.returns.T)[:, np.newaxis]
        common = np.nan_to_num(market - column_mean(market[:, np.newaxis]))
        slopes: Floats = np.nansum(own * common, axis=1) / np.sum(np.isfinite(own) * common**2, axis=1)
        return slopes


_NO_CELLS: Final = np.empty((0, 0), np.int64)
NO_PANEL: Final = Panel(
    np.empty(0, np.int64), np.empty(0, "datetime64[D]"), _NO_CELLS, _NO_CELLS, scores=np.empty((0, 0))
)
"""The panel of a run without cross-sections."""


def judge_panel(panel: Panel) -> Iterator[NoticeOutcome]:
    """Apply every notice on names to a panel."""
    scores = panel.scores[:_COMPARED_NAMES]
    yield judge_copies("signal.copied_scores", scores, panel.dates, "scores")
    yield foresight.judge_opposed_halves(panel.scores)
    if panel.forward_returns is None:
        yield from none_checked(_ON_RETURNS, NO_FORWARD_RETURN)
        return
    returns, changes = panel.forward_returns, panel.rank_changes
    compared = returns[:_COMPARED_NAMES]
    yield judge_copies(
        "signal.copied_forward_returns", compared, panel.dates, "forward returns", near=returns
    )
    yield universe.judge_gaps(panel.scores, returns)
    late_returns = None if panel.marks is None else _to_next_week(panel.after_fills, panel.marks)
    yield foresight.judge_innovation(changes, returns, panel.news, late_returns)
    yield foresight.judge_known_names(changes, returns)
    yield foresight.judge_known_means(panel.scores, returns, panel.betas)
    yield foresight.judge_neighbours(panel.scores, returns, panel.weights.get(CONDITIONED_BOOKS[0]))
    yield from judge_turned_weeks(panel.scores, returns)
    yield judge_repeated_returns(returns)
    yield foresight.judge_extremes(panel.scores, changes, panel.news, returns)
    yield from weights.judge_weights(panel.weights, panel.scores, returns)
    yield weights.judge_tilt(panel.weights.get(CONDITIONED_BOOKS[0]), panel.positions, returns)
    yield universe.judge_barred_names(panel.tradeable, panel.scores, returns, panel.positions)
    if panel.marks is None:
        yield from none_checked(_NEED_MARKS, "the run sealed no positions")
    else:
        mark_returns = _to_next_week(panel.marks, panel.marks)
        yield judge_returns_beyond_marks(panel.scores, returns, mark_returns)
        yield judge_return_size(returns, mark_returns)
    if panel.span is None:
        yield from none_checked(_BETWEEN_FILLS, "the run sealed no fills")
    else:
        yield spans.judge_chained_returns(returns, panel.span, panel.marks)
        long_short = panel.weights.get(CONDITIONED_BOOKS[0])
        yield spans.judge_unproven_weeks(long_short, panel.scores, returns, panel.span)
        yield spans.judge_skipped_losses(long_short, panel.scores, returns, panel.span)


def _to_next_week(start: Floats, marks: Floats) -> Floats:
    """Return the return from a price of each week to the mark of the next one."""
    returns = np.full(marks.shape, np.nan)
    returns[:, :-1] = marks[:, 1:] / start[:, :-1] - 1
    return returns


def judge_returns_beyond_marks(scores: Floats, returns: Floats, mark_returns: Floats) -> NoticeOutcome:
    """Judge whether the score predicts the difference between forward returns and mark returns of held names."""
    by_week = rank_correlations(scores, returns - mark_returns)
    message = "The excess of forward returns over the run's own mark returns has a rank correlation of {mean:.3f} with the score over {number} weeks."
    return judge_mean("signal.returns_beyond_marks", by_week, message, "names with two marks")


def judge_return_size(returns: Floats, mark_returns: Floats) -> NoticeOutcome:
    """Compare the size of forward returns with that of mark returns, which rank correlations do not show.

    Both span a week; they start one night apart. Medians are robust to splits and to overnight news.
    """
    notice = "signal.return_size"
    both = np.isfinite(returns + mark_returns)
    number = int(both.sum())
    if number < MIN_PROVABLE_RETURNS:
        reason = f"{counted(number, 'forward return is', 'forward returns are')} of a name with two marks; {MIN_PROVABLE_RETURNS} are needed"
        return not_checked(notice, reason)
    size, of_marks = (float(np.median(np.abs(values[both]))) for values in (returns, mark_returns))
    message = f"The median size of {number} forward returns is {size:.4f}; that of the mark returns of the same names is {of_marks:.4f}."
    return judged(notice, size / of_marks if of_marks else np.nan, message, returns=number)
