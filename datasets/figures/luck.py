"""Compute the luck figures of `/luck` from the series of a run and a query."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self, TypeVar

import numpy as np

from datasets.figures.bands import ledger_bands, weekly_bands
from datasets.figures.bootstrap import Bands, make_seed, resample
from datasets.figures.data_snooping import data_snooping
from datasets.figures.equity import period_returns, solvent_returns
from datasets.figures.luck_evidence import Evidence, LuckQuery, TrialReturns
from datasets.figures.overfitting import (
    EffectiveTrials,
    TrialGroups,
    cluster_trials,
    effective_trials,
    overfitting,
)
from datasets.figures.ratios import NO_RATE
from datasets.figures.run_figures import Ledger
from datasets.figures.series import (
    SESSIONS_PER_YEAR,
    Floats,
    Matrix,
    cut,
    measured,
    observed,
    sessions_per_year,
)
from datasets.figures.sharpe import (
    SharpeMoments,
    minimum_track_record,
    probabilistic_sharpe,
    sharpe_moments,
)
from datasets.figures.unavailable import ACCESS_LIMITED, Figure, Unavailable
from schemas.metrics.families.family import SAMPLES
from schemas.metrics.statistic import CROSS_SECTIONS, LEDGER, Source
from schemas.tables.books import CONDITIONED_BOOKS

T = TypeVar("T")
CONFIDENCE: Final = 0.95
"""Confidence level of the minimum track record."""
BENCHMARK_SHARPE: Final = 0.0
"""Sharpe ratio to compare the run's with."""
ANNUAL: Final = math.sqrt(SESSIONS_PER_YEAR)
MAX_TESTED: Final = 1000
"""Maximum number of trials; a thousand take one to two seconds."""
TOO_MANY_TRIALS: Final = Unavailable(
    "insufficient_data", f"the run sealed more than {MAX_TESTED} trials, too many to be compared here"
)
COPIES: Final = "the {} sealed trials are copies of one another, which is no search"
LUCK: Final = "luck"
"""Name of the snapshot's document with the luck figures of the complete run, by book."""
SEALED_BOOKS: Final = CONDITIONED_BOOKS
"""Books whose figures are in that document; those of raw books are computed on request."""


@dataclass(frozen=True, slots=True)
class Returns:
    """Figures of a book's returns or excess returns.

    Attributes
    ----------
    observations : int
        Number of returns.
    moments : SharpeMoments or Unavailable
        Moments of the returns, or the reason why they are withheld.
    trials : EffectiveTrials or None
        Effective number of sealed trials, from the same kind of returns in the window; None if not determined.
    """

    observations: int
    moments: SharpeMoments | Unavailable
    trials: EffectiveTrials | None = None


@dataclass(frozen=True, slots=True)
class Luck:
    """The part of the answer that does not depend on the trials of a request.

    Attributes
    ----------
    data : Mapping[str, Any]
        The payload without the two blocks ``deflated_sharpe``; JSON-ready.
    plain, excess : Returns
        Figures of returns and of excess returns.
    searched : int or None
        As in :class:`Evidence`.
    sealed : int
        Number of trials whose returns were sealed.
    distinct : int or None
        Number of distinct trials; None if the window does not determine it.
    """

    data: Mapping[str, Any]
    plain: Returns
    excess: Returns
    searched: int | None
    sealed: int = 0
    distinct: int | None = None

    @classmethod
    def decode(cls, stored: Mapping[str, Any]) -> Self:
        """Decode figures stored with a snapshot.

        Parameters
        ----------
        stored : Mapping[str, Any]
            Result of :func:`dataclasses.asdict`, decoded from JSON.

        Returns
        -------
        Self
            The figures.
        """
        plain, excess = (_stored_returns(stored[name]) for name in ("plain", "excess"))
        return cls(**{**stored, "plain": plain, "excess": excess})


def _stored_returns(stored: Mapping[str, Any]) -> Returns:
    moments, trials = stored["moments"], stored["trials"]
    return Returns(
        stored["observations"],
        Unavailable(**moments) if "code" in moments else SharpeMoments(**moments),
        None if trials is None else EffectiveTrials(**trials),
    )


