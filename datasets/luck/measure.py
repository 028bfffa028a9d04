"""Evidence and a question in, what luck may have made of it out."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np

from datasets.luck.reading import Evidence
from datasets.maths import bands
from datasets.maths.bands import Band, Bands, Figure, ledger_bands, weekly_bands
from datasets.maths.conventions import SESSIONS_PER_YEAR
from datasets.maths.equity import period_returns, solvent_returns
from datasets.maths.overfitting import Matrix, Overfitting, overfitting
from datasets.maths.series import Floats, measured
from datasets.maths.sharpe import (
    SharpeMoments,
    minimum_track_record,
    probabilistic_sharpe,
    sharpe_deviation,
    sharpe_moments,
)
from datasets.maths.unavailable import Unavailable
from datasets.run_metrics.figures import Ledger
from datasets.run_metrics.unavailable import ACCESS_LIMITED, MISSING_KIND
from datasets.run_metrics.window import WHOLE_RUN, Window
from schemas.metrics.statistic import CROSS_SECTIONS, LEDGER, Source

CONFIDENCE: Final = 0.95
"""Of the minimum track record."""
BENCHMARK_SHARPE: Final = 0.0
"""What the Sharpe ratio is compared with."""
ANNUAL: Final = math.sqrt(SESSIONS_PER_YEAR)
_SEED_BYTES: Final = 6
"""Whole numbers of this size are exact in every JSON reader."""
MAX_TESTED: Final = 1000
"""Trials that are compared at most: a thousand take a second or two."""
NO_TRIALS: Final = Unavailable(MISSING_KIND, "the run sealed no returns of its trials")


@dataclass(frozen=True, slots=True)
class LuckQuery:
    """What a request asks of the evidence, but for its trials.

    Attributes
    ----------
    book
        Whose ledger.
    may_call
        Registry ids of the endpoints the key may call, of those that serve the evidence.
    window
        Days to narrow it to.
    """

    book: str
    may_call: frozenset[str]
    window: Window = WHOLE_RUN


@dataclass(frozen=True, slots=True)
class Luck:
    """What does not depend on the trials that a request states.

    Attributes
    ----------
    data
        JSON-ready; all of the payload but `deflated_sharpe`.
    moments
        Of the daily returns, or why there are none.
    searched
        As of the evidence.
    sealed
        Trials whose returns were sealed; 0 when there are none.
    deviation
        Standard deviation of their annualised Sharpe ratios over the window; None when there are no two with a ratio.
    """

    data: Mapping[str, Any]
    moments: SharpeMoments | Unavailable
    searched: int | None
    sealed: int = 0
    deviation: float | None = None


# Equity that vanishes makes returns without bounds: what comes of them is withheld, and no line is logged for it.
@np.errstate(all="ignore")
def measure(evidence: Evidence, query: LuckQuery) -> Luck:
    """Measure the window of a run.

    Parameters
    ----------
    evidence
        Of the whole run.
    query
        What is asked, and what the key may see.

    Returns
    -------
    Luck
        Figures that the evidence does not determine are null, each with its reason in `withheld`.
    """
    seed = make_seed(evidence.snapshot, query)
    ledger = _ledger(evidence, query)
    ic = _ic(evidence, query)
    withheld: dict[str, str] = {}

    def given(name: str, figure: Figure) -> float | None:
        if isinstance(figure, Unavailable):
            withheld[name] = figure.text
            return None
        return figure

    moments = _moments(ledger)
    shown = {
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
    sessions = given("minimum_track_record", needed)
    daily, weekly = _daily_bands(ledger, seed), _weekly_bands(ic, seed)
    trials = _trials(evidence, query)
    tested = trials if isinstance(trials, Unavailable) else _overfitting(trials)
    if isinstance(tested, Unavailable):
        withheld["overfitting"] = tested.text
    data = {
        "book": query.book,
        "observations": 0 if isinstance(ledger, Unavailable) else int(measured(_returns(ledger)).size),
        "first_date": _end(ledger, 0),
        "last_date": _end(ledger, -1),
        **{name: given(name, figure) for name, figure in shown.items()},
        "probabilistic_sharpe": {
            "probability": given("probabilistic_sharpe", probability),
            "benchmark_sharpe": BENCHMARK_SHARPE,
        },
        "minimum_track_record": {
            "sessions": sessions,
            "years": None if sessions is None else sessions / SESSIONS_PER_YEAR,
            "confidence": CONFIDENCE,
            "benchmark_sharpe": BENCHMARK_SHARPE,
        },
        "overfitting": None if isinstance(tested, Unavailable) else asdict(tested),
        "bands": {
            name: _band(name, band, withheld) for name, band in {**daily.figures, **weekly.figures}.items()
        },
        "bootstrap": {
            "samples": bands.SAMPLES,
            "mean_block": daily.mean_block,
            "mean_block_weeks": weekly.mean_block,
            "seed": seed,
        },
        "withheld": withheld,
    }
    sealed = 0 if evidence.trials is None else evidence.trials.returns.shape[1]
    deviation = None if isinstance(trials, Unavailable) else sharpe_deviation(trials)
    return Luck(data, moments, evidence.searched, sealed, None if deviation is None else deviation * ANNUAL)


def make_seed(snapshot: str, query: LuckQuery) -> int:
    """Return the seed of a question: the same for every key, process and call."""
    window = query.window
    text = f"{snapshot} {query.book} {window.first or ''} {window.last or ''}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:_SEED_BYTES], "big")


def _ledger(evidence: Evidence, query: LuckQuery) -> Ledger | Unavailable:
    closed = _closed(LEDGER, query)
    if closed is not None:
        return closed
    if evidence.ledger is None:
        return Unavailable(MISSING_KIND, f"the run holds no {LEDGER.kind} of this book", LEDGER.kind)
    return evidence.ledger.within(query.window)


def _ic(evidence: Evidence, query: LuckQuery) -> Floats | Unavailable:
    closed = _closed(CROSS_SECTIONS, query)
    if closed is not None:
        return closed
    if evidence.weeks is None or evidence.ic is None:
        kind = CROSS_SECTIONS.kind
        return Unavailable(MISSING_KIND, f"the run holds no {kind} for {CROSS_SECTIONS.meaning}", kind)
    return evidence.ic[query.window.rows(evidence.weeks)]


def _trials(evidence: Evidence, query: LuckQuery) -> Matrix | Unavailable:
    if evidence.trials is None:
        return NO_TRIALS
    return evidence.trials.returns[query.window.rows(evidence.trials.date)]


def _overfitting(trials: Matrix) -> Overfitting | Unavailable:
    if trials.shape[1] > MAX_TESTED:
        return Unavailable(
            "insufficient_data", f"the run sealed more than {MAX_TESTED} trials, too many to be compared here"
        )
    return overfitting(trials)


def _closed(source: Source, query: LuckQuery) -> Unavailable | None:
    if source.endpoint in query.may_call:
        return None
    return Unavailable(ACCESS_LIMITED, f"the key may not call {source.endpoint}", source.kind)


def _moments(ledger: Ledger | Unavailable) -> SharpeMoments | Unavailable:
    if isinstance(ledger, Unavailable):
        return ledger
    returns = solvent_returns(ledger.starting, ledger.ending)
    return returns if isinstance(returns, Unavailable) else sharpe_moments(returns)


def _returns(ledger: Ledger) -> Floats:
    return period_returns(ledger.starting, ledger.ending)


def _daily_bands(ledger: Ledger | Unavailable, seed: int) -> Bands:
    if isinstance(ledger, Unavailable):
        return Bands(dict.fromkeys(bands.LEDGER_FIGURES, ledger))
    draw = np.random.Generator(np.random.PCG64([seed, 0]))
    return ledger_bands(ledger.starting, ledger.ending, ledger.risk_free, ledger.turnover, draw)


def _weekly_bands(ic: Floats | Unavailable, seed: int) -> Bands:
    if isinstance(ic, Unavailable):
        return Bands(dict.fromkeys(bands.WEEKLY_FIGURES, ic))
    return weekly_bands(ic, np.random.Generator(np.random.PCG64([seed, 1])))


def _band(name: str, band: Band | Unavailable, withheld: dict[str, str]) -> dict[str, float] | None:
    if isinstance(band, Unavailable):
        withheld[f"bands.{name}"] = band.text
        return None
    return {**asdict(band), "level": bands.LEVEL}


def _end(ledger: Ledger | Unavailable, place: int) -> str | None:
    return None if isinstance(ledger, Unavailable) or not ledger.date.size else str(ledger.date[place])
