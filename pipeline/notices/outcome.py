"""Outcome of one notice for one run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from schemas.notices import NOTICES
from schemas.notices.notice import CHANCE, FEW_VALUES, NOT_CHECKED, NOTICE, PASS
from schemas.plurals import counted


@dataclass(frozen=True, slots=True)
class NoticeOutcome:
    """Outcome of one notice, with its figure.

    Attributes
    ----------
    notice
        Id of the declaration.
    outcome
        ``pass``, ``notice`` or ``not_checked``.
    value, threshold
        The figure and its threshold; None when not checked.
    reason
        Why it was not checked.
    message
        One sentence for a notice that applies.
    details
        Further values, JSON-ready; ``alphas`` names the other runs involved.
    """

    notice: str
    outcome: str
    value: float | None = None
    threshold: float | None = None
    reason: str | None = None
    message: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the outcome for manifests and reports."""
        declared = NOTICES[self.notice]
        return {
            "notice": self.notice,
            "outcome": self.outcome,
            "figure": declared.figure,
            "value": self.value,
            "threshold": self.threshold,
            "unit": declared.unit,
            "reason": self.reason,
            "message": self.message,
            "raw": declared.raw,
            "details": dict(self.details),
        }


def judged(
    notice: str,
    value: float,
    message: str,
    *,
    chance: float | None = None,
    least: float | None = None,
    **details: Any,
) -> NoticeOutcome:
    """Compare a figure with its threshold.

    Parameters
    ----------
    notice
        Id of the declaration.
    value
        The figure.
    message
        Sentence for a notice that applies.
    chance
        Figure that chance alone explains in this run; it replaces a declared threshold that is nearer to the usual figures.
    least
        Lower bound for this run, if it differs from the declared one.
    **details
        Further values, JSON-ready.

    Returns
    -------
    NoticeOutcome
        ``not_checked`` if the figure is not finite.
    """
    declared = NOTICES[notice]
    if not math.isfinite(value):
        return not_checked(notice, f"{declared.figure} is not a finite number")
    limit = declared.threshold
    if chance is not None:
        limit = min(limit, chance) if declared.below else max(limit, chance)
    least = declared.least if least is None else least
    if least is not None and value - least < limit - value:
        limit, noticed = least, value < least
    else:
        noticed = value < limit if declared.below else value > limit
    return NoticeOutcome(
        notice,
        NOTICE if noticed else PASS,
        float(value),
        float(limit),
        message=message if noticed else None,
        details=details,
    )


def by_chance(number: int) -> float:
    """Return how many standard errors a mean may lie from zero by chance: more for few values, from which the error is estimated."""
    return CHANCE + FEW_VALUES / (number - 1)


def first_noticed(*outcomes: NoticeOutcome) -> NoticeOutcome:
    """Return the first outcome that is a notice; without any, the first one."""
    return next((outcome for outcome in outcomes if outcome.outcome == NOTICE), outcomes[0])


def not_checked(notice: str, reason: str, **details: Any) -> NoticeOutcome:
    """Outcome of a notice that could not be judged, with further values, JSON-ready."""
    return NoticeOutcome(notice, NOT_CHECKED, reason=reason, details=details)


def none_checked(notices: Iterable[str], reason: str) -> Iterator[NoticeOutcome]:
    """Return the outcomes of notices that could not be judged for the same reason."""
    return (not_checked(notice, reason) for notice in notices)


def too_few(notice: str, number: int, unit: str, what: str, needed: int | str) -> NoticeOutcome:
    """Outcome of a notice that could not be judged, because too few weeks, fills or other units have what it compares."""
    return not_checked(
        notice, f"{counted(number, f'{unit} has', f'{unit}s have')} {what}; {needed} are needed"
    )


def uncorrelated(notice: str, what: str, correlation: float, needed: float) -> NoticeOutcome:
    """Outcome of a notice that could not be judged, because a rank correlation of the run is too low."""
    return not_checked(notice, f"{what} have a rank correlation of {correlation:.2f}; {needed:g} is needed")


def in_declared_order(outcomes: Iterable[NoticeOutcome]) -> tuple[NoticeOutcome, ...]:
    """Return one outcome per declared notice, in declared order; the last of several wins.

    Raises
    ------
    KeyError
        When a declared notice has no outcome, or an outcome no declaration.
    """
    by_id = {outcome.notice: outcome for outcome in outcomes}
    if by_id.keys() != NOTICES.keys():
        raise KeyError(
            f"notices without an outcome or a declaration: {sorted(by_id.keys() ^ NOTICES.keys())}"
        )
    return tuple(by_id[id_] for id_ in NOTICES)
