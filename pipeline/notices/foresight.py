"""Notices on scores that may know some of the returns to come, from up to 64 names, week by week."""

from __future__ import annotations

import math

import numpy as np

from datasets.figures.series import Flags, Floats
from pipeline.notices.correlations import (
    centred_ranks,
    column_mean,
    judge_mean,
    rank_correlations,
    relative_ranks,
)
from pipeline.notices.outcome import NoticeOutcome, by_chance, first_noticed, judged, not_checked, too_few
from schemas.notices import NOTICES
from schemas.notices.notice import CHANCE
from schemas.notices.signal import (
    EXTREME_RANK,
    FADED_SHARE,
    KNOWN_AFTER,
    MAX_DELAY_WEEKS,
    MAX_UNEXPLAINED_IC,
    MIN_OUTLYING_WEEKS,
    MIN_RANKED_NAMES,
    MIN_SCORED_SHARE,
    NEIGHBOURS,
)
from schemas.plurals import counted


def judge_innovation(
    changes: Floats, returns: Floats, news: Floats, late_returns: Floats | None
) -> NoticeOutcome:
    """Judge whether what is new in the score predicts better than forecasters can.

    Look-ahead information is new every week. In an otherwise steady score it dominates the change, however small a part of the
    score it is; in one that follows the returns of the last weeks, it dominates what these leave unexplained. That is compared with
    returns from the first close after the decision, since the last of these weeks ends at the open before it.
    """
    changed = "Changes in the score's rank since the week before have"
    compared = [(rank_correlations(changes, returns), changed, "forward returns", 0.0)]
    if late_returns is not None:
        # Held names lie at the ends of the score, where a correlation is larger than among all.
        of_all, of_held = (
            column_mean(values**2) for values in (news, np.where(np.isfinite(late_returns), news, np.nan))
        )
        by_week = rank_correlations(news, late_returns) * np.sqrt(np.minimum(of_all / of_held, 1.0))
        new = "What the last weeks do not explain of the score's rank has"
        compared.append((by_week, new, "the returns of held names from the first close", MAX_UNEXPLAINED_IC))
    # A score that knows the sum of several weeks changes most by the last of them.
    weeks = changes.shape[1]
    for later in range(1, min(MAX_DELAY_WEEKS + 1, weeks)):
        by_week = rank_correlations(changes[:, : weeks - later], returns[:, later:])
        compared.append((by_week, changed, f"forward returns {counted(later, 'week')} later", 0.0))
    return first_noticed(
        *(
            judge_mean(
                "signal.innovation_ic",
                by_week,
                f"{new} a rank correlation of {{mean:.3f}} with {earned} over {{number}} weeks.",
                "names scored twice",
                either_sign=True,
                limit=limit,
            )
            for by_week, new, earned, limit in compared
        )
    )


def judge_known_names(changes: Floats, returns: Floats) -> NoticeOutcome:
    """Judge whether the changes of the score predict the returns of some names far better than those of others.

    By chance, the correlations of names with their returns have a known deviation. Names differ in how well a score predicts them,
    but hardly in how well its changes do.
    """
    notice = "signal.known_names"
    ranks = centred_ranks(np.where(np.isfinite(changes), returns, np.nan))
    weeks = np.isfinite(ranks + changes).sum(axis=1)
    by_name = rank_correlations(changes.T, ranks.T, MIN_OUTLYING_WEEKS)
    known = np.isfinite(by_name)
    names = int(known.sum())
    if names < MIN_RANKED_NAMES:
        needed = f"changes of the score and forward returns in {MIN_OUTLYING_WEEKS} weeks"
        return too_few(notice, names, "name", needed, MIN_RANKED_NAMES)
    deviations = np.arctanh(by_name[known]) * np.sqrt(weeks[known] - 3)
    spread = float(deviations.std(ddof=1))
    return judged(
        notice,
        spread,
        f"Changes in the score's rank predict some of {names} names far better than others: the correlations differ by {spread:.2f} times as "
        "much as by chance.",
        chance=1 + by_chance(names) / math.sqrt(2 * (names - 1)),
        names=names,
    )


