"""From scores to weekly decisions: which names can be traded, which are selected, their weights and the reasons."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from examples.reference_engine.alpha import AlphaSpec
from examples.reference_engine.market import Market
from examples.reference_engine.sessions import Flags, Floats
from examples.reference_engine.signal import LOOKBACK, raw_signal, smoothed

Labels = npt.NDArray[np.str_]

_LABEL = "U40"

TAIL = 0.2
"""Share of the selectable names in each tail."""

FEWEST_SHARE = 0.5
"""A week is skipped when fewer than this share of its names is both scored and tradeable."""

WARMUP = "warmup_history_too_short"
TOO_FEW = "insufficient_scored_tradeable_names"


@dataclass(frozen=True, eq=False)
class Decisions:
    """The weekly decisions of one run, W weeks by N names.

    Attributes
    ----------
    status
        Shape (W,): `traded`, `pending`, or why the week was skipped.
    listed
        Which names have a row.
    raw, score
        The signal before and after smoothing; NaN is not a valid score.
    unavailable
        Why a name cannot be traded at the next open; the empty string if it can.
    weights
        Book -> target weights; zero for a name that is untradeable or unselected, and in a skipped week.
    reasons
        Family (`conditioned` or `raw`) -> reasons of the decisions; empty for a routine hold.
    """

    status: Labels
    listed: Flags
    raw: Floats
    score: Floats
    unavailable: Labels
    weights: dict[str, Floats]
    reasons: dict[str, Labels]

    @property
    def tradeable(self) -> Flags:
        """Shape (W, N): names that can be filled at the next open, as far as is known."""
        return np.asarray(self.unavailable == "")


def decide(market: Market, spec: AlphaSpec) -> Decisions:
    """Take every weekly decision of a run.

    Parameters
    ----------
    market
        The simulated market.
    spec
        The signal and its smoothing.

    Returns
    -------
    Decisions
        Rows exist for every name listed on the decision day, scored or not.
    """
    days = market.decisions[:, None]
    listed = (market.first <= days) & (days <= market.last)
    raw = raw_signal(spec.signal, market.closes, market.marks, market.first, market.decisions)
    raw[~listed] = np.nan
    score = smoothed(raw, spec.half_life_weeks)
    unavailable = _unavailability(market)
    tradeable = unavailable == ""
    status = _status(market, spec, np.isfinite(score) & tradeable, listed)
    active = np.isin(status, ["traded", "pending"])

    weights: dict[str, Floats] = {}
    sides: dict[str, Floats] = {}
    for family, prefix, values in (("conditioned", "", score), ("raw", "raw_", raw)):
        book = np.zeros_like(score)
        for week in np.flatnonzero(active):
            book[week] = tail_weights(np.where(tradeable[week], values[week], np.nan))
        weights[f"{prefix}long_short"] = book
        weights[f"{prefix}long_only"] = np.maximum(book, 0.0)
        sides[family] = np.sign(book)
    gated = listed & ~tradeable
    reasons = {
        "conditioned": _reasons(sides["conditioned"], gated, active, raw_sides=sides["raw"]),
        "raw": _reasons(sides["raw"], gated, active),
    }
    return Decisions(status, listed, raw, score, unavailable, weights, reasons)


def tail_weights(scores: Floats) -> Floats:
    """Weight the two tails of one cross-section, dollar-neutral.

    Each tail holds a fifth of the valid names, rounded down, but at least two. Within a tail the weight falls
    linearly with rank: the extreme name gets three times the weight of the innermost one. The long side sums
    to 1, the short side to -1. Ties are broken by position.

    Parameters
    ----------
    scores
        Shape (N,), NaN where the name cannot be selected.

    Returns
    -------
    numpy.ndarray
        Shape (N,); all zero when fewer than four names are valid.
    """
    weights = np.zeros_like(scores)
    valid = np.flatnonzero(np.isfinite(scores))
    if len(valid) < 4:
        return weights
    size = max(2, int(TAIL * len(valid)))
    ascending = valid[np.argsort(scores[valid], kind="stable")]
    slope = np.linspace(1.5, 0.5, size)
    slope /= slope.sum()
    weights[ascending[:size]] = -slope
    weights[ascending[::-1][:size]] = slope
    return weights


def _unavailability(market: Market) -> Labels:
    """Return why each name cannot be traded at the open after each decision.

    The last decision may have no open yet; then only what was known at its close counts.
    """
    reasons = np.full((len(market.decisions), len(market.symbols)), "", dtype=_LABEL)
    bars = market.has_bar
    for week, day in enumerate(market.decisions):
        # From the weakest to the strongest: a later line overrides an earlier one.
        reasons[week, market.illiquid[day]] = "illiquid"
        reasons[week, market.no_borrow[day]] = "no_borrow"
        reasons[week, ~bars[day]] = "data_gap"
        if day + 1 < market.observed:
            reasons[week, ~bars[day + 1]] = "halted"
        reasons[week, market.last <= day] = "suspended"
    return reasons


def _status(market: Market, spec: AlphaSpec, usable: Flags, listed: Flags) -> Labels:
    status = np.full(len(market.decisions), "traded", dtype=_LABEL)
    if market.decisions[-1] + 1 >= market.observed:
        status[-1] = "pending"
    status[usable.sum(axis=1) < FEWEST_SHARE * listed.sum(axis=1)] = TOO_FEW
    status[market.decisions < LOOKBACK[spec.signal]] = WARMUP
    return status


def _reasons(side: Floats, gated: Flags, active: Flags, *, raw_sides: Floats | None = None) -> Labels:
    """Return what changed since the last week with a decision.

    A name that cannot be traded keeps its side, because its position is frozen, not closed.
    `raw_sides` shows which holdings only the smoothing keeps in the book.
    """
    notes = np.full(side.shape, "", dtype=_LABEL)
    before = np.zeros(side.shape[1])
    for week, now in enumerate(side):
        if active[week]:
            changed = now != before
            if raw_sides is not None:
                notes[week, (now != 0) & (raw_sides[week] != now)] = "carried_by_smoothing"
            notes[week, (now == 0) & changed] = "exited_below_threshold"
            notes[week, (now != 0) & changed] = "entered_selection"
            before = np.where(gated[week], before, now)
        notes[week, gated[week]] = "gated_untradeable"
    return notes
