"""The market indices."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from serve.http.answer import Answer, EndpointFunction, Page, Pending
from serve.http.request import Request
from serve.market_data import measure
from serve.query.json import to_json
from serve.state import ServerState


def daily(service: ServerState, request: Request) -> Pending[Answer]:
    """Return a benchmark day by day, measured over the window before it is paged."""
    return Pending(partial(_daily, service, request))


async def _daily(service: ServerState, request: Request) -> Page:
    values = request.values
    benchmark = await service.market_data.benchmark(values["symbol"])
    window = await service.compute(partial(measure, benchmark, values["from"], values["to"]))
    page = window.rows.slice(values["offset"], values["limit"])
    meta = {"symbol": values["symbol"], "source": benchmark.source, "summary": window.summary}
    return Page(to_json(page), page.height, window.rows.height, meta)


ROUTES: Final[Mapping[str, EndpointFunction]] = {"benchmarks.daily": daily}