def judge_opposed_halves(scores: Floats) -> NoticeOutcome:
    """Judge whether the mean scores of names in the two halves of the run cancel each other.

    Scores that are standardised by name over the whole run have the same mean for all names, so those above it in one half are below it
    in the other. Scores less their own earlier value lie between, since each value is added once and subtracted once. Names that move
    together count as fewer in the error of the correlation, by the participation ratio of their covariances.
    """
    notice = "signal.opposed_halves"
    steady, measured = _steady(np.isfinite(scores))
    names, weeks = int(steady.sum()), int(measured.sum())
    if weeks < MIN_OUTLYING_WEEKS or names < MIN_RANKED_NAMES:
        return _too_short(notice, names, weeks, "a score")
    relative = (scores - column_mean(scores))[np.ix_(steady, measured)]
    first, second = (column_mean(half.T) for half in np.array_split(relative, 2, axis=1))
    correlation = float(np.corrcoef(first, second)[0, 1])
    deviations = np.nan_to_num(relative - column_mean(relative.T)[:, np.newaxis])
    largest = float(np.abs(deviations).max())
    if not largest > 0:
        return not_checked(notice, "no name changes its score from week to week")
    deviations /= largest
    covariances = deviations @ deviations.T
    independent = float(np.trace(covariances)) ** 2 / float((covariances**2).sum())
    error = 1 / math.sqrt(max(independent - 3, 1e-9))
    return judged(
        notice,
        correlation,
        f"The mean scores of {names} names in the first half of the run have a correlation of {correlation:.2f} with those in the second.",
        chance=math.tanh(math.atanh(NOTICES[notice].threshold) - CHANCE * error),
        names=names,
        weeks=weeks,
    )


def judge_known_means(scores: Floats, returns: Floats, betas: Floats) -> NoticeOutcome:
    """Judge whether names score early in the run by what they earn late in it, given what else tells names apart.

    The mean return of a name over the whole run is the sum of what it had earned and what it will earn. A score that leans to it goes with
    the first, as many honest ones do, and with the second at given values of the first. Names that move more than others differ in both.
    """
    notice = "signal.known_means"
    steady, measured = _steady(np.isfinite(scores + returns))
    names, weeks = int(steady.sum()), int(measured.sum())
    if weeks < MIN_OUTLYING_WEEKS or names < MIN_RANKED_NAMES:
        return _too_short(notice, names, weeks, "a score and a forward return")
    sizes = column_mean(np.abs(returns - column_mean(returns)).T)[steady]
    score, earned = (relative_ranks(values)[np.ix_(steady, measured)].T for values in (scores, returns))
    partial = []
    for share in KNOWN_AFTER:
        first = round(share * weeks)
        past = column_mean(earned[:first])
        means = np.column_stack([column_mean(score[:first]), column_mean(earned[first:])])
        explaining = np.nan_to_num(relative_ranks(np.column_stack([past, betas[steady], sizes])))
        ranks = relative_ranks(means)
        rest = ranks - explaining @ np.linalg.lstsq(explaining, ranks, rcond=None)[0]
        partial.append(float(np.corrcoef(rest[:, 0], rest[:, 1])[0, 1]))
    lowest = float(np.min(partial))
    return judged(
        notice,
        lowest,
        f"The mean scores of {names} names in the first part of the run have a partial rank correlation of {lowest:.2f} or more with what they "
        "earn in the rest.",
        chance=math.tanh(CHANCE / math.sqrt(names - 3 - explaining.shape[1])),
        names=names,
        weeks=weeks,
    )


def _steady(known: Flags) -> tuple[Flags, Flags]:
    """Return the names with values in most of the weeks in which half of the names have one, and these weeks."""
    measured = 2 * known.sum(axis=0) >= known.any(axis=1).sum()
    return known[:, measured].sum(axis=1) >= MIN_SCORED_SHARE * measured.sum(), measured


def _too_short(notice: str, names: int, weeks: int, what: str) -> NoticeOutcome:
    if weeks < MIN_OUTLYING_WEEKS:
        return too_few(notice, weeks, "week", f"{what} of half of the names", MIN_OUTLYING_WEEKS)
    return too_few(notice, names, "name", f"{what} in {MIN_SCORED_SHARE:.0%} of the weeks", MIN_RANKED_NAMES)