# Vanishing equity gives infinite returns; their figures are withheld, so NumPy need not warn.
@np.errstate(all="ignore")
def measure(evidence: Evidence, query: LuckQuery) -> Luck:
    """Compute the luck figures of a window.

    Parameters
    ----------
    evidence : Evidence
        Inputs of the complete run.
    query : LuckQuery
        Parameters of the request, and permissions of the key.

    Returns
    -------
    Luck
        Figures that the evidence does not determine are null, each with its reason in ``withheld``.
    """
    seed = make_seed((evidence.alpha_id,), query.book, query.window)
    ledger = _ledger(evidence, query)
    ic = _ic(evidence, query)
    trials = _trials(evidence, query)
    groups = None if isinstance(trials, Unavailable) else cluster_trials(trials.returns)
    search = _search(trials, groups)
    withheld: dict[str, str] = {}
    tested = or_null(
        search if isinstance(search, Unavailable) else overfitting(search.returns), "overfitting", withheld
    )
    frequency = or_null(
        ledger if isinstance(ledger, Unavailable) else sessions_per_year(ledger.date),
        "sessions_per_year",
        withheld,
    )
    plain, excess = _measure_returns(ledger, trials, groups)
    daily = ledger_bands(ledger, np.random.Generator(np.random.PCG64([seed, 0])))
    weekly = weekly_bands(ic, np.random.Generator(np.random.PCG64([seed, 1])))
    snooping = or_null(_data_snooping(ledger, search, daily, seed), "data_snooping", withheld)
    data = {
        "book": query.book,
        **observed(np.empty(0, "datetime64[D]") if isinstance(ledger, Unavailable) else ledger.date),
        "observations": plain.observations,
        "sessions_per_year": frequency,
        **_ratios(plain.moments, "", withheld),
        "excess": {
            "observations": excess.observations,
            **_ratios(excess.moments, "excess.", withheld),
        },
        "overfitting": tested,
        "data_snooping": snooping,
        "bands": {
            name: or_null(band, f"bands.{name}", withheld)
            for name, band in {**daily.figures, **weekly.figures}.items()
        },
        "bootstrap": {
            "samples": SAMPLES,
            "mean_block": daily.mean_block,
            "mean_block_weeks": weekly.mean_block,
            "seed": seed,
        },
        "withheld": withheld,
    }
    return Luck(
        data,
        plain,
        excess,
        evidence.searched,
        0 if isinstance(evidence.trials, Unavailable) else evidence.trials.returns.shape[1],
        None if groups is None else groups.distinct.shape[1],
    )


def _measure_returns(
    ledger: Ledger | Unavailable, trials: TrialReturns | Unavailable, groups: TrialGroups | None
) -> tuple[Returns, Returns]:
    """Compute the figures of returns and of excess returns."""
    counted = excess_counted = None
    if groups is not None and not isinstance(trials, Unavailable):
        counted = effective_trials(trials.returns, groups)
        if not isinstance(ledger, Unavailable):
            excess_counted = effective_trials(_excess(trials, ledger), groups)
    if isinstance(ledger, Unavailable):
        return Returns(0, ledger, counted), Returns(0, ledger)
    returns = period_returns(ledger.starting, ledger.ending)
    excess = returns - ledger.risk_free
    solvent = solvent_returns(ledger.starting, ledger.ending)
    moments: SharpeMoments | Unavailable
    excess_moments: SharpeMoments | Unavailable
    if isinstance(solvent, Unavailable):
        moments = excess_moments = solvent
    else:
        moments, excess_moments = sharpe_moments(returns), sharpe_moments(excess, "daily excess returns")
        if returns.size and np.isnan(ledger.risk_free).all():
            excess_moments = NO_RATE
    return (
        Returns(int(measured(returns).size), moments, counted),
        Returns(int(measured(excess).size), excess_moments, excess_counted),
    )


def _excess(trials: TrialReturns, ledger: Ledger) -> Matrix:
    """Return the excess returns of trials on the days for which the ledger states a risk-free return."""
    places = np.searchsorted(ledger.date, trials.date)
    rate = np.append(ledger.risk_free, np.nan)[places]
    known = (np.append(ledger.date, np.datetime64("NaT"))[places] == trials.date) & ~np.isnan(rate)
    excess: Matrix = trials.returns[known] - rate[known, None]
    return excess


