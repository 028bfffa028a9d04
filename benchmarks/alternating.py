"""Cached answers compared with a constant body, request by request.

On a shared machine the same server answers twice as fast in one minute as in the next. Two servers measured one after the
other differ by that; requests that alternate do not.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from typing import Final

from benchmarks.load import Connection, Request
from benchmarks.measure import Plan, ask_again
from benchmarks.processes import Ask, rate_ratio
from benchmarks.servers import Ours, Running, Server

_SECONDS: Final = 3.0
"""Duration of one comparison of a query."""


def hits_beside_constant(ours: Ours, constant: Server, plan: Plan, pairs: int) -> dict[str, list[float]]:
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
                plan.tell(f"hits beside a constant body, {number + 1} of {pairs}, {query}")
                with contextlib.ExitStack() as opened:
                    hits = itertools.cycle(ask_again(ours, up, plan, query))
                    hit = _asking(up, hits, opened)
                    same = _asking(floor, itertools.repeat(Request(f"/{query}")), opened)
                    ratios[query].append(rate_ratio((up, hit), (floor, same), _SECONDS))
    return ratios


def _asking(up: Running, requests: Iterator[Request], opened: contextlib.ExitStack) -> Ask:
    connection = opened.enter_context(contextlib.closing(Connection(up.port, up.headers)))
    return lambda: connection.ask(next(requests))
