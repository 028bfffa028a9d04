"""The two weekly tables of a seal, and their forward returns."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from examples.reference_engine.market import Market
from examples.reference_engine.sessions import Flags, Floats, opening_instants
from examples.reference_engine.strategy import Decisions


def forward_returns(market: Market) -> Floats:
    """Return the forward return of each name and decision.

    From the open of the name's first bar after a decision to the open of its first bar after the next decision. NaN
    where one of the two was not observed: for the last decision, and for a name without a bar between the two
    decisions or in the week after the second.

    Parameters
    ----------
    market
        The simulated market.

    Returns
    -------
    numpy.ndarray
        Shape (W, N), ratio.
    """
    weeks, names = len(market.decisions), len(market.symbols)
    opens = np.full((weeks, names), np.nan)
    for week, day in enumerate(market.decisions):
        until = market.decisions[week + 1] if week + 1 < weeks else market.observed - 1
        window = market.opens[day + 1 : until + 1]
        if len(window):
            bars = np.isfinite(window)
            opens[week] = np.where(bars.any(axis=0), window[bars.argmax(axis=0), np.arange(names)], np.nan)
    returns = np.full((weeks, names), np.nan)
    returns[:-1] = opens[1:] / opens[:-1] - 1.0
    return returns


def rebalances_table(market: Market, decisions: Decisions) -> pl.DataFrame:
    """Return one row per week: its date and status."""
    return pl.DataFrame(
        {
            "date": market.schedule[market.decisions],
            "week_status": _text(decisions.status),
        }
    ).sort("date")


def decisions_table(
    market: Market, decisions: Decisions, filled: dict[str, Flags], *, raw: bool, ranks: bool
) -> pl.DataFrame:
    """Return one row per listed name per week.

    Parameters
    ----------
    market
        Prices, for forward returns, and the schedule, for entry and maturity.
    decisions
        Weekly decisions.
    filled
        By family, `conditioned` and `raw`, shape (W, N): whether a book of the family traded the name.
    raw
        Whether the columns about the signal before smoothing are recorded.
    ranks
        Whether the run's own ranks are recorded.

    Returns
    -------
    polars.DataFrame
        Sorted by date and symbol; NaN of the inputs is null here.
    """
    week, name = np.nonzero(decisions.listed)
    status = decisions.status[week]
    unavailable = decisions.unavailable[week, name]
    entry = market.decisions + 1
    # The calendar is known in advance, so the last decision has a maturity a week ahead.
    after = np.append(entry[1:], _following_entry(market))
    opening = opening_instants(market.schedule)
    measured = np.where((status == "traded"), forward_returns(market)[week, name], np.nan)

    columns: dict[str, pl.Series | npt.NDArray[np.generic]] = {
        "date": market.schedule[market.decisions[week]],
        "symbol": pl.Series(market.symbols, dtype=pl.String).gather(name),
        "score": _nullable(decisions.score[week, name]),
    }
    if raw:
        columns["unsmoothed_score"] = _nullable(decisions.raw[week, name])
    if ranks:
        columns["average_rank"] = _nullable(_ranks(decisions.score)[week, name])
        if raw:
            columns["raw_average_rank"] = _nullable(_ranks(decisions.raw)[week, name])
    for book, weights in decisions.weights.items():
        if raw or not book.startswith("raw_"):
            columns[f"{book}_target_weight"] = weights[week, name]
    columns["next_open_tradeable"] = decisions.tradeable[week, name]
    columns["unavailability_reason"] = _text(unavailable)
    columns["fill_at"] = _where(filled["conditioned"][week, name], opening.gather(entry[week]))
    if raw:
        columns["raw_fill_at"] = _where(filled["raw"][week, name], opening.gather(entry[week]))
    columns["entry_at"] = opening.gather(entry[week])
    columns["maturity_at"] = opening.gather(after[week])
    columns["forward_return"] = _nullable(measured)
    columns["decision_reason"] = _text(decisions.reasons["conditioned"][week, name])
    if raw:
        columns["raw_decision_reason"] = _text(decisions.reasons["raw"][week, name])
    return pl.DataFrame(columns).sort("date", "symbol")


def _following_entry(market: Market) -> int:
    """Return the position of the open after the decision that would follow the last one."""
    days = market.schedule.astype("datetime64[D]").astype(np.int64)
    weeks = (days + 3) // 7
    return int(np.searchsorted(weeks, weeks[market.decisions[-1]] + 2))


def _ranks(scores: Floats) -> Floats:
    """Rank each week from 1, the strongest, averaging ties; NaN stays NaN."""
    from scipy.stats import rankdata

    return np.asarray(rankdata(-scores, axis=1, nan_policy="omit"), dtype=np.float64)


def _nullable(values: Floats) -> pl.Series:
    return pl.Series(values, dtype=pl.Float64).fill_nan(None)


def _where(keep: Flags, values: pl.Series) -> pl.Series:
    return pl.select(pl.when(pl.Series(keep)).then(values)).to_series()


def _text(labels: npt.NDArray[np.str_]) -> pl.Series:
    """Return labels as text, the empty one as null."""
    return pl.Series(labels.tolist(), dtype=pl.String).replace("", None)
