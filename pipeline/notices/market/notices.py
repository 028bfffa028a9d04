"""All notices from the comparison of a run with market prices, and the one on its sessions."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Final

import polars as pl

from datasets.figures.rank_correlation import Integers
from pipeline.notices.market.fills import (
    FILL_NOTICES,
    are_within_day,
    join_marks,
    judge_fills,
    judge_foresight,
    judge_settlements,
)
from pipeline.notices.market.left_out import judge_left_out
from pipeline.notices.market.price_file import read_prices
from pipeline.notices.market.returns import FORWARD_NOTICES, judge_forward_returns, judge_marks
from pipeline.notices.market.run import read_run
from pipeline.notices.market.unscored import judge_unscored
from pipeline.notices.outcome import NoticeOutcome, judged, not_checked
from pipeline.notices.rows import ReadColumns, to_days
from schemas.notices.catalogue import MIN_SHARED_CELLS
from schemas.notices.market import MARKET_NOTICES

_USUAL_SHARE: Final = 0.1
"""Minimum names with a price on a session, as a share of the maximum of any day; a few stray rows make no session."""
_NEEDED: Final = {
    **dict.fromkeys(FORWARD_NOTICES, "forward returns"),
    **dict.fromkeys(FILL_NOTICES, "trades, positions and portfolio"),
    **dict.fromkeys(("market.left_out", "market.unscored"), "decisions"),
    "market.sessions": "portfolio",
}


def market_notices(
    tables: Mapping[str, Collection[str]], read: ReadColumns, address: str
) -> tuple[NoticeOutcome, ...]:
    """Compare a run with market prices.

    Parameters
    ----------
    tables, read
        As in :func:`pipeline.notices.evidence.gather`.
    address
        Address of the prices.

    Raises
    ------
    SettingsError
        When the prices cannot be used.
    StorageUnavailable
        When the store of the prices does not answer.
    """
    market = read_prices(address)
    run = read_run(tables, read, market)
    outcomes = [
        not_checked(
            notice.id,
            f"it needs {_NEEDED.get(notice.id, 'portfolio and positions')}, which the run did not all seal",
        )
        for notice in MARKET_NOTICES
    ]
    # A file may also hold names of other exchanges, whose holidays differ, and benchmarks, whose history is longer.
    days, priced = market.count(run.names)
    if "portfolio" in tables:
        outcomes.append(_judge_sessions(run.sessions, days, priced))
    within_day = False
    if run.marks is not None:
        marks = market.join(run.marks, "date")
        outcomes += judge_marks(marks, run)
        if run.fills is not None:
            fills = join_marks(market.join(run.fills, "date"), marks)
            traded = fills.filter(~pl.col("settled"))
            within_day = are_within_day(traded)
            outcomes += [judge_fills(traded), judge_foresight(traded.filter("adjusting"))]
            outcomes.append(judge_settlements(fills.filter("settled"), market))
    if run.forward is not None:
        outcomes += judge_forward_returns(run.forward, market, days, within_day=within_day)
    if run.scored is not None:
        outcomes += [judge_left_out(run.scored, market, days), judge_unscored(run.scored, market)]
    return tuple(replace(x, details={**x.details, "prices": market.digest}) for x in outcomes)


def _judge_sessions(own: pl.Series, priced_days: Integers, priced: Integers) -> NoticeOutcome:
    """Compare the sessions of ledger and market over their common span of days.

    Parameters
    ----------
    own
        Days of the ledger, ascending.
    priced_days, priced
        Days of the market, ascending, and the number of names with a price on each.
    """
    notice = "market.sessions"
    days = to_days(own)
    first, last = (
        (max(days[0], priced_days[0]), min(days[-1], priced_days[-1]))
        if days.size and priced_days.size
        else (0, -1)
    )
    within = (priced_days >= first) & (priced_days <= last)
    usual = priced[within] >= _USUAL_SHARE * priced[within].max(initial=0)
    own = own.filter((days >= first) & (days <= last))
    market = pl.Series("date", priced_days[within][usual], pl.Int32).cast(pl.Date)
    sessions = min(own.len(), market.len())
    if sessions < MIN_SHARED_CELLS:
        return not_checked(
            notice, f"the prices cover {sessions} sessions of the ledger; {MIN_SHARED_CELLS} are needed"
        )
    lacking, strange = (
        days.filter(~days.is_in(others.implode())) for days, others in ((market, own), (own, market))
    )
    texts = (("lacks {} sessions of the market", lacking), ("has {} days that were no sessions", strange))
    differences = " and ".join(
        f"{text.format(days.len())}, the first {days[0]}" for text, days in texts if days.len()
    )
    differing = lacking.len() + strange.len()
    message = f"The ledger {differences}."
    return judged(
        notice, float(differing), message, sessions=market.len(), lacking=lacking.len(), strange=strange.len()
    )
