"""Cached answers compared with a constant body, request by request.

On a shared machine a server may be twice as fast in one minute as in the next. Alternating requests between two servers cancels
that out; measuring one server after the other does not.
"""

from __future__ import annotations

import contextlib
import itertools
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Final, Protocol

from benchmarks.load import Connection, Request
from benchmarks.measure import Plan, cached_requests
from benchmarks.servers import Ours, Running, Server

_SECONDS: Final = 3.0
"""Duration of one comparison."""

SendRequest = Callable[[], object]
"""Sends the next request and waits for its answer; raises StopIteration after the last."""


class Busy(Protocol):
    """A server whose processor time can be read precisely enough for a single answer."""

    def busy(self) -> float:
        """Return the processor seconds so far."""
        ...


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
                plan.log(f"hits compared with a constant body, {number + 1} of {pairs}, {query}")
                with contextlib.ExitStack() as opened:
                    hits = itertools.cycle(cached_requests(ours, up, plan, query))
                    hit = _sender(up, hits, opened)
                    same = _sender(floor, itertools.repeat(Request(f"/{query}")), opened)
                    ratios[query].append(rate_ratio((up, hit), (floor, same), _SECONDS))
    return ratios


def _sender(up: Running, requests: Iterator[Request], opened: contextlib.ExitStack) -> SendRequest:
    connection = opened.enter_context(contextlib.closing(Connection(up.port, up.headers)))
    return lambda: connection.send(next(requests))


def rate_ratio(one: tuple[Busy, SendRequest], other: tuple[Busy, SendRequest], seconds: float) -> float:
    """Alternate between two servers, or two kinds of requests, and compare answers per processor second.

    Returns
    -------
    float
        Rate of the first divided by the rate of the second, from the median processor time of an answer.
    """
    cpu_times: tuple[list[float], list[float]] = [], []
    end = time.monotonic() + seconds
    for number in itertools.count():
        try:
            for which in (0, 1) if number % 2 else (1, 0):
                cpu_times[which].append(_processor_time(*(one, other)[which]))
        except StopIteration:
            break
        if time.monotonic() > end:
            break
    return statistics.median(cpu_times[1]) / statistics.median(cpu_times[0])


def _processor_time(server: Busy, send: SendRequest) -> float:
    before = server.busy()
    send()
    return server.busy() - before
