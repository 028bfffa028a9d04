"""Notices on fills: implausible prices and costs."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from datasets.figures.rank_correlation import Integers
from datasets.figures.series import Flags, Floats
from pipeline.notices.correlations import judge_mean, standard_error
from pipeline.notices.outcome import NoticeOutcome, by_chance, first_noticed, judged, not_checked, too_few
from pipeline.reconciliation.fills import SAME_PRICE
from pipeline.reconciliation.grid import Codes
from schemas.notices import NOTICES
from schemas.notices.books import LARGEST_GAPS, MIN_ADJUSTING_FILLS, MIN_FILLS, MIN_TAX, NEARLY_FREE
from schemas.notices.notice import BASIS_POINTS
from schemas.plurals import counted
from schemas.tables.books import ADJUSTING, SETTLEMENTS, base_book

_SIZES_PER_DOUBLING: Final = 2
"""Size classes per doubling of the notional."""
_SIZE_BITS: Final = 13
"""Bits for the size, below the number of the name."""
_TAXABLE: Final = ("Purchases", "Sales")
_MOST_DISTANT: Final = 0.1
"""Maximum log ratio of two prices; larger moves are clipped."""


@dataclass(frozen=True, slots=True)
class Fills:
    """Fills and the marks of their names, one value per fill; NaN if no book held the name at that close.

    Attributes
    ----------
    books
        Names of books and their trade-only variants.
    book
        Index of each fill's book in `books`.
    name
        Number of its symbol.
    side
        1 bought, -1 sold.
    growth
        1 if the fill adds to a position, -1 if it reduces one; NaN if the run does not say.
    notional
        Shares times the reference mid.
    mid
        Reference mid of the fill.
    cost
        Execution cost, in basis points of the notional.
    earlier, before, after
        Mark at the close two sessions before the fill, one session before it, and of its own session.
    decided
        Mark at the close of the decision's day.
    day
        Session of the fill, as days since 1970.
    gain, gain_day
        Gain of each fill between decisions, of up to 64 names on all days, up to the end of the forward return of its name, and the
        session of the fill; NaN if the forward return is unknown, or both the mid at its entry and the mark at the decision.
    """

    books: Sequence[str]
    book: Codes
    name: Integers
    side: Floats
    growth: Floats
    notional: Floats
    mid: Floats
    cost: Floats
    earlier: Floats
    before: Floats
    after: Floats
    decided: Floats
    day: Integers
    gain: Floats
    gain_day: Integers

    @property
    def base_books(self) -> tuple[list[str], Codes]:
        """Names of the books, without variants, and the index of each fill's book among them."""
        names, base = np.unique([base_book(name) for name in self.books], return_inverse=True)
        return names.tolist(), base[self.book]

    def has_suffix(self, *suffixes: str) -> Flags:
        """Return whether each fill belongs to a variant with one of these suffixes."""
        return np.array([name.endswith(suffixes) for name in self.books], np.bool_)[self.book]


def judge_fills(fills: Fills, outside_turnover: Collection[str]) -> Iterator[NoticeOutcome]:
    """Judge the fills of all books together; the seal leaves those of some variants out of turnover."""
    yield from _judge_against_marks(fills)
    yield _judge_staleness(fills)
    yield _judge_free_fills(fills)
    yield _judge_uneven_cost(fills)
    yield _judge_decision_close(fills)
    yield _judge_foresight(fills)
    yield _judge_turnover(fills, outside_turnover)


def _judge_turnover(fills: Fills, outside: Collection[str]) -> NoticeOutcome:
    """Judge how much of its trading a book leaves out of its turnover."""
    notice = "fills.outside_turnover"
    if fills.notional.size < MIN_FILLS:
        return not_checked(notice, f"{counted(fills.notional.size, 'fill')} sampled; {MIN_FILLS} are needed")
    names, book = fills.base_books
    left_out = fills.notional * fills.has_suffix(*(f"_{variant}" for variant in outside))
    total, outside_total = (
        np.bincount(book, weights=x, minlength=len(names)) for x in (fills.notional, left_out)
    )
    shares = outside_total / np.maximum(total, np.finfo(np.float64).tiny)
    worst = int(shares.argmax())
    message = f"{names[worst]} leaves {shares[worst]:.0%} of what it traded out of its turnover."
    return judged(notice, float(shares[worst]), message, book=names[worst])