def judge_neighbours(scores: Floats, returns: Floats, weights: Floats | None) -> NoticeOutcome:
    """Judge whether returns explain the order of names with nearly the same score, and which of them long_short holds.

    A score that predicts returns hardly orders its neighbours. Returns to come do, if they order the names of a side, or move some of them
    across the threshold of the selection. What the score explains by least squares is left out, since some scores have few values.
    """
    notice, known = "signal.neighbours", np.isfinite(scores + returns)
    number, weeks = known.sum(axis=0), scores.shape[1]
    ranks = relative_ranks(np.where(known, returns, np.nan))
    centred = scores - column_mean(np.where(known, scores, np.nan))
    variance = column_mean(np.where(known, centred**2, np.nan))
    ranks -= column_mean(centred * ranks) / np.where(variance > 0, variance, np.inf) * centred
    order = np.argsort(np.where(known, -scores, np.inf), axis=0, kind="stable")
    groups = len(scores) // NEIGHBOURS
    in_order = np.take_along_axis(ranks, order, axis=0)[: groups * NEIGHBOURS]
    alike = in_order.reshape(groups, NEIGHBOURS, weeks).swapaxes(0, 1).reshape(NEIGHBOURS, groups * weeks)
    downwards = np.broadcast_to(-np.arange(float(NEIGHBOURS))[:, np.newaxis], alike.shape)
    of_groups = rank_correlations(downwards, alike).reshape(groups, weeks)
    outcomes = [
        judge_mean(
            notice,
            column_mean(of_groups),
            f"Among {NEIGHBOURS} names of neighbouring scores, returns have a rank correlation of {{mean:.3f}} with the score on average over {{number}} weeks.",
            f"{NEIGHBOURS} names with a score and a forward return",
        )
    ]
    if weights is not None:
        place, sides = np.argsort(order, axis=0), []
        for sign, from_end in ((1, place), (-1, number - 1 - place)):
            held = (known & (sign * weights > 0)).sum(axis=0)
            near = np.maximum(np.rint(held / NEIGHBOURS), 1)
            above = from_end - held
            inside, outside = (
                column_mean(np.where(known & (first <= above) & (above < first + near), sign * ranks, np.nan))
                for first in (-near, 0)
            )
            sides.append(np.where((held > 1) & (held + near <= number), inside - outside, np.nan))
        outcomes.append(
            judge_mean(
                notice,
                column_mean(np.array(sides)),
                "The returns of the names that are only just among those of long_short rank higher on its side, from -1 to 1, than those of "
                "the names next to them, by {mean:.2f} on average over {number} weeks.",
                "names on both sides of the threshold of long_short",
            )
        )
    return first_noticed(*outcomes)


def judge_extremes(scores: Floats, changes: Floats, news: Floats, returns: Floats) -> NoticeOutcome:
    """Judge how often the names with the highest and the lowest score, or with its largest changes, are right.

    A score that knows the returns of a few names hardly predicts better on average, but stands out where it knows them. One that passes
    over what would lose returns to the middle there.
    """
    ranks = relative_ranks(np.where(np.isfinite(scores), returns, np.nan))
    outcomes = []
    for values, what in ((scores, "score"), (changes, "change of the score")):
        known = np.isfinite(values + ranks)
        weeks = np.flatnonzero(known.sum(axis=0) >= MIN_RANKED_NAMES)
        highest, lowest = (
            ranks[np.where(known, sign * values, -np.inf).argmax(axis=0)[weeks], weeks] for sign in (1, -1)
        )
        of_all = EXTREME_RANK * rank_correlations(values, returns)[weeks]
        outcomes.append(
            judge_mean(
                "signal.extremes",
                (highest - lowest) / 2 - of_all,
                "Between the middle of the week (0) and its extremes (1), the returns of the names with the highest and the lowest "
                f"{what} rank higher on its side, by {{mean:.2f}} on average over {{number}} weeks, than those of all names explain.",
                f"{MIN_RANKED_NAMES} names with a score and a forward return",
            )
        )
    return first_noticed(*outcomes, _judge_faded(relative_ranks(scores), news, ranks))


def _judge_faded(scores: Floats, news: Floats, earned: Floats) -> NoticeOutcome:
    """Judge the returns of names whose score is nearer to the middle than earlier weeks explain, all in ranks from -1 to 1.

    A forecast is as right about these as about names whose score moves away from the middle.
    """
    expected = scores - news
    faded = np.where(np.isfinite(earned), np.abs(expected) - np.abs(scores), np.nan)
    away = faded < 0
    slope = np.sum(news * earned, where=away) / max(np.sum(news**2, where=away), 1e-9)
    lost = -np.sign(expected) * earned - slope * np.abs(news)
    known = faded[np.isfinite(faded)]
    limit = np.quantile(known, 1 - FADED_SHARE) if known.size else math.inf
    name, week = np.nonzero(faded > limit)
    return judge_mean(
        "signal.extremes",
        lost[name, week],
        "{number} names whose score moved most towards the middle of its week would have lost on their former side: their returns rank {mean:.2f} "
        "further towards the largest loss (1) than other news in the score explain.",
        "a score nearer to the middle than expected, and a forward return",
        period="name",
        groups=week,
    )
