"""Contribution of an alpha to a book of other alphas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from datasets.figures.bootstrap import (
    band,
    block_length,
    ratio,
    resampled_moments,
    sample_moments,
)
from datasets.figures.daily_returns import DailyReturns, Days, between_common_closes
from datasets.figures.newey_west import regress, regression_payload
from datasets.figures.ratios import FIGURES, book_figures, book_weights, difference
from datasets.figures.series import (
    SESSIONS_PER_YEAR,
    Floats,
    Matrix,
    is_constant,
    observed,
    sessions_per_year,
)
from datasets.figures.unavailable import Unavailable, no_variation, nonpositive_equity
from datasets.figures.withheld import settle
from schemas.metrics.families.family import SAMPLES
from schemas.warning_codes import warning

_BLOCKS: Final = ("with", "without", "marginal")


def contribution(
    alpha: str,
    own: DailyReturns,
    others: Mapping[str, DailyReturns],
    weights: str | Sequence[float] = "equal",
    seed: int = 0,
) -> dict[str, Any]:
    """Compare a book of alphas with and without one of them, over their common sessions.

    Returns between two common sessions are compounded into the later one.

    Parameters
    ----------
    alpha : str
        Id of the alpha.
    own : DailyReturns
        Returns of the alpha in the window.
    others : Mapping[str, DailyReturns]
        Id -> returns in the window of the other alphas of the book; at least one.
    weights : str or sequence of float
        As in :func:`datasets.figures.ratios.book_weights`, the alpha first; without it, the others keep their proportions.
    seed : int
        Seed of the bootstrap of the marginal Sharpe ratio.

    Returns
    -------
    dict
        The members of the payload from ``observations`` onwards, JSON-ready. Withheld figures have a reason; all are withheld
        if an alpha has sessions without a return.
    """
    series = {alpha: own, **others}
    indebted = next((name for name, x in series.items() if x.missing.size), None)
    if indebted is not None:
        sessions = series[indebted]
        reason = nonpositive_equity(sessions.missing.size, sessions.missing.size + sessions.days.size)
        return empty_contribution(Unavailable(reason.code, f"{indebted}: {reason.text}"))
    common = between_common_closes([(x.days, x.values) for x in series.values()])
    days, table = common.days, common.returns
    shares = book_weights(table, weights)
    if isinstance(shares, Unavailable):
        return empty_contribution(shares)
    if isinstance(weights, str) and weights == "equal":
        with_it, without = table.mean(axis=0), table[1:].mean(axis=0)
    else:
        with_it, without = shares @ table, shares[1:] @ table[1:] / shares[1:].sum()
    blocks: dict[str, Any] = {"with": book_figures(with_it), "without": book_figures(without)}
    blocks["marginal"] = difference(blocks["with"], blocks["without"])
    draw = np.random.Generator(np.random.PCG64([seed, 4]))
    frequency = sessions_per_year(days.astype("datetime64[D]"))
    return _payload(
        days.astype(np.int32),
        **blocks,
        regression=regression_payload(regress(table[0], table[1:].T), others),
        sessions={
            name: {"sessions": int(n), "merged": int(merged), "dropped": int(dropped)}
            for name, n, merged, dropped in zip(
                series, common.sessions, common.merged, common.dropped, strict=True
            )
        },
        sessions_per_year=None if isinstance(frequency, Unavailable) else frequency,
        withheld={},
        weights=dict(zip(series, shares.tolist(), strict=True)),
        marginal_sharpe=sharpe_difference(with_it, without, draw),
    )


def cut_warnings(answer: Mapping[str, Any]) -> tuple[dict[str, str], ...]:
    """Warn that sessions before the first or after the last common one are left out.

    Parameters
    ----------
    answer : Mapping[str, Any]
        Result of :func:`contribution`.

    Returns
    -------
    tuple of dict
        One warning, or none.
    """
    cut = {name: x["dropped"] for name, x in answer["sessions"].items() if x["dropped"]}
    if not cut:
        return ()
    shortest = min(answer["sessions"], key=lambda name: answer["sessions"][name]["sessions"])
    sessions = ", ".join(f"{count} of {name}" for name, count in cut.items())
    span = f"from {answer['first_date']} to {answer['last_date']}" if answer["observations"] else "on no day"
    return (
        warning(
            "comparison_cut",
            f"All alphas have sessions {span}; {shortest} has the fewest. Left out, with their profit and loss: {sessions}.",
        ),
    )


def empty_contribution(reason: Unavailable) -> dict[str, Any]:
    """Return the answer when no book can be formed.

    Parameters
    ----------
    reason : Unavailable
        Reason why every figure is withheld.

    Returns
    -------
    dict
        As :func:`contribution` returns it.
    """
    return _payload(
        np.empty(0, np.int32),
        **{name: dict.fromkeys(FIGURES, reason) for name in _BLOCKS},
        regression=reason,
        sessions={},
        sessions_per_year=None,
        withheld={},
        weights={},
        marginal_sharpe=reason,
    )


def _payload(days: Days, **figures: Any) -> dict[str, Any]:
    return settle({**observed(days.astype("datetime64[D]")), **figures})


def sharpe_difference(
    with_it: Floats, without: Floats, draw: np.random.Generator
) -> dict[str, Any] | Unavailable:
    """Return the band of the difference of two books' Sharpe ratios.

    Parameters
    ----------
    with_it, without : Floats, shape (n_sessions,)
        Daily returns of the two books, fractions in order of date, without NaN; both returns of a session are resampled
        together.
    draw : numpy.random.Generator
        Source of random numbers.

    Returns
    -------
    dict or Unavailable
        Annualised band, with its level, number of samples and mean block length in sessions; withheld under the conditions
        of :func:`datasets.figures.bands.ledger_bands`, and if either book is constant.
    """
    books = np.stack([with_it, without])
    block = block_length(with_it, "sessions", "daily returns")
    if isinstance(block, Unavailable):
        return block
    if is_constant(without):
        return no_variation("returns of one of the two books")

    def difference(moments: tuple[Matrix, Matrix]) -> Floats:
        own, other = ratio(*moments)
        gains: Floats = (own - other) * SESSIONS_PER_YEAR**0.5
        return gains

    gain = float(difference(sample_moments(np.ones((1, with_it.size)), books))[0])
    samples = difference(resampled_moments(draw, block, books))
    limits = band(gain, samples)
    if isinstance(limits, Unavailable):
        return limits
    return {**limits, "samples": SAMPLES, "mean_block": block}