def _judge_against_marks(fills: Fills) -> Iterator[NoticeOutcome]:
    """Judge how often, and by how much, fills are better than the closes around them."""
    known = ~np.isnan(fills.before) & ~np.isnan(fills.after)
    number, sessions = int(known.sum()), np.unique(fills.day[known]).size
    if number < MIN_FILLS or sessions == 1:
        needed = f"{MIN_FILLS}, of two sessions,"
        for notice in ("fills.better_than_marks", "fills.price_improvement"):
            yield too_few(notice, number, "fill", "marks before and after", needed)
        return
    before, after = (fills.side * (mark - fills.mid) for mark in (fills.before, fills.after))
    both = ((before > 0) & (after > 0))[known], ((before < 0) & (after < 0))[known]
    better, worse = (float(share.mean()) for share in both)
    # Fills of a session share its move.
    error, _ = standard_error(both[0].astype(np.float64) - both[1], fills.day[known])
    around = judged(
        "fills.better_than_marks",
        better - worse,
        f"{better:.0%} of {number} fills are better than the closes before and after them, {worse:.0%} worse than both.",
        chance=_share_by_chance("fills.better_than_marks", sessions, error),
        fills=number,
        better=better,
        worse=worse,
    )
    yield first_noticed(around, *_judge_gaps(fills))
    # Adjustments between decisions are few, so they are judged separately as well.
    adjusting = known & fills.has_suffix(ADJUSTING)
    yield first_noticed(
        _judge_improvement(fills, known, "fills"), _judge_improvement(fills, adjusting, "adjusting fills")
    )


def _judge_gaps(fills: Fills) -> Iterator[NoticeOutcome]:
    """Judge how many of the largest gaps between the close of the decision and the fills of the next session are in favour of the fills.

    A decision cannot know the gap after it. Fills at a later time, or between decisions, may know the moves before them, so they are left out.
    """
    decided = (fills.before == fills.decided) & ~fills.has_suffix(ADJUSTING, SETTLEMENTS)
    gap = np.where(decided, fills.side * (1 - fills.mid / fills.before), np.nan)
    size = np.abs(gap)
    known = size[np.isfinite(size)]
    for share, limit in LARGEST_GAPS.items():
        large = size > (np.quantile(known, 1 - share) if known.size else np.inf)
        yield judge_mean(
            "fills.better_than_marks",
            np.sign(gap[large]),
            "Of the {number} fills furthest from the close of their decision, the share on its better side exceeds the share on its worse side by "
            "{mean:.0%}.",
            "their mark at the close of the decision and are of the session after it",
            period="fill",
            fewest=MIN_FILLS,
            groups=fills.day[large],
            limit=limit,
        )


def _share_by_chance(notice: str, number: int, error: float) -> float:
    """Return the share of fills that chance explains: honest runs of many fills reach half the declared threshold, those of few more."""
    return NOTICES[notice].threshold / 2 + by_chance(number) * error


def _judge_improvement(fills: Fills, chosen: Flags, noun: str) -> NoticeOutcome:
    """Judge by how much fills are better than the closes before or after them, whichever is less.

    A signal may legitimately buy names that have just fallen, which beats one of the closes; an invented price beats both. Fills of a
    session, of several books or of stops in a falling market, share its move.
    """
    sides = [
        (fills.side * (mark - fills.mid) / fills.mid)[chosen] * BASIS_POINTS
        for mark in (fills.before, fills.after)
    ]
    return judge_mean(
        "fills.price_improvement",
        min(sides, key=np.sum),
        f"{{number}} {noun} are {{mean:.0f}} bp or more better on average than the closes before and those after them.",
        "marks before and after",
        period="fill",
        fewest=MIN_ADJUSTING_FILLS,
        groups=fills.day[chosen],
    )


def _judge_staleness(fills: Fills) -> NoticeOutcome:
    """Judge which share of the move of the session before fills take back, as they do if their mids are older than that move."""
    notice = "fills.stale"
    known = ~np.isnan(fills.before) & ~np.isnan(fills.earlier) & ~fills.has_suffix(SETTLEMENTS)
    number = int(known.sum())
    if number < MIN_FILLS:
        return too_few(notice, number, "fill", "two marks before them", MIN_FILLS)
    # A split between the two closes would dominate all other moves.
    move, back = (
        np.clip(np.log(fills.before[known] / other[known]), -_MOST_DISTANT, _MOST_DISTANT)
        for other in (fills.earlier, fills.mid)
    )
    if not move.std() > 0:
        return not_checked(notice, "marks do not change from session to session")
    share = float(np.cov(move, back, ddof=0)[0, 1] / move.var())
    error = math.sqrt(max(float(back.var() / move.var()) - share**2, 0.0) / number)
    message = f"{number} fills take back {share:.0%} of the move of the session before on average."
    return judged(notice, share, message, chance=by_chance(number) * error, fills=number)


def _judge_free_fills(fills: Fills) -> NoticeOutcome:
    notice = "fills.without_cost"
    traded = ~fills.has_suffix(SETTLEMENTS)
    names, book = fills.base_books
    number = np.bincount(book[traded], minlength=len(names))
    free = np.bincount(book[traded], weights=fills.cost[traded] < NEARLY_FREE, minlength=len(names))
    many = np.flatnonzero((number >= MIN_FILLS) & (free < number))
    if not many.size:
        return not_checked(notice, f"no book has {MIN_FILLS} fills of which at least one has a cost")
    worst = many[(free / np.maximum(number, 1))[many].argmax()]
    message = f"{free[worst]:.0f} of {number[worst]} fills of {names[worst]} cost next to nothing."
    return judged(
        notice, float(free[worst] / number[worst]), message, book=names[worst], fills=int(number[worst])
    )


