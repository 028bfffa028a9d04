"""Declaration of a notice, and thresholds shared by several families."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

PASS: Final = "pass"  # noqa: S105 - not a password
NOTICE: Final = "notice"
NOT_CHECKED: Final = "not_checked"
OUTCOMES: Final = (PASS, NOTICE, NOT_CHECKED)
"""Outcomes of a rule or a notice."""

CHANCE: Final = 3.0
"""Standard errors from zero that a mean must lie before its size is noticed, since means of short runs are large by chance."""
SIGNIFICANT: Final = f"where it lies at least {CHANCE:g} standard errors from zero"
MIN_CORRELATED_WEEKS: Final = 20
"""Fewest weeks over which correlations and shares of weeks are judged."""
BASIS_POINTS: Final = 10_000
"""In one."""
GRINOLD: Final = "Grinold and Kahn (2000), Active Portfolio Management, 2nd ed."


@dataclass(frozen=True, slots=True)
class Notice:
    """One notice.

    Attributes
    ----------
    id
        ``group.name``, stable.
    meaning
        What it means for the run, and why it needs attention.
    figure
        Name of the figure.
    threshold
        Bound of the figure; the upper bound if `least` is given.
    definition
        How the figure is computed.
    source
        Where the threshold comes from.
    unit
        Of figure and threshold.
    below
        Whether it is given for figures below the threshold, rather than above.
    least
        Lower bound, for a figure that must lie between two.
    raw
        Whether it uses raw columns or raw books, so that only keys with raw-book access see it.
    """

    id: str
    meaning: str
    figure: str
    threshold: float
    definition: str
    source: str
    unit: str = "ratio"
    below: bool = False
    least: float | None = None
    raw: bool = False
