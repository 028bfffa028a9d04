"""Figures by which the screen sorts and filters alphas, each in a single unit.

The metrics of a run serve a sealed figure in the unit of the seal. Alphas can only be compared in one unit, so the screen
withholds a figure that was sealed in another unit or scaled differently than declared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from schemas.metrics.core import CORE, RANK_IC_CONDITIONED
from schemas.metrics.screened import CORRECTED, SCREENED
from schemas.metrics.statistic import MONEY_UNIT, Statistic

HEADLINE_VERSION: Final = 5
"""Bump when the computation or the record of a figure changes: the screen withholds values recorded by earlier versions until a rebuild."""


@dataclass(frozen=True, slots=True)
class HeadlineFigure:
    """One figure of the list of alphas.

    Attributes
    ----------
    name
        Its name in requests.
    statistic
        Declaration of the figure.
    path
        Path of its entry in the metrics of a run; empty if only the screen has it.
    recorded
        Name under which pointers record it: for a deprecated name, the name of the superseding figure; empty for a figure that
        depends on other alphas.
    """

    name: str
    statistic: Statistic
    path: tuple[str, ...]
    recorded: str

    @property
    def unit(self) -> str:
        """The unit of the screen, in words of the sealed vocabulary."""
        return "ratio" if self.statistic.unit == MONEY_UNIT else self.statistic.unit

    @property
    def unit_text(self) -> str:
        """The unit for people."""
        return self.unit.replace("_", " ")

    @property
    def deprecated(self) -> bool:
        """Whether another name supersedes it."""
        return self.recorded not in (self.name, "")

    @property
    def meaning(self) -> str:
        """Its meaning, with the unit."""
        if self.deprecated:
            return f"Deprecated name of {self.recorded}."
        scaled = {"annualised": ", annualised", "per_period": f", {self.statistic.horizon.partition(':')[0]}"}
        words = self.unit_text + scaled.get(self.statistic.annualisation, "")
        return f"{self.statistic.meaning.removesuffix('.')} ({words})."


_DECLARED: Final = (
    *(HeadlineFigure(name, x, ("core", name), x.name) for x in CORE for name in (x.name, *x.aliases)),
    *(HeadlineFigure(x.name, x, ("rank_ic", "conditioned", x.name), x.name) for x in RANK_IC_CONDITIONED),
    *(HeadlineFigure(x.name, x, (), x.name) for x in SCREENED),
    *(HeadlineFigure(x.name, x, (), "") for x in CORRECTED),
)
HEADLINE: Final[dict[str, HeadlineFigure]] = {figure.name: figure for figure in _DECLARED}
"""Every figure by name, in the order of the documents."""
RECORDED: Final = tuple(figure for figure in HEADLINE.values() if figure.name == figure.recorded)
"""The figures recorded in a pointer: without deprecated names and figures that depend on other alphas."""
IN_METRICS: Final = tuple(figure for figure in RECORDED if figure.path)
"""The figures that are also in the metrics of a run."""
CORRECTED_NAMES: Final = frozenset(figure.name for figure in HEADLINE.values() if not figure.recorded)
