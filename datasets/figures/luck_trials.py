"""The number of trials of a run, and the deflated Sharpe ratio."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from datasets.figures.luck import ANNUAL, COPIES, MAX_TESTED, Luck, Returns, or_null
from datasets.figures.series import Floats
from datasets.figures.sharpe import deflated_sharpe, expected_maximum_sharpe, run_deviation
from datasets.figures.unavailable import ACCESS_LIMITED, Unavailable
from schemas.objects.luck import NOMINAL
from schemas.parameters import MAX_TRIALS

DESCRIPTION: Final = "catalog.alphas.get"
"""The endpoint that serves the search values."""
SEALED_TRIALS: Final = "trials"
SEARCH_VALUES: Final = "search_values"


@dataclass(frozen=True, slots=True)
class ReadableRuns:
    """The runs of the catalogue that a key may read, including the measured one.

    Attributes
    ----------
    sharpe, excess_sharpe : Floats, shape (n_runs,)
        Annualised Sharpe ratios of returns and of excess returns; NaN if a run has none or the key may not see it.
    sessions : Floats, shape (n_runs,)
        Number of sessions from which the ratios are computed; NaN stands for null.
    """

    sharpe: Floats
    excess_sharpe: Floats
    sessions: Floats


@dataclass(frozen=True, slots=True)
class Counted:
    """The trials that enter the deflated Sharpe ratio.

    Attributes
    ----------
    count : int or Unavailable
        Number of trials, or the reason why it is not known.
    counted_by : str or None
        ``clusters``, ``distinct`` or ``nominal``; None when the number is not known.
    deviation : float or None
        Standard deviation of the trials' annualised Sharpe ratios; None if not known.
    """

    count: int | Unavailable
    counted_by: str | None
    deviation: float | None


@dataclass(frozen=True, slots=True)
class Trials:
    """Number and dispersion of the trials.

    Attributes
    ----------
    nominal : int or None
        Number of trials according to the source, including the run itself; None if no source has it.
    source : str or None
        ``request``, ``seal`` or ``catalogue``; None if no source has the number.
    plain, excess : Counted
        The trials that count, for the Sharpe ratio of returns and of excess returns.
    passed_over : Mapping[str, str]
        Sealed evidence that was not used -> reason why it does not show a search.
    without_deviation : str
        Reason for a deviation that is not known.
    """

    nominal: int | None
    source: str | None
    plain: Counted
    excess: Counted
    passed_over: Mapping[str, str] = field(default_factory=dict)
    without_deviation: str = "the run sealed no returns of them"


def known_trials(
    luck: Luck,
    stated: int | None,
    deviation: float | None,
    *,
    described: bool,
    readable: ReadableRuns | Unavailable,
) -> Trials:
    """Choose the number of trials: from the request, else from the seal, else from the catalogue.

    Sealed evidence counts if it shows a search: at least two distinct trials, or else more than one combination of search
    values. The dispersion comes from the request, or else from the sealed trials or the runs of the catalogue.

    Parameters
    ----------
    luck : Luck
        Figures of the run before they are deflated.
    stated : int or None
        Number of trials according to the request.
    deviation : float or None
        Standard deviation of their annualised Sharpe ratios according to the request.
    described : bool
        Whether the key may read the description, which has the search values.
    readable : ReadableRuns or Unavailable
        Runs of the catalogue, or the reason why they are not counted.

    Returns
    -------
    Trials
        Trials, with an Unavailable count if no source has one.
    """
    if stated is not None:
        return _for_both(stated, "request", deviation, {})
    passed_over: dict[str, str] = {}
    if luck.sealed > 1 and luck.distinct != 1:
        return _sealed(luck, deviation)
    if luck.sealed:
        passed_over[SEALED_TRIALS] = (
            "the run sealed one trial, its own, which is no search"
            if luck.sealed == 1
            else COPIES.format(luck.sealed)
        )
    if not described:
        reason = f"the key may not call {DESCRIPTION} for the search values of this alpha; `trials` states their number"
        return _for_both(Unavailable(ACCESS_LIMITED, reason, "description"), None, deviation, passed_over)
    if luck.searched is not None and luck.searched > MAX_TRIALS:
        reason = (
            f"the search values have more than {MAX_TRIALS} combinations; `trials` states how many were tried"
        )
        return _for_both(Unavailable("insufficient_data", reason), None, deviation, passed_over)
    if luck.searched is not None and luck.searched > 1:
        return _for_both(luck.searched, "seal", deviation, passed_over)
    if luck.searched is not None:
        passed_over[SEARCH_VALUES] = (
            "the description names a single combination of search values, which is no search"
        )
    if isinstance(readable, Unavailable):
        return _for_both(readable, None, deviation, passed_over)
    return _of_catalogue(luck, readable, deviation, passed_over)


def with_deflated_sharpe(luck: Luck, trials: Trials) -> dict[str, Any]:
    """Deflate the Sharpe ratio for a number of trials, and return the payload.

    Parameters
    ----------
    luck : Luck
        Figures of the run before they are deflated.
    trials : Trials
        Number and dispersion of the trials.

    Returns
    -------
    dict
        The payload, JSON-ready, members in declared order.

    References
    ----------
    Bailey and López de Prado (2014), as :func:`datasets.figures.sharpe.deflated_sharpe`.
    """
    withheld: dict[str, str] = dict(luck.data["withheld"])
    data = _with_block(luck.data, _block(luck.plain, trials, trials.plain, "", withheld))
    excess = _block(luck.excess, trials, trials.excess, "excess.", withheld)
    return {**data, "excess": _with_block(luck.data["excess"], excess), "withheld": withheld}


def _for_both(
    count: int | Unavailable, source: str | None, deviation: float | None, passed_over: Mapping[str, str]
) -> Trials:
    """Return trials with the same count, or reason for none, for returns and excess returns."""
    nominal = None if isinstance(count, Unavailable) else count
    counted = Counted(count, None if nominal is None else NOMINAL, deviation)
    return Trials(nominal, source, counted, counted, passed_over)


def _sealed(luck: Luck, stated: float | None) -> Trials:
    def counted(returns: Returns) -> Counted:
        trials = returns.trials
        if luck.sealed > MAX_TESTED:
            reason = f"the run sealed more than {MAX_TESTED} trials, too many to be clustered; `trials` states how many count"
            return Counted(Unavailable("insufficient_data", reason), None, stated)
        if trials is None:
            return Counted(luck.sealed, NOMINAL, stated)
        deviation = trials.deviation * ANNUAL if stated is None else stated
        return Counted(trials.count, trials.counted_by, deviation)

    return Trials(
        luck.sealed,
        "seal",
        counted(luck.plain),
        counted(luck.excess),
        without_deviation="the returns of a sealed trial do not vary in the window, or cover fewer than ten days",
    )


def _of_catalogue(
    luck: Luck, readable: ReadableRuns, stated: float | None, passed_over: Mapping[str, str]
) -> Trials:
    def counted(ratios: Floats, returns: Returns) -> Counted:
        deviation = stated
        if deviation is None and returns.observations:
            deviation = run_deviation(ratios, readable.sessions, returns.observations)
        return Counted(int(ratios.size), NOMINAL, deviation)

    return Trials(
        int(readable.sharpe.size),
        "catalogue",
        counted(readable.sharpe, luck.plain),
        counted(readable.excess_sharpe, luck.excess),
        passed_over,
    )


def _with_block(figures: Mapping[str, Any], block: Mapping[str, Any]) -> dict[str, Any]:
    """Insert the deflated ratio after the probabilistic one."""
    data: dict[str, Any] = {}
    for name, value in figures.items():
        data[name] = value
        if name == "probabilistic_sharpe":
            data["deflated_sharpe"] = block
    return data


def _block(
    returns: Returns, trials: Trials, counted: Counted, path: str, withheld: dict[str, str]
) -> dict[str, Any]:
    probability, expected = _deflated(returns, counted, trials.without_deviation)
    return {
        "probability": or_null(probability, f"{path}deflated_sharpe", withheld),
        "expected_maximum_sharpe": expected,
        "trials": trials.nominal,
        "trials_from": trials.source,
        "effective_trials": None if isinstance(counted.count, Unavailable) else counted.count,
        "counted_by": counted.counted_by,
        "trial_deviation": counted.deviation,
        "passed_over": trials.passed_over,
    }


def _deflated(
    returns: Returns, counted: Counted, without_deviation: str
) -> tuple[float | Unavailable, float | None]:
    """Return the probability and the annualised benchmark Sharpe ratio."""
    if isinstance(counted.count, Unavailable):
        return counted.count, None
    if counted.deviation is None and counted.count > 1:
        if isinstance(returns.moments, Unavailable):
            return returns.moments, None
        return Unavailable(
            "insufficient_data",
            f"the spread of the Sharpe ratios of the trials is unknown: {without_deviation}, and no trial_deviation was given",
        ), None
    deviation = counted.deviation or 0.0
    expected = expected_maximum_sharpe(counted.count, deviation)
    if not math.isfinite(expected):
        return Unavailable("insufficient_data", "`trial_deviation` is too large to compute with"), None
    if isinstance(returns.moments, Unavailable):
        return returns.moments, expected
    return deflated_sharpe(returns.moments, counted.count, deviation / ANNUAL), expected


def searched_combinations(parameters: Iterable[Mapping[str, Any]] | None) -> int | None:
    """Count the combinations of the tried parameter values.

    Parameters
    ----------
    parameters : iterable of Mapping[str, Any] or None
        Parameters of the sealed description, of which ``search_values`` is read; None when it names none.

    Returns
    -------
    int or None
        Product of the numbers of distinct values; None when no parameter has search values.

    Examples
    --------
    >>> searched_combinations([{"search_values": [1, 2, 2]}, {"search_values": ["a", "b", "c"]}, {}])
    6
    """
    counts = [
        len({orjson.dumps(value, option=orjson.OPT_SORT_KEYS) for value in values})
        for values in ((parameter or {}).get("search_values") for parameter in parameters or ())
        if values
    ]
    return math.prod(counts) if counts else None
