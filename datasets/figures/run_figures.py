"""Weekly and daily series and sealed records of a run, and the part of them that a key may see."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Final, Self, TypeVar

import numpy as np
import numpy.typing as npt

from datasets.figures.checks import CheckSummary
from datasets.figures.panel import WeeklyDeciles
from datasets.figures.series import Dates, Flags, Floats, cut
from datasets.figures.unavailable import ACCESS_LIMITED, MISSING_KIND, Unavailable
from datasets.figures.window import WHOLE_RUN, Window
from schemas.metrics.statistic import CROSS_SECTIONS, INDEX, LEDGER, SCORE_FIELD, Source

_RECORD_BYTES: Final = 400
"""Approximate bytes of one sealed record."""


@dataclass(frozen=True, slots=True)
class Ledger:
    """The daily ledger of the long_short book, ascending by day; NaN stands for null."""

    date: Dates
    starting: Floats
    ending: Floats
    risk_free: Floats
    turnover: Floats

    def within(self, window: Window) -> Self:
        """Keep the sessions of a window."""
        return cut(self, window.rows(self.date))


@dataclass(frozen=True, slots=True)
class Index:
    """The rebalance dates, ascending, and whether each has the status ``traded``."""

    date: Dates
    traded: Flags

    def within(self, window: Window) -> Index:
        """Keep the weeks of a window."""
        return cut(self, window.rows(self.date))


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

    def within(self, rows: slice, in_force: Flags) -> RawSignal:
        """Return some weeks; values that span several weeks are kept only if all of these are inside.

        Parameters
        ----------
        rows : slice
            The weeks.
        in_force : Flags, shape (n_weeks,)
            Of each week taken, whether it counts in the steps of a horizon or lag.
        """
        steps = np.flatnonzero(in_force)
        return cut(
            self,
            rows,
            ic_by_horizon={
                horizon: _without(ic[rows], steps[max(0, steps.size - horizon + 1) :])
                for horizon, ic in self.ic_by_horizon.items()
            },
            rho_by_lag={lag: _without(rho[rows], steps[:lag]) for lag, rho in self.rho_by_lag.items()},
        )


@dataclass(frozen=True, slots=True)
class CrossSections:
    """Figures of each week's cross-section, ascending by date; NaN stands for null.

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
        raw = None if self.raw is None else self.raw.within(rows, self.in_force[rows])
        return cut(self, rows, raw=raw)


@dataclass(frozen=True, slots=True)
class SealedRecord:
    """One sealed figure; a null value was sealed as undetermined.

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
        """Return the records of one span; empty if it has none."""
        return self.spans.get((scope, period), {})

    def periods(self, scope: str) -> tuple[str, ...]:
        """Return the periods of a scope that have a record."""
        return tuple(period for name, period in self.spans if name == scope and period is not None)


@dataclass(frozen=True, slots=True)
class RunFigures:
    """All inputs of one run's figures.

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
        None if the run sealed no input for them. ``deciles`` also without a raw signal.

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
        """Approximate size in bytes."""
        spans = self.sealed.spans if isinstance(self.sealed, SealedMetrics) else {}
        records = sum(len(records) for records in spans.values())
        parts = (self.index, self.cross_sections, self.deciles, self.ledger)
        return _RECORD_BYTES * records + sum(_nbytes(part) for part in parts)


def _without(series: Floats, weeks: npt.NDArray[np.intp]) -> Floats:
    """Return the series with some weeks set to null."""
    if weeks.size:
        series = series.copy()
        series[weeks] = np.nan
    return series


def _nbytes(part: Any) -> int:
    if part is None or isinstance(part, Unavailable):
        return 0
    if isinstance(part, np.ndarray):
        return part.nbytes
    if isinstance(part, Mapping):
        return sum(_nbytes(values) for values in part.values())
    return sum(_nbytes(getattr(part, entry.name)) for entry in fields(part))


Dated = TypeVar("Dated", Index, CrossSections, WeeklyDeciles, Ledger)

NO_RAW_SIGNAL: Final = Unavailable(MISSING_KIND, "the run recorded no signal before smoothing", "decisions")


class Sources:
    """Each part of a run inside a window, or the reason why it is unavailable.

    A part is sliced on first use, so a month with only sealed statistics slices none.

    Parameters
    ----------
    run
        What the run holds.
    may_call
        Registry ids of the endpoints the key may call. A part is closed to a key that may not call the endpoint
        serving it, whether or not the run holds it.
    window
        Days to keep.
    """

    def __init__(self, run: RunFigures, may_call: Collection[str], window: Window = WHOLE_RUN) -> None:
        self._run = run
        self._may_call = may_call
        self._window = window

    def within(self, window: Window) -> Sources:
        """Return the rows of another window as well; the same object if that is unbounded."""
        if window.whole:
            return self
        return Sources(self._run, self._may_call, self._window.within(window))

    @cached_property
    def index(self) -> Index | Unavailable:
        """The rebalance dates."""
        return self._part(self._run.index, INDEX)

    @cached_property
    def cross_sections(self) -> CrossSections | Unavailable:
        """The weekly figures."""
        return self._part(self._run.cross_sections, CROSS_SECTIONS)

    @cached_property
    def raw(self) -> RawSignal | Unavailable:
        """The weekly figures of the signal before smoothing."""
        sections = self.cross_sections
        if isinstance(sections, Unavailable):
            return sections
        return NO_RAW_SIGNAL if sections.raw is None else sections.raw

    @cached_property
    def deciles(self) -> WeeklyDeciles | Unavailable:
        """The weekly buckets."""
        if isinstance(self.raw, Unavailable):
            return self.raw
        return self._part(self._run.deciles, CROSS_SECTIONS)

    @cached_property
    def ledger(self) -> Ledger | Unavailable:
        """The sessions."""
        return self._part(self._run.ledger, LEDGER)

    def _part(self, part: Dated | Unavailable | None, source: Source) -> Dated | Unavailable:
        if source.endpoint not in self._may_call:
            return Unavailable(ACCESS_LIMITED, f"the key may not call {source.endpoint}", source.kind)
        if isinstance(part, Unavailable):
            return part
        if part is None:
            kind = next((kind for kind in source.needs if kind not in self._run.kinds), source.kind)
            return Unavailable(MISSING_KIND, f"the run holds no {kind} for {source.meaning}", kind)
        return part if self._window is WHOLE_RUN else part.within(self._window)
