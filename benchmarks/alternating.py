"""Cached answers compared with a constant body, request by request.

On a shared machine a server may be twice as fast in one minute as in the next. Alternating requests between two servers cancels
that out; measuring one server after the other does not.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from typing import Final

from benchmarks.load import Connection, Request
from benchmarks.measure import Plan, cached_requests
from benchmarks.processes import SendRequest, rate_ratio
from benchmarks.servers import Ours, Running, Server

_SECONDS: Final = 3.0
"""Duration of one comparison."""


def hits_against_constant(ours: Ours, constant: Server, plan: Plan, pairs: int) -> dict[str, list[float]]:
    """Compare cached answers with a constant body of the same size, in fresh pairs of processes.

    Returns
    -------
    dict
        Query -> for each pair, our answers per processor second divided by those of the constant body.
    """
    ratios: dict[str, list[float]] = {query: [] for query in plan.queries}
    for number in range(pairs):
        with ours.running() as up, constant.running() as floor:
            up.settle(90.0, 1.0)
            for query in plan.queries:
                plan.log(f"hits beside a constant body, {number + 1} of {pairs}, {query}")
                with contextlib.ExitStack() as opened:
                    hits = itertools.cycle(cached_requests(ours, up, plan, query))
                    hit = _sender(up, hits, opened)
                    same = _sender(floor, itertools.repeat(Request(f"/{query}")), opened)
                    ratios[query].append(rate_ratio((up, hit), (floor, same), _SECONDS))
    return ratios


def _sender(up: Running, requests: Iterator[Request], opened: contextlib.ExitStack) -> SendRequest:
    connection = opened.enter_context(contextlib.closing(Connection(up.port, up.headers)))
    return lambda: connection.send(next(requests))