def _judge_decision_close(fills: Fills) -> NoticeOutcome:
    notice = "fills.decision_close"
    known = ~np.isnan(fills.decided)
    number = int(known.sum())
    if number < MIN_FILLS:
        return too_few(notice, number, "fill", "a mark on the decision's day", MIN_FILLS)
    share = float((np.abs(fills.mid[known] / fills.decided[known] - 1) <= SAME_PRICE).mean())
    # Fills of several books at one mid are one observation.
    mids = np.unique(fills.mid[known]).size
    return judged(
        notice,
        share,
        f"{share:.0%} of {number} fills are at the close of the day of their decision.",
        chance=_share_by_chance(notice, max(mids, 2), math.sqrt(share * (1 - share) / mids)),
        fills=number,
    )


def _judge_foresight(fills: Fills) -> NoticeOutcome:
    """Judge the gain of fills between decisions, such as stop-loss fills, up to the fills of the next decision.

    They react to past prices. At true prices, the next move is as often against them as for them. Fills of a session share its move.
    """
    gain = np.clip(fills.gain, -_MOST_DISTANT, _MOST_DISTANT) * BASIS_POINTS
    message = (
        "{number} fills between decisions gained {mean:.0f} bp on average until the next decision was filled."
    )
    needed, days = "a later price and are between decisions", fills.gain_day
    return judge_mean(
        "fills.foresight", gain, message, needed, period="fill", fewest=MIN_ADJUSTING_FILLS, groups=days
    )


def _judge_uneven_cost(fills: Fills) -> NoticeOutcome:
    """Judge the cheapest group of fills (a book, a side, purchases or sales) against other fills of the same names and sizes."""
    notice = "fills.uneven_cost"
    traded = np.flatnonzero(
        ~fills.has_suffix(SETTLEMENTS) & ~fills.has_suffix(ADJUSTING) & (fills.notional > 0)
    )
    # Names differ in cost, and large fills cost more than small ones.
    size = np.round(_SIZES_PER_DOUBLING * np.log2(fills.notional[traded])).astype(np.int64)
    _, cell = np.unique((fills.name[traded] << _SIZE_BITS) + size, return_inverse=True)
    compared = []
    for group, own in _cost_groups(fills, traded).items():
        ratio, difference, number = _relative_cost(fills.cost[traded], cell, own)
        taxable = group in _TAXABLE and difference >= MIN_TAX
        if number >= MIN_FILLS and math.isfinite(ratio) and not taxable:
            compared.append((ratio, group, number))
    if not compared:
        return not_checked(notice, f"no group of fills has {MIN_FILLS} others of the same names and sizes")
    ratio, group, number = min(compared)
    message = f"{group} cost {ratio:.0%} of what other fills of the same names and sizes cost."
    return judged(notice, ratio, message, fills=number)


def _cost_groups(fills: Fills, traded: Integers) -> dict[str, Flags]:
    """Return the groups whose costs are compared, by description."""
    names, book = fills.base_books
    book, side = book[traded], fills.side[traded]
    long = side * fills.growth[traded]
    groups = {"Purchases": side > 0, "Sales": side < 0}
    for place, name in enumerate(names):
        own = book == place
        groups |= {
            f"Fills of {name}": own,
            f"Fills of long positions of {name}": own & (long > 0),
            f"Fills of short positions of {name}": own & (long < 0),
        }
    return groups


def _relative_cost(cost: Floats, cell: Integers, own: Flags) -> tuple[float, float, int]:
    """Compare the mean cost of some fills with that of other fills of the same `cell` (name and size), with equal weights.

    Returns
    -------
    ratio, difference : float
        Ratio of their cost to that of the others, and the others' cost less theirs, in basis points.
    number : int
        Number of fills compared.
    """
    number, total = np.bincount(cell), np.bincount(cell, weights=cost)
    n_own = np.bincount(cell[own], minlength=number.size)
    paid = np.bincount(cell[own], weights=cost[own], minlength=number.size)
    weight = np.minimum(n_own, number - n_own)
    some = weight > 0
    if not some.any():
        return math.nan, 0.0, 0
    own_mean = float((weight[some] * paid[some] / n_own[some]).sum()) / weight.sum()
    other_mean = float((weight[some] * (total - paid)[some] / (number - n_own)[some]).sum()) / weight.sum()
    return own_mean / other_mean if other_mean > 0 else math.nan, other_mean - own_mean, int(weight.sum())
