"""Notices on fills: prices nobody got."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from datasets.figures.series import Floats
from pipeline.notices.outcome import NoticeOutcome, judged, not_checked
from schemas.notices import BASIS_POINTS, CHANCE, MIN_FILLS, NOTICES

_SAME_PRICE: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Fills:
    """Fills beside the marks of their names, one value a fill; NaN where no book held the name at that close.

    Attributes
    ----------
    side
        1 bought, -1 sold.
    mid
        Reference mid of the fill.
    before, after
        Mark at the close of the session before, and of the session of the fill.
    decided
        Mark at the close of the decision's day.
    """

    side: Floats
    mid: Floats
    before: Floats
    after: Floats
    decided: Floats


def of_fills(fills: Fills) -> Iterator[NoticeOutcome]:
    """Judge the fills of all books together."""
    yield from _beside_marks(fills)
    yield _at_the_decision(fills)


def _beside_marks(fills: Fills) -> Iterator[NoticeOutcome]:
    """Judge how often, and by how much, fills are better than the closes around them."""
    known = ~np.isnan(fills.before) & ~np.isnan(fills.after)
    number = int(known.sum())
    if number < MIN_FILLS:
        for notice in ("fills.better_than_marks", "fills.price_improvement"):
            yield not_checked(notice, f"{number} fills have marks before and after; {MIN_FILLS} are needed")
        return
    side, mid = fills.side[known], fills.mid[known]
    before, after = side * (fills.before[known] - mid), side * (fills.after[known] - mid)
    better, worse = float(((before > 0) & (after > 0)).mean()), float(((before < 0) & (after < 0)).mean())
    yield judged(
        "fills.better_than_marks",
        better - worse,
        f"{better:.0%} of {number} fills are better than the closes before and after them, {worse:.0%} worse than both.",
        fills=number,
        better=better,
        worse=worse,
    )
    improvement = (before + after) / 2 / mid * BASIS_POINTS
    mean, error = float(improvement.mean()), float(improvement.std(ddof=1)) / math.sqrt(number)
    notice = "fills.price_improvement"
    yield judged(
        notice,
        mean,
        f"{number} fills are {mean:.0f} bp better on average than the mean of the closes before and after them.",
        threshold=max(NOTICES[notice].threshold, CHANCE * error),
        fills=number,
    )


def _at_the_decision(fills: Fills) -> NoticeOutcome:
    notice = "fills.decision_close"
    known = ~np.isnan(fills.decided)
    number = int(known.sum())
    if number < MIN_FILLS:
        return not_checked(
            notice, f"{number} fills have a mark on the decision's day; {MIN_FILLS} are needed"
        )
    share = float((np.abs(fills.mid[known] / fills.decided[known] - 1) <= _SAME_PRICE).mean())
    return judged(
        notice,
        share,
        f"{share:.0%} of {number} fills are at the close of the day of their decision.",
        fills=number,
    )
