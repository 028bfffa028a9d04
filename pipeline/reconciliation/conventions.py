"""The ways in which engines compute the figures of a run: a short list, each with a name.

A convention takes the series of a span and returns its figure, or None where the span does not determine one. Those that
are the interface's own definition are named in :mod:`schemas.metrics.core`; a value by another one is not served, but
stands beside the figure that is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Final, TypeAlias

import numpy as np

from datasets.figures import rank_ic, ratios
from datasets.figures.equity import equity_curve, highest, solvent_returns
from datasets.figures.series import Dates, Flags, Floats, is_constant, mean_or_null, measured
from datasets.figures.unavailable import Unavailable

PERIODS: Final = (252, 260, 365)
"""Sessions in a year, as engines count them."""
WEEKS: Final = 52


@dataclass(frozen=True)
class Daily:
    """Sessions of the long_short book in a span, ascending; no null."""

    date: Dates
    starting: Floats
    ending: Floats
    risk_free: Floats
    turnover: Floats
    equity_basis: float
    peak: float = -math.inf
    """Highest equity of the run before the span."""

    @cached_property
    def returns(self) -> Floats:
        """Return of each session; all null where one opens with equity not above 0, so that no ratio follows."""
        returns = solvent_returns(self.starting, self.ending)
        return np.full(self.starting.shape, np.nan) if isinstance(returns, Unavailable) else returns

    @cached_property
    def drawdowns(self) -> tuple[float | None, float | None]:
        """Deepest drawdown in equity units and in percentage points of the peak."""
        curve = equity_curve(self.starting, self.ending)
        return highest(curve.drawdown), highest(curve.drawdown_pct)

    @cached_property
    def since_the_run_began(self) -> Daily:
        """The same sessions, with drawdowns below the peak of the run."""
        starting = self.starting.copy()
        starting[0] = max(starting[0], self.peak)
        return replace(self, starting=starting)

    @cached_property
    def weeks(self) -> tuple[Floats, Floats, Floats]:
        """Compounded return, compounded risk-free return and summed turnover of each calendar week."""
        monday = (self.date.astype("datetime64[D]").astype(np.int64) + 3) // 7
        _, first = np.unique(monday, return_index=True)
        growth = [
            np.multiply.reduceat(1.0 + series, first) - 1.0 for series in (self.returns, self.risk_free)
        ]
        return growth[0], growth[1], np.add.reduceat(self.turnover, first)


@dataclass(frozen=True)
class Weekly:
    """Rebalance weeks of a span, ascending; NaN stands for null."""

    date: Dates
    traded: Flags
    n_symbols: Floats
    n_return_obs: Floats
    ic: Floats
    raw_ic: Floats | None


Span: TypeAlias = "Daily | Weekly"
Compute: TypeAlias = Callable[..., float | None]


@dataclass(frozen=True, slots=True)
class Convention:
    """One way to compute a figure.

    Attributes
    ----------
    name
        What a report calls it.
    compute
        From a :class:`Daily` or a :class:`Weekly`; None where the span determines nothing.
    annualised
        Whether the figure is scaled to a year; a record that says otherwise of itself is not compared with it.
    units
        Units of a record that it is for; empty for any.
    """

    name: str
    compute: Compute
    annualised: bool = False
    units: tuple[str, ...] = ()


def _or_none(figure: float | Unavailable) -> float | None:
    return None if isinstance(figure, Unavailable) else figure


def _ratio(series: Floats, ddof: int, periods: int) -> float | None:
    values = measured(series)
    if values.size < 2 or is_constant(values):
        return None
    return float(values.mean() / values.std(ddof=ddof)) * math.sqrt(periods)


def _ratios(daily: Callable[[Daily], Floats], weekly: Callable[[Daily], Floats]) -> tuple[Convention, ...]:
    """Mean over deviation of daily or weekly returns, annualised or not."""
    conventions = [
        Convention(
            f"daily, {periods} periods, ddof {ddof}", partial(_of, daily, ddof, periods), annualised=True
        )
        for periods in PERIODS
        for ddof in (1, 0)
    ]
    conventions += [
        Convention(
            f"weekly, {WEEKS} periods, ddof {ddof}", partial(_of, weekly, ddof, WEEKS), annualised=True
        )
        for ddof in (1, 0)
    ]
    for ddof in (1, 0):
        conventions.append(Convention(f"daily, ddof {ddof}", partial(_of, daily, ddof, 1)))
        conventions.append(Convention(f"weekly, ddof {ddof}", partial(_of, weekly, ddof, 1)))
    return tuple(conventions)


def _of(series: Callable[[Daily], Floats], ddof: int, periods: int, span: Daily) -> float | None:
    return _ratio(series(span), ddof, periods)


def _ic_ratios(series: Callable[[Weekly], Floats | None]) -> tuple[Convention, ...]:
    def compute(ddof: int, periods: int, span: Weekly) -> float | None:
        values = series(span)
        return None if values is None else _ratio(values, ddof, periods)

    return tuple(
        Convention(
            f"weekly, {WEEKS} periods, ddof {ddof}" if periods > 1 else f"weekly, ddof {ddof}",
            partial(compute, ddof, periods),
            annualised=periods > 1,
        )
        for periods in (WEEKS, 1)
        for ddof in (1, 0)
    )


def _mean_raw(span: Weekly) -> float | None:
    return None if span.raw_ic is None else mean_or_null(span.raw_ic)


def _dispersion(ddof: int, span: Weekly) -> float | None:
    values = measured(span.ic)
    return float(values.std(ddof=ddof)) if values.size > ddof else None


def _coverage_measured(span: Weekly) -> float | None:
    some = span.n_return_obs > 0
    return mean_or_null(span.n_return_obs[some] / span.n_symbols[some])


def _profit(span: Daily) -> float | None:
    return _or_none(ratios.pnl(span.starting, span.ending))


def _over(compute: Compute, scale: Callable[[Daily], float], span: Daily) -> float | None:
    figure = compute(span)
    return None if figure is None else figure / scale(span)


def _drawdown(span: Daily) -> float | None:
    return span.drawdowns[0]


def _drawdown_pct(span: Daily) -> float | None:
    return span.drawdowns[1]


def _since_the_run_began(compute: Compute, span: Daily) -> float | None:
    return compute(span.since_the_run_began) if span.starting.size else None


def _basis(span: Daily) -> float:
    return span.equity_basis


def _opening(span: Daily) -> float:
    return float(span.starting[0])


def _money(compute: Compute) -> tuple[Convention, ...]:
    """Give figures in equity units: as they are, and as a ratio where the record says so."""
    return (
        Convention("equity units", compute, units=("base_currency_units",)),
        Convention("over equity_basis", partial(_over, compute, _basis), units=("ratio",)),
        Convention("over opening equity", partial(_over, compute, _opening), units=("ratio",)),
    )


def _mean_of(series: Callable[[Daily], Floats], periods: int, span: Daily) -> float | None:
    mean = mean_or_null(series(span))
    return None if mean is None else mean * periods


def _turnover(span: Daily) -> Floats:
    return span.turnover


def _weekly_turnover(span: Daily) -> Floats:
    return span.weeks[2] if span.turnover.size else span.turnover


def _risk_free(span: Daily) -> Floats:
    return span.risk_free


def _compounded_rate(periods: int, span: Daily) -> float | None:
    rates = measured(span.risk_free)
    return float(np.expm1(np.log1p(rates).mean() * periods)) if rates.size else None


def _total(span: Daily) -> float | None:
    return float(span.turnover.sum()) if span.turnover.size else None


def _yearly(
    series: Callable[[Daily], Floats], weekly: Callable[[Daily], Floats] | None
) -> tuple[Convention, ...]:
    of_sessions = tuple(
        Convention(f"mean of a session x {periods}", partial(_mean_of, series, periods), annualised=True)
        for periods in PERIODS
    )
    if weekly is None:
        return of_sessions
    return (
        *of_sessions,
        Convention(f"mean of a week x {WEEKS}", partial(_mean_of, weekly, WEEKS), annualised=True),
    )


def _excess(span: Daily) -> Floats:
    return span.returns - span.risk_free


def _weekly_returns(span: Daily) -> Floats:
    return span.weeks[0] if span.starting.size else span.starting


def _weekly_excess(span: Daily) -> Floats:
    return span.weeks[0] - span.weeks[1] if span.starting.size else span.starting


_PER_SESSION: Final = Convention(
    "mean of a session", partial(_mean_of, _turnover, 1), units=("per_session", "ratio")
)
_PER_WEEK: Final = Convention("mean of a week", partial(_mean_of, _weekly_turnover, 1), units=("ratio",))
_SUM: Final = Convention("sum of the sessions", _total, units=("period_sum", "ratio"))
_DRAWDOWNS: Final = _money(_drawdown)

CONVENTIONS: Final[Mapping[str, tuple[Convention, ...]]] = {
    "mean_ic": (Convention("mean of the measured weeks", lambda span: mean_or_null(span.ic)),),
    "icir": _ic_ratios(lambda span: span.ic),
    "raw_mean_ic": (Convention("mean of the measured weeks", _mean_raw),),
    "raw_icir": _ic_ratios(lambda span: span.raw_ic),
    "ic_hit_rate": (
        Convention("share of the measured weeks above 0", lambda span: _or_none(rank_ic.hit_rate(span.ic))),
    ),
    "ic_dispersion": tuple(Convention(f"ddof {ddof}", partial(_dispersion, ddof)) for ddof in (1, 0)),
    "ic_coverage": (
        Convention(
            "mean of the traded weeks",
            lambda span: _or_none(rank_ic.coverage(span.n_return_obs, span.n_symbols, span.traded)),
        ),
        Convention("mean of the weeks with a return", _coverage_measured),
    ),
    "information_ratio": _ratios(lambda span: span.returns, _weekly_returns),
    "excess_sharpe": _ratios(_excess, _weekly_excess),
    "risk_free_rate": (
        *_yearly(_risk_free, None),
        *(
            Convention(
                f"compounded over {periods} sessions", partial(_compounded_rate, periods), annualised=True
            )
            for periods in PERIODS
        ),
        Convention("mean of a session", partial(_mean_of, _risk_free, 1)),
    ),
    "pnl": _money(_profit),
    "max_drawdown": (
        *_DRAWDOWNS,
        *(
            Convention(
                f"{way.name}, below the peak of the run",
                partial(_since_the_run_began, way.compute),
                units=way.units,
            )
            for way in _DRAWDOWNS
        ),
    ),
    "max_drawdown_pct": (
        Convention("percentage points of the peak", _drawdown_pct, units=("percentage_points",)),
        Convention(
            "percentage points of the peak of the run",
            partial(_since_the_run_began, _drawdown_pct),
            units=("percentage_points",),
        ),
        Convention("ratio of the peak", partial(_over, _drawdown_pct, lambda _: 100.0), units=("ratio",)),
    ),
    "annualised_turnover": _yearly(_turnover, _weekly_turnover),
    "turnover": (
        *_yearly(_turnover, _weekly_turnover),
        _PER_SESSION,
        _PER_WEEK,
        replace(_SUM, units=("period_sum",)),
        # Its unit does not tell it from a mean.
        replace(_SUM, name="sum of the sessions, as a ratio", units=("ratio",)),
    ),
    "mean_turnover": (_PER_SESSION, _PER_WEEK),
    "total_turnover": (_SUM,),
}
"""Name of a record -> the conventions tried, in this order. These are all the names that the interface serves."""

FROM_DECISIONS: Final = frozenset(
    {"mean_ic", "icir", "raw_mean_ic", "raw_icir", "ic_hit_rate", "ic_dispersion", "ic_coverage"}
)
"""Names computed from the cross-sections; the others are computed from the ledger of long_short."""
RAW: Final = frozenset({"raw_mean_ic", "raw_icir"})
"""Names of the signal before smoothing."""
