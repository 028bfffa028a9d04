"""The market indices."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from serve.http.answer import Answerer, Page
from serve.http.context import Context
from serve.market_data import measure
from serve.query.json import to_json


async def daily(context: Context) -> Page:
    """Return a benchmark day by day, measured over the window before it is paged."""
    values = context.values
    benchmark = await context.service.market_data.benchmark(values["symbol"])
    window = await context.service.compute(partial(measure, benchmark, values["from"], values["to"]))
    page = window.rows.slice(values["offset"], values["limit"])
    meta = {"symbol": values["symbol"], "source": benchmark.source, "summary": window.summary}
    return Page(to_json(page), page.height, window.rows.height, meta)


ROUTES: Final[Mapping[str, Answerer]] = {"benchmarks.daily": daily}