def _ratios(moments: SharpeMoments | Unavailable, path: str, withheld: dict[str, str]) -> dict[str, Any]:
    """Return the Sharpe ratio and its significance, in declared order, without the deflated ratio.

    Parameters
    ----------
    path
        Prefix of the figures' paths in the payload.
    withheld
        Receives the reason of each null figure.
    """
    moment_figures = {
        name: moments if isinstance(moments, Unavailable) else getattr(moments, name) * scale
        for name, scale in (("sharpe", ANNUAL), ("skewness", 1.0), ("kurtosis", 1.0))
    }
    benchmark = BENCHMARK_SHARPE / ANNUAL
    probability: Figure
    needed: Figure
    if isinstance(moments, Unavailable):
        probability = needed = moments
    else:
        probability = probabilistic_sharpe(moments, benchmark)
        needed = minimum_track_record(moments, benchmark, CONFIDENCE)
    sessions = or_null(needed, f"{path}minimum_track_record", withheld)
    return {
        **{name: or_null(figure, f"{path}{name}", withheld) for name, figure in moment_figures.items()},
        "probabilistic_sharpe": {
            "probability": or_null(probability, f"{path}probabilistic_sharpe", withheld),
            "benchmark_sharpe": BENCHMARK_SHARPE,
        },
        "minimum_track_record": {
            "sessions": sessions,
            "years": None if sessions is None else sessions / SESSIONS_PER_YEAR,
            "confidence": CONFIDENCE,
            "benchmark_sharpe": BENCHMARK_SHARPE,
        },
    }


def _ledger(evidence: Evidence, query: LuckQuery) -> Ledger | Unavailable:
    ledger = _closed(LEDGER, query) or evidence.ledger
    return ledger if isinstance(ledger, Unavailable) else cut(ledger, query.window.rows(ledger.date))


def _ic(evidence: Evidence, query: LuckQuery) -> Floats | Unavailable:
    weekly = _closed(CROSS_SECTIONS, query) or evidence.weekly
    if isinstance(weekly, Unavailable):
        return weekly
    weeks, ic = weekly
    return ic[query.window.rows(weeks)]


def _trials(evidence: Evidence, query: LuckQuery) -> TrialReturns | Unavailable:
    trials = evidence.trials
    if isinstance(trials, Unavailable):
        return trials
    if trials.returns.shape[1] > MAX_TESTED:
        return TOO_MANY_TRIALS
    return cut(trials, query.window.rows(trials.date))


def _search(trials: TrialReturns | Unavailable, groups: TrialGroups | None) -> TrialReturns | Unavailable:
    """Return the trials among which the best was selected; copies of one trial show no selection."""
    if isinstance(trials, Unavailable) or groups is None:
        return trials
    sealed, distinct = trials.returns.shape[1], groups.distinct.shape[1]
    if distinct == 1 and sealed > 1:
        return Unavailable("insufficient_data", COPIES.format(sealed))
    return trials


def _data_snooping(
    ledger: Ledger | Unavailable, trials: TrialReturns | Unavailable, daily: Bands, seed: int
) -> dict[str, float] | Unavailable:
    """Test the excess returns of the best trial, with the block length of the ledger's bands."""
    if isinstance(trials, Unavailable):
        return trials
    if isinstance(ledger, Unavailable):
        return ledger
    if daily.mean_block is None:
        return next(reason for reason in daily.figures.values() if isinstance(reason, Unavailable))
    if np.isnan(ledger.risk_free).all():
        return NO_RATE
    draw = np.random.Generator(np.random.PCG64([seed, 2]))
    returns = _excess(trials, ledger)
    return data_snooping(returns, resample(draw, len(returns), daily.mean_block), daily.mean_block)


def _closed(source: Source, query: LuckQuery) -> Unavailable | None:
    if source.endpoint in query.may_call:
        return None
    return Unavailable(ACCESS_LIMITED, f"the key may not call {source.endpoint}", source.kind)


def or_null(figure: T | Unavailable, path: str, withheld: dict[str, str]) -> T | None:
    """Return a figure, or None with its reason recorded by path.

    Parameters
    ----------
    figure : object or Unavailable
        The figure.
    path : str
        Its dotted path in the payload.
    withheld : dict of str to str
        Receives the reason.

    Returns
    -------
    object or None
        None when the figure is unavailable.
    """
    if isinstance(figure, Unavailable):
        withheld[path] = figure.text
        return None
    return figure
