"""Cached answers compared with a constant body, request by request.

On a shared machine the same server answers twice as fast in one minute as in the next. Two servers measured one after the
other differ by that; requests that alternate do not.
"""

from __future__ import annotations

import contextlib
import itertools
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Final, Protocol

from benchmarks.load import Connection, Request
from benchmarks.measure import Plan, ask_again
from benchmarks.servers import Ours, Running, Server

_SECONDS: Final = 3.0
"""Duration of one comparison of a query."""

Ask = Callable[[], object]
"""Sends one request and waits for the answer; raises StopIteration when there are no more."""


class Busy(Protocol):
    """A server that knows its processor time precisely enough for a single answer."""

    def busy(self) -> float:
        """Return the processor seconds so far."""
        ...


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


def rate_ratio(one: tuple[Busy, Ask], other: tuple[Busy, Ask], seconds: float) -> float:
    """Alternate between two servers, or two kinds of requests, and compare answers per processor second.

    Returns
    -------
    float
        Rate of the first divided by the rate of the second, from the median processor time of an answer.
    """
    spent: tuple[list[float], list[float]] = [], []
    end = time.monotonic() + seconds
    for number in itertools.count():
        try:
            for which in (0, 1) if number % 2 else (1, 0):
                spent[which].append(_processor_time(*(one, other)[which]))
        except StopIteration:
            break
        if time.monotonic() > end:
            break
    return statistics.median(spent[1]) / statistics.median(spent[0])


def _processor_time(server: Busy, ask: Ask) -> float:
    before = server.busy()
    ask()
    return server.busy() - before


def _asking(up: Running, requests: Iterator[Request], opened: contextlib.ExitStack) -> Ask:
    connection = opened.enter_context(contextlib.closing(Connection(up.port, up.headers)))
    return lambda: connection.ask(next(requests))
