"""How many trials a run was picked from, and what its Sharpe ratio is worth after that many."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from datasets.luck.measure import ANNUAL, Luck
from datasets.maths.series import Floats, measured
from datasets.maths.sharpe import deflated_sharpe, expected_maximum_sharpe
from datasets.maths.unavailable import Unavailable
from datasets.run_metrics.unavailable import ACCESS_LIMITED
from schemas.parameters import MAX_TRIALS

DESCRIPTION: Final = "catalog.alphas.get"
"""The endpoint that serves the search values."""


@dataclass(frozen=True, slots=True)
class Trials:
    """What is known of the trials.

    Attributes
    ----------
    count
        Trials, the run itself counted; or why their number is not known.
    source
        ``request``, ``seal`` or ``catalogue``; None when the number is not known.
    deviation
        Standard deviation of their annualised Sharpe ratios; None when it was not stated.
    """

    count: int | Unavailable
    source: str | None
    deviation: float | None


def ratio_deviation(ratios: Floats) -> float | None:
    """Sample deviation (ddof 1) of the Sharpe ratios of several runs.

    Parameters
    ----------
    ratios
        Annualised, NaN where a run has none.

    Returns
    -------
    float or None
        None with fewer than two of them.
    """
    known = measured(ratios)
    return float(known.std(ddof=1)) if known.size > 1 else None


def known_trials(
    luck: Luck, stated: int | None, deviation: float | None, *, described: bool, readable: Floats
) -> Trials:
    """Choose the number of trials: as the request states it, else as sealed, else as the catalogue has it.

    How far they lie apart is what the request states; else what the returns of sealed trials say, or the ratios of the
    catalogue.

    Parameters
    ----------
    stated, deviation
        As the request has them; None for what it leaves out.
    described
        Whether the key may read the description, and so its search values.
    readable
        Annualised Sharpe ratio of every run that the key may read, this one among them; NaN where it may not be told.
    """
    if stated is not None:
        return Trials(stated, "request", deviation)
    if luck.sealed:
        return Trials(luck.sealed, "seal", luck.deviation if deviation is None else deviation)
    if not described:
        reason = f"the key may not call {DESCRIPTION} for the search values of this alpha; `trials` states their number"
        return Trials(Unavailable(ACCESS_LIMITED, reason, "description"), None, deviation)
    if luck.searched is None:
        apart = ratio_deviation(readable) if deviation is None else deviation
        return Trials(int(readable.size), "catalogue", apart)
    if luck.searched > MAX_TRIALS:
        reason = (
            f"the search values have more than {MAX_TRIALS} combinations; `trials` states how many were tried"
        )
        return Trials(Unavailable("insufficient_data", reason), None, deviation)
    return Trials(luck.searched, "seal", deviation)


def with_deflated_sharpe(luck: Luck, trials: Trials) -> dict[str, Any]:
    """Return the whole payload.

    Returns
    -------
    dict
        JSON-ready, members in declared order.
    """
    probability, expected = _deflated(luck, trials)
    block = {
        "probability": None if isinstance(probability, Unavailable) else probability,
        "expected_maximum_sharpe": expected,
        "trials": None if isinstance(trials.count, Unavailable) else trials.count,
        "trials_from": trials.source,
        "trial_deviation": trials.deviation,
    }
    data: dict[str, Any] = {}
    for name, value in luck.data.items():
        data[name] = value
        if name == "probabilistic_sharpe":
            data["deflated_sharpe"] = block
    if isinstance(probability, Unavailable):
        withheld: Mapping[str, str] = luck.data["withheld"]
        data["withheld"] = {**withheld, "deflated_sharpe": probability.text}
    return data


def _deflated(luck: Luck, trials: Trials) -> tuple[float | Unavailable, float | None]:
    """Return the probability and the annualised Sharpe ratio it is measured against."""
    if isinstance(trials.count, Unavailable):
        return trials.count, None
    if trials.deviation is None and trials.count > 1:
        return Unavailable(
            "insufficient_data",
            "how far the Sharpe ratios of the trials lie apart is not known; `trial_deviation` states it",
        ), None
    deviation = trials.deviation or 0.0
    expected = expected_maximum_sharpe(trials.count, deviation)
    if not math.isfinite(expected):
        return Unavailable("insufficient_data", "`trial_deviation` is too large to be computed with"), None
    if isinstance(luck.moments, Unavailable):
        return luck.moments, expected
    return deflated_sharpe(luck.moments, trials.count, deviation / ANNUAL), expected
