"""Returns of many alphas in one frame."""

from __future__ import annotations

import datetime as dt
import warnings
from collections.abc import Sequence
from typing import Any

from alpha_results_client.collect import alpha_ids, collect, levels_to_caller
from alpha_results_client.errors import InvalidRequest, NotAllowed, ResultsWarning
from alpha_results_client.exchange import Plan
from alpha_results_client.settings import Settings
from alpha_results_client.suggestions import suggesting
from alpha_results_client.table import make_wide_frame
from alpha_results_client.values import Query


def wide_returns(settings: Settings, alphas: Sequence[str] | None, query: Query) -> Plan[Any]:
    """Fetch the daily returns of a book of several alphas: one row per session of any of them, one column per alpha.

    With `alphas` None, an alpha that lacks the book, or whose ledger the key may not read, is left out with a
    :class:`ResultsWarning`; for an alpha that is named this raises.
    """
    as_rows = settings.as_rows()
    if alphas is None:
        names = yield from alpha_ids(settings)
    else:  # a text is one address, or several separated by commas, as in other methods
        names = [x.strip() for x in alphas.split(",")] if isinstance(alphas, str) else list(alphas)
    returns: dict[str, dict[dt.date, float | None]] = {}
    for name in names:
        path = {"alpha": name}
        plan = collect(as_rows, "portfolio.equity_curve", path, query)
        try:
            table = yield from suggesting(settings, path, query, plan)
        except (InvalidRequest, NotAllowed) as error:
            # Neither code concerns the other alphas.
            if alphas is not None or error.code not in ("unknown_book", "run_not_allowed"):
                raise
            warnings.warn(
                f"{name} is left out: {error.message}", ResultsWarning, stacklevel=levels_to_caller()
            )
            continue
        returns[name] = {row["date"]: row["period_return"] for row in table.frame}
    return make_wide_frame(returns, settings.frames)
