"""Series and sealed records of a run, and the parts of them that a key may see."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Self, TypeVar

import numpy as np
import numpy.typing as npt

from datasets.figures.checks import CheckSummary
from datasets.figures.panel import WeeklyDeciles
from datasets.figures.sealed_records import Records, SealedMetrics
from datasets.figures.series import FULL_HISTORY, Dates, Flags, Floats, Window, cut
from datasets.figures.unavailable import ACCESS_LIMITED, MISSING_KIND, Unavailable
from schemas.metrics.statistic import CROSS_SECTIONS, INDEX, LEDGER, SCORE_FIELD, Source


@dataclass(frozen=True, slots=True)
class Ledger:
    """Daily ledger of a book; NaN stands for null.

    Attributes
    ----------
    date : Dates, shape (n_sessions,)
        Ascending.
    starting, ending : Floats, shape (n_sessions,)
        Opening and closing equity, in equity units.
    risk_free : Floats, shape (n_sessions,)
        Risk-free return of the session, a fraction.
    turnover : Floats, shape (n_sessions,)
        One-sided turnover, a fraction of equity.
    """

    date: Dates
    starting: Floats
    ending: Floats
    risk_free: Floats
    turnover: Floats


@dataclass(frozen=True, slots=True)
class Index:
    """The rebalance index.

    Attributes
    ----------
    date : Dates, shape (n_weeks,)
        Rebalance dates, ascending.
    traded : Flags, shape (n_weeks,)
        Whether the status of the week is ``traded``.
    """

    date: Dates
    traded: Flags


@dataclass(frozen=True, slots=True)
class RawSignal:
    """Weekly figures of the signal before smoothing; NaN stands for null.

    Attributes
    ----------
    ic : Floats, shape (n_weeks,)
        Rank correlation of signal and forward return.
    n_return_obs : Floats, shape (n_weeks,)
        Names with a signal and a forward return.
    decile_spread : Floats, shape (n_weeks,)
        Mean forward return of the highest bucket minus the lowest, a fraction.
    ic_by_horizon : Mapping[int, Floats]
        Horizon in weeks -> IC of each week with the return compounded over the horizon.
    rho_by_lag : Mapping[int, Floats]
        Lag in weeks -> rank correlation of each week's signal with the signal of that lag.
    cohort_size : Floats, shape (n_weeks,)
        Names with a signal.
    """

    ic: Floats
    n_return_obs: Floats
    decile_spread: Floats
    ic_by_horizon: Mapping[int, Floats]
    rho_by_lag: Mapping[int, Floats]
    cohort_size: Floats

    def within(self, rows: slice, in_force: Flags) -> RawSignal:
        """Select weeks; a value that spans several weeks becomes NaN unless all of them are selected.

        Parameters
        ----------
        rows : slice
            Weeks to keep.
        in_force : Flags, shape (n_kept,)
            Whether each kept week counts as a step of a horizon or lag.

        Returns
        -------
        RawSignal
            One value per kept week.
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
class CrossSections(Index):
    """Weekly figures of the delivered score, by week of the index; NaN stands for null.

    Attributes
    ----------
    in_force : Flags, shape (n_weeks,)
        Whether the status of the week is ``traded`` or ``pending``, so that a signal was in force.
    n_symbols, cohort_size, n_return_obs : Floats, shape (n_weeks,)
        Names in the cross-section, those with a score, and those with a score and a forward return.
    ic : Floats, shape (n_weeks,)
        Rank correlation of score and forward return.
    raw : RawSignal or None
        Figures of the signal before smoothing; None when the run did not record it.
    """

    in_force: Flags
    n_symbols: Floats
    cohort_size: Floats
    n_return_obs: Floats
    ic: Floats
    raw: RawSignal | None = None

    def within(self, rows: slice) -> Self:
        """Select weeks.

        Parameters
        ----------
        rows : slice
            Weeks to keep.

        Returns
        -------
        Self
            The selected weeks, also of `raw`.
        """
        raw = None if self.raw is None else self.raw.within(rows, self.in_force[rows])
        return cut(self, rows, raw=raw)


