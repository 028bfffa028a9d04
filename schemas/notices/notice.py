"""Declaration of a notice, and thresholds shared by several families."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

PASS: Final = "pass"  # noqa: S105 - not a password
NOTICE: Final = "notice"
NOT_CHECKED: Final = "not_checked"
CHANCE: Final = 3.0
"""Minimum distance of a mean from zero, in standard errors, for a notice: means of short runs are large by chance."""
FEW_VALUES: Final = 7.5
"""Further standard errors for a mean of n values, times n - 1: those of few values are themselves uncertain (Student's t)."""
EXCEPTIONAL_RATIO: Final = 1.0
"""Annual ratio of mean and deviation that is exceptional, but honest: a short run may exceed several times as much by chance."""
MIN_CORRELATED_WEEKS: Final = 20
"""Minimum number of weeks for judging correlations and shares of weeks."""
BASIS_POINTS: Final = 10_000
"""Basis points in 1."""
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
    threshold
        Bound of the figure; the upper bound if `least` is given.
    definition
        How the figure is computed.
    source
        Where the threshold comes from.
    unit
        Unit of figure and threshold.
    below
        Whether figures below the threshold cause it, rather than figures above.
    least
        Lower bound, for a figure that must lie between two bounds.
    figure
        Name of the figure; that of the notice unless stated otherwise.
    raw
        Whether it uses raw columns or raw books, so that only keys with raw-book access see it.
    """

    id: str
    meaning: str
    threshold: float
    definition: str
    source: str
    unit: str = "ratio"
    below: bool = False
    least: float | None = None
    figure: str = ""
    raw: bool = False

    def __post_init__(self) -> None:
        """Name the figure as the notice unless another name is declared."""
        object.__setattr__(self, "figure", self.figure or self.id.partition(".")[2])
