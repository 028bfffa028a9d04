"""Named conventions under which engines compute the figures of a run.

A convention takes the series of a span and returns its figure, or None where the span does not determine one. The
conventions that the API itself uses are named in :mod:`schemas.metrics.core`; a value under another convention is
not served, but reported along with the served figure.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Final, TypeAlias

import numpy as np

from datasets.figures import rank_ic, ratios
from datasets.figures.equity import equity_curve, solvent_returns
from datasets.figures.run_figures import Ledger
from datasets.figures.series import Dates, Flags, Floats, highest, is_constant, mean_or_null, measured
from datasets.figures.unavailable import Unavailable

PERIODS: Final = (252, 260, 365)
"""Sessions in a year, as engines count them."""
WEEKS: Final = 52
_DDOF: Final = (1, 0)


@dataclass(frozen=True)
class Daily(Ledger):
    """Sessions of the long_short book in a span.

    Attributes
    ----------
    equity_basis : float
        Opening equity of the run, in equity units.
    peak : float
        Peak equity of the run before the span, in equity units.
    """

    equity_basis: float
    peak: float = -math.inf

    @cached_property
    def returns(self) -> Floats:
        """Return of each session, a fraction; all NaN if any session opens with equity at or below 0, so that no ratio is computed."""
        returns = solvent_returns(self.starting, self.ending)
        return np.full(self.starting.shape, np.nan) if isinstance(returns, Unavailable) else returns

    @cached_property
    def drawdowns(self) -> tuple[float | None, float | None]:
        """Deepest drawdown in equity units and in percentage points of the peak."""
        curve = equity_curve(self.starting, self.ending)
        return highest(curve.drawdown), highest(curve.drawdown_pct)

    @cached_property
    def with_run_peak(self) -> Daily:
        """The same sessions, with drawdowns measured from the peak of the run."""
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
    """Rebalance weeks of a span; NaN stands for null.

    Attributes
    ----------
    date : Dates, shape (n_weeks,)
        Rebalance dates, ascending.
    traded : Flags, shape (n_weeks,)
        Whether the status of the week is ``traded``.
    n_symbols, n_return_obs : Floats, shape (n_weeks,)
        Names in the cross-section, and those with a score and a forward return.
    ic : Floats, shape (n_weeks,)
        Rank correlation of score and forward return.
    raw_ic : Floats, shape (n_weeks,), or None
        Rank correlation of the signal before smoothing and forward return; None when the run did not record that signal.
    """

    date: Dates
    traded: Flags
    n_symbols: Floats
    n_return_obs: Floats
    ic: Floats
    raw_ic: Floats | None


Compute: TypeAlias = Callable[..., float | None]
Series: TypeAlias = Callable[..., Floats]
"""A series of a span."""


@dataclass(frozen=True, slots=True)
class Convention:
    """One way to compute a figure.

    Attributes
    ----------
    name : str
        Name in reports.
    compute : Callable[[Daily | Weekly], float | None]
        Computes the figure of a span; None when the span does not determine it.
    annualised : bool
        Whether the figure is annualised; only records with the same flag are compared with it.
    units : tuple of str
        Units of the records to compare with it; empty for any.
    """

    name: str
    compute: Compute
    annualised: bool = False
    units: tuple[str, ...] = ()


def _or_none(figure: float | Unavailable) -> float | None:
    return None if isinstance(figure, Unavailable) else figure


def _ratio(series: Floats | None, ddof: int, periods: int) -> float | None:
    values = np.empty(0) if series is None else measured(series)
    if values.size < 2 or is_constant(values):
        return None
    return float(values.mean() / values.std(ddof=ddof)) * math.sqrt(periods)


def _ratio_convention(label: str, series: Series, ddof: int, periods: int = 1) -> Convention:
    """Mean over standard deviation of a series, annualised if `periods` is above 1."""
    scale = f"{periods} periods, " if periods > 1 else ""
    return Convention(
        f"{label}, {scale}ddof {ddof}",
        lambda span: _ratio(series(span), ddof, periods),
        annualised=periods > 1,
    )


def _ratios(daily: Series, weekly: Series) -> tuple[Convention, ...]:
    """Mean over standard deviation of daily or weekly returns, annualised or not."""
    return (
        *(_ratio_convention("daily", daily, ddof, periods) for periods in PERIODS for ddof in _DDOF),
        *(_ratio_convention("weekly", weekly, ddof, WEEKS) for ddof in _DDOF),
        *(
            _ratio_convention(label, series, ddof)
            for ddof in _DDOF
            for label, series in (("daily", daily), ("weekly", weekly))
        ),
    )


def _ic_ratios(series: Series) -> tuple[Convention, ...]:
    return tuple(
        _ratio_convention("weekly", series, ddof, periods) for periods in (WEEKS, 1) for ddof in _DDOF
    )


def _dispersion(ddof: int, span: Weekly) -> float | None:
    values = measured(span.ic)
    return float(values.std(ddof=ddof)) if values.size > ddof else None


def _coverage_measured(span: Weekly) -> float | None:
    has_returns = span.n_return_obs > 0
    return mean_or_null(span.n_return_obs[has_returns] / span.n_symbols[has_returns])


def _scaled(compute: Compute, scale: Callable[[Daily], float]) -> Compute:
    def ratio(span: Daily) -> float | None:
        figure = compute(span)
        return None if figure is None else float(np.divide(figure, scale(span)))  # not finite without equity

    return ratio


def _from_run_peak(compute: Compute) -> Compute:
    return lambda span: compute(span.with_run_peak) if span.starting.size else None


def _money(compute: Compute) -> tuple[Convention, ...]:
    """Return conventions for figures in equity units: absolute, and as a ratio if the record's unit says so."""
    return (
        Convention("equity units", compute, units=("base_currency_units",)),
        Convention("over equity_basis", _scaled(compute, lambda span: span.equity_basis), units=("ratio",)),
        Convention(
            "over opening equity", _scaled(compute, lambda span: float(span.starting[0])), units=("ratio",)
        ),
    )