@dataclass(frozen=True, slots=True)
class RunFigures:
    """All inputs of one run's figures.

    `sealed`, `index`, `cross_sections`, `deciles` and `ledger` are Unavailable when their file cannot be read, and None when
    the run sealed no input for them.

    Attributes
    ----------
    alpha_id, source_alpha_id : str
        From the manifest of the snapshot.
    equity_basis : float
        Opening equity of the run, in equity units.
    smoothing : Mapping[str, Any] or None
        From the manifest; None when the run did not record it.
    kinds : frozenset of str
        Kinds of data in the snapshot.
    sealed : SealedMetrics, Unavailable or None
        The run's own figures.
    index : Index, Unavailable or None
        Rebalance dates.
    cross_sections : CrossSections, Unavailable or None
        Weekly figures of the delivered score and of the signal before smoothing.
    deciles : WeeklyDeciles, Unavailable or None
        Weekly deciles of the signal before smoothing.
    ledger : Ledger, Unavailable or None
        Daily ledger of the long_short book.
    score_field : str
        Published column that holds the signal before smoothing: ``score`` when the run was not smoothed.
    checked : CheckSummary or None
        Summary of the build's checks; None if it recorded none.
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

    def records(self, scope: str, period: str | None = None) -> Records:
        """Return the sealed records of one span.

        Parameters
        ----------
        scope : str
            ``overall``, ``yearly`` or ``monthly``.
        period : str or None
            Year (``2020``) or month (``2020-03``); None for ``overall``.

        Returns
        -------
        Records
            By name; empty when none was sealed, or if they cannot be read.
        """
        sealed = {} if isinstance(self.sealed, Unavailable) else self.sealed or {}
        return sealed.get((scope, period), {})


def _without(series: Floats, weeks: npt.NDArray[np.intp]) -> Floats:
    """Return the series with some weeks set to null."""
    if weeks.size:
        series = series.copy()
        series[weeks] = np.nan
    return series


Dated = TypeVar("Dated", Index, CrossSections, WeeklyDeciles, Ledger)

NO_RAW_SIGNAL: Final = Unavailable(MISSING_KIND, "the run recorded no signal before smoothing", "decisions")


class Sources:
    """The parts of a run inside a window, or the reasons why they are unavailable.

    Parts are sliced on first use, so a month with only sealed statistics needs no slicing.

    Parameters
    ----------
    run : RunFigures
        Inputs of the complete run.
    may_call : Collection[str]
        Registry ids of the endpoints that the key may call. A part is closed to a key that may not call the endpoint
        serving it, even if the run does not have it.
    window : Window
        Days to keep.
    """

    def __init__(self, run: RunFigures, may_call: Collection[str], window: Window = FULL_HISTORY) -> None:
        self._run = run
        self._may_call = may_call
        self._window = window

    def within(self, window: Window) -> Sources:
        """Narrow to the intersection with another window.

        Parameters
        ----------
        window : Window
            Days to keep.

        Returns
        -------
        Sources
            The same object when both ends of `window` are open.
        """
        if window == FULL_HISTORY:
            return self
        return Sources(self._run, self._may_call, self._window.within(window))

    @cached_property
    def index(self) -> Index | Unavailable:
        """Rebalance dates."""
        return self._part(self._run.index, INDEX)

    @cached_property
    def cross_sections(self) -> CrossSections | Unavailable:
        """Weekly figures of the delivered score."""
        return self._part(self._run.cross_sections, CROSS_SECTIONS)

    @cached_property
    def raw(self) -> RawSignal | Unavailable:
        """Weekly figures of the signal before smoothing."""
        sections = self.cross_sections
        if isinstance(sections, Unavailable):
            return sections
        return NO_RAW_SIGNAL if sections.raw is None else sections.raw

    @cached_property
    def deciles(self) -> WeeklyDeciles | Unavailable:
        """Weekly deciles of the signal before smoothing."""
        if isinstance(self.raw, Unavailable):
            return self.raw
        return self._part(self._run.deciles, CROSS_SECTIONS)

    @cached_property
    def ledger(self) -> Ledger | Unavailable:
        """Daily ledger of the long_short book."""
        return self._part(self._run.ledger, LEDGER)

    def _part(self, part: Dated | Unavailable | None, source: Source) -> Dated | Unavailable:
        if source.endpoint not in self._may_call:
            return Unavailable(ACCESS_LIMITED, f"the key may not call {source.endpoint}", source.kind)
        if isinstance(part, Unavailable):
            return part
        if part is None:
            kind = next((kind for kind in source.needs if kind not in self._run.kinds), source.kind)
            return Unavailable(MISSING_KIND, f"the run holds no {kind} for {source.meaning}", kind)
        if self._window is FULL_HISTORY:
            return part
        rows = self._window.rows(part.date)
        return part.within(rows) if isinstance(part, CrossSections) else cut(part, rows)
