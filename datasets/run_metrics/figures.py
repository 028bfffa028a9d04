"""What the metrics of a run are made from: small weekly and daily series, and the sealed records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from datasets.maths.deciles import WeeklyDeciles
from datasets.maths.series import Dates, Flags, Floats
from datasets.maths.unavailable import Unavailable
from datasets.run_metrics.window import Window
from schemas.metrics.vocabulary import SCORE_FIELD

if TYPE_CHECKING:
    from datasets.run_metrics.check_summary import CheckSummary

_RECORD_BYTES: Final = 400
"""What one sealed record takes as objects, about."""


@dataclass(frozen=True, slots=True)
class Ledger:
    """The daily ledger of the long_short book, ascending by day; NaN stands for null."""

    date: Dates
    starting: Floats
    ending: Floats
    risk_free: Floats
    turnover: Floats

    def within(self, window: Window) -> Ledger:
        """Keep the sessions of a window."""
        rows = window.rows(self.date)
        return Ledger(
            self.date[rows], self.starting[rows], self.ending[rows], self.risk_free[rows], self.turnover[rows]
        )


@dataclass(frozen=True, slots=True)
class Index:
    """The rebalance dates, ascending, and whether each has the status ``traded``."""

    date: Dates
    traded: Flags

    def within(self, window: Window) -> Index:
        """Keep the weeks of a window."""
        rows = window.rows(self.date)
        return Index(self.date[rows], self.traded[rows])


@dataclass(frozen=True, slots=True)
class RawSignal:
    """Weekly figures of the signal before smoothing, one value a week.

    Attributes
    ----------
    ic, n_return_obs
        Rank correlation with the forward return, and the names it is over.
    cohort_size
        Names with a signal.
    decile_spread
        Mean forward return of the highest bucket less the lowest.
    ic_by_horizon, rho_by_lag
        By weeks.
    """

    ic: Floats
    n_return_obs: Floats
    decile_spread: Floats
    ic_by_horizon: Mapping[int, Floats]
    rho_by_lag: Mapping[int, Floats]
    cohort_size: Floats

    def cut(self, rows: slice, in_force: Flags) -> RawSignal:
        """Keep some weeks, and of what spans several weeks only what lies inside them altogether.

        Parameters
        ----------
        rows
            The weeks.
        in_force
            Of each week taken, whether it counts in the steps of a horizon or lag.
        """
        steps = np.flatnonzero(in_force)
        return RawSignal(
            self.ic[rows],
            self.n_return_obs[rows],
            self.decile_spread[rows],
            {
                horizon: _without(ic[rows], steps[max(0, steps.size - horizon + 1) :])
                for horizon, ic in self.ic_by_horizon.items()
            },
            {lag: _without(rho[rows], steps[:lag]) for lag, rho in self.rho_by_lag.items()},
            self.cohort_size[rows],
        )


@dataclass(frozen=True, slots=True)
class CrossSections:
    """What was measured of each week's cross-section, ascending by date; NaN stands for null.

    Attributes
    ----------
    traded, in_force
        Whether the week's status is ``traded``; whether it is that or ``pending``, so that a signal was in force.
    n_symbols, cohort_size, n_return_obs
        Names; names with a score; names with a score and a forward return.
    ic
        Rank correlation of score and forward return.
    raw
        The same of the signal before smoothing; None when it is not known.
    """

    date: Dates
    traded: Flags
    in_force: Flags
    n_symbols: Floats
    cohort_size: Floats
    n_return_obs: Floats
    ic: Floats
    raw: RawSignal | None = None

    def within(self, window: Window) -> CrossSections:
        """Keep the weeks of a window."""
        rows = window.rows(self.date)
        return CrossSections(
            self.date[rows],
            self.traded[rows],
            self.in_force[rows],
            self.n_symbols[rows],
            self.cohort_size[rows],
            self.n_return_obs[rows],
            self.ic[rows],
            None if self.raw is None else self.raw.cut(rows, self.in_force[rows]),
        )


@dataclass(frozen=True, slots=True)
class SealedRecord:
    """One figure as the run sealed it; a null value was stated, but not determined.

    Attributes
    ----------
    name, value, unit, source_kind, annualised
        As sealed.
    reconciliation
        Whether a convention gives the value from the sealed tables, one of :data:`schemas.tables.sealed_metrics.RECONCILIATIONS`.
    convention
        The one that does; None when none does.
    """

    name: str
    value: float | None
    unit: str
    source_kind: str
    annualised: bool
    reconciliation: str
    convention: str | None


Records = Mapping[str, SealedRecord]
"""The sealed records of one span, by name."""


@dataclass(frozen=True, slots=True)
class SealedMetrics:
    """All sealed records.

    Attributes
    ----------
    spans
        (scope, period) to the records of that span; the period of scope ``overall`` is None.
    """

    spans: Mapping[tuple[str, str | None], Records] = field(default_factory=dict)

    def of(self, scope: str, period: str | None = None) -> Records:
        """Return the records of one span, none when nothing was sealed of it."""
        return self.spans.get((scope, period), {})

    def periods(self, scope: str) -> tuple[str, ...]:
        """Return the periods of a scope that have a record."""
        return tuple(period for name, period in self.spans if name == scope and period is not None)


@dataclass(frozen=True, slots=True)
class RunFigures:
    """Everything that is asked of one run, whatever the request.

    Attributes
    ----------
    alpha_id, source_alpha_id, equity_basis, smoothing, kinds
        As the manifest of the snapshot says.
    sealed
        The run's own figures; None when it sealed none.
    score_field
        The published column that the raw family measures: ``score`` when the run was not smoothed.
    checked
        What was checked of the run; None where it is not known.
    index, cross_sections, deciles, ledger
        None where the run sealed nothing they could be made from. ``deciles`` also without a raw signal.

    Any of these five is Unavailable where its file cannot be read.
    """

    alpha_id: str
    source_alpha_id: str
    equity_basis: float
    smoothing: Mapping[str, Any] | None
    kinds: frozenset[str]
    sealed: SealedMetrics | Unavailable | None = None
    index: Index | Unavailable | None = None
    cross_sections: CrossSections | Unavailable | None = None
    deciles: WeeklyDeciles | Unavailable | None = None
    ledger: Ledger | Unavailable | None = None
    score_field: str = SCORE_FIELD
    checked: CheckSummary | None = None

    @property
    def whole(self) -> bool:
        """Whether every part of the run could be read."""
        parts = (self.sealed, self.index, self.cross_sections, self.deciles, self.ledger)
        return not any(isinstance(part, Unavailable) for part in parts)

    @property
    def nbytes(self) -> int:
        """Memory that the figures take, about."""
        spans = self.sealed.spans if isinstance(self.sealed, SealedMetrics) else {}
        records = sum(len(records) for records in spans.values())
        parts = (self.index, self.cross_sections, self.deciles, self.ledger)
        return _RECORD_BYTES * records + sum(_nbytes(part) for part in parts)


def _without(series: Floats, weeks: npt.NDArray[np.intp]) -> Floats:
    """Return the series with null in some weeks."""
    if weeks.size:
        series = series.copy()
        series[weeks] = np.nan
    return series


def cut_deciles(deciles: WeeklyDeciles, window: Window) -> WeeklyDeciles:
    """Keep the weekly bucket rows of a window, of rows that ascend by date."""
    rows = window.rows(deciles.date)
    return WeeklyDeciles(**{part.name: getattr(deciles, part.name)[rows] for part in fields(deciles)})


def _nbytes(part: Any) -> int:
    if part is None or isinstance(part, Unavailable):
        return 0
    if isinstance(part, np.ndarray):
        return part.nbytes
    if isinstance(part, Mapping):
        return sum(_nbytes(values) for values in part.values())
    return sum(_nbytes(getattr(part, entry.name)) for entry in fields(part))