def _mean_convention(
    name: str, series: Series, periods: int = 1, *, units: tuple[str, ...] = (), annualised: bool = False
) -> Convention:
    def compute(span: Daily) -> float | None:
        mean = mean_or_null(series(span))
        return None if mean is None else mean * periods

    return Convention(name, compute, annualised, units)


def _compounded_rate(periods: int, span: Daily) -> float | None:
    rates = measured(span.risk_free)
    return float(np.expm1(np.log1p(rates).mean() * periods)) if rates.size else None


def _yearly(series: Series) -> tuple[Convention, ...]:
    return tuple(
        _mean_convention(f"mean of a session x {periods}", series, periods, annualised=True)
        for periods in PERIODS
    )


def _drawdown_pct(span: Daily) -> float | None:
    return span.drawdowns[1]


_YEARLY_TURNOVER: Final = (
    *_yearly(lambda span: span.turnover),
    _mean_convention(f"mean of a week x {WEEKS}", lambda span: span.weeks[2], WEEKS, annualised=True),
)
_MEAN_TURNOVER: Final = (
    _mean_convention("mean of a session", lambda span: span.turnover, units=("per_session", "ratio")),
    _mean_convention("mean of a week", lambda span: span.weeks[2], units=("ratio",)),
)
_SUM: Final = Convention(
    "sum of the sessions",
    lambda span: float(span.turnover.sum()) if span.turnover.size else None,
    units=("period_sum", "ratio"),
)
_DRAWDOWNS: Final = _money(lambda span: span.drawdowns[0])

CONVENTIONS: Final[Mapping[str, tuple[Convention, ...]]] = {
    "mean_ic": (Convention("mean of the measured weeks", lambda span: mean_or_null(span.ic)),),
    "icir": _ic_ratios(lambda span: span.ic),
    "raw_mean_ic": (
        Convention(
            "mean of the measured weeks",
            lambda span: None if span.raw_ic is None else mean_or_null(span.raw_ic),
        ),
    ),
    "raw_icir": _ic_ratios(lambda span: span.raw_ic),
    "ic_hit_rate": (
        Convention("share of the measured weeks above 0", lambda span: _or_none(rank_ic.hit_rate(span.ic))),
    ),
    "ic_dispersion": tuple(Convention(f"ddof {ddof}", partial(_dispersion, ddof)) for ddof in _DDOF),
    "ic_coverage": (
        Convention(
            "mean of the traded weeks",
            lambda span: _or_none(rank_ic.coverage(span.n_return_obs, span.n_symbols, span.traded)),
        ),
        Convention("mean of the weeks with a return", _coverage_measured),
    ),
    "information_ratio": _ratios(lambda span: span.returns, lambda span: span.weeks[0]),
    "excess_sharpe": _ratios(
        lambda span: span.returns - span.risk_free, lambda span: span.weeks[0] - span.weeks[1]
    ),
    "risk_free_rate": (
        *_yearly(lambda span: span.risk_free),
        *(
            Convention(
                f"compounded over {periods} sessions", partial(_compounded_rate, periods), annualised=True
            )
            for periods in PERIODS
        ),
        _mean_convention("mean of a session", lambda span: span.risk_free),
    ),
    "pnl": _money(lambda span: _or_none(ratios.pnl(span.starting, span.ending))),
    "max_drawdown": (
        *_DRAWDOWNS,
        *(
            replace(
                convention,
                name=f"{convention.name}, below the peak of the run",
                compute=_from_run_peak(convention.compute),
            )
            for convention in _DRAWDOWNS
        ),
    ),
    "max_drawdown_pct": (
        Convention("percentage points of the peak", _drawdown_pct, units=("percentage_points",)),
        Convention(
            "percentage points of the peak of the run",
            _from_run_peak(_drawdown_pct),
            units=("percentage_points",),
        ),
        Convention("ratio of the peak", _scaled(_drawdown_pct, lambda _: 100.0), units=("ratio",)),
    ),
    "annualised_turnover": _YEARLY_TURNOVER,
    "turnover": (
        *_YEARLY_TURNOVER,
        *_MEAN_TURNOVER,
        replace(_SUM, units=("period_sum",)),
        # The unit of the record does not distinguish a sum from a mean.
        replace(_SUM, name="sum of the sessions, as a ratio", units=("ratio",)),
    ),
    "mean_turnover": _MEAN_TURNOVER,
    "total_turnover": (_SUM,),
}
"""Name of a record -> conventions to try, in order. Contains every name that the API serves."""

FROM_DECISIONS: Final = frozenset(
    {"mean_ic", "icir", "raw_mean_ic", "raw_icir", "ic_hit_rate", "ic_dispersion", "ic_coverage"}
)
"""Names computed from the cross-sections; the others are computed from the ledger of long_short."""
RAW: Final = frozenset({"raw_mean_ic", "raw_icir"})
"""Names of figures of the signal before smoothing."""
