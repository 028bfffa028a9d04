"""What is asked by turns: an earlier checkout beside this one, hits beside a constant body, answers in a coding beside plain ones."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Sequence
from typing import Any, Final

from benchmarks.load import Connection, Request
from benchmarks.measure import CODINGS, Plan, ask_again, warm_up
from benchmarks.servers import Ours, Running, Server
from benchmarks.turns import Turn, compare, rate_beside

PAIRS: Final = 3
"""Of fresh processes, for a round: where a process lies in memory and on which core it runs makes a tenth."""
_SECONDS: Final = 3.0
"""For a query in a state."""


def measure(ours: Ours, earlier: Ours, plan: Plan, pairs: int) -> list[dict[str, Any]]:
    """Return for each query and state the ratios of each pair of processes, ours divided by the earlier one's.

    Returns
    -------
    list of dict
        ``query``, ``state`` (``miss`` or ``hit``), and ``pairs`` of ratios as of :func:`benchmarks.turns.compare`.
    """
    found: dict[tuple[str, str], list[dict[str, float]]] = {}
    for number in range(pairs):
        with ours.running() as now, earlier.running() as then:
            both = (ours, now), (earlier, then)
            for _, up in both:
                up.settle(90.0, 1.0)
            for query in plan.queries:
                plan.tell(f"{ours.name} and {earlier.name} by turns, {number + 1} of {pairs}, {query}")
                for state, make in (("miss", _missing), ("hit", _hitting)):
                    asks = [(up, make(server, up, plan, query)) for server, up in both]
                    found.setdefault((query, state), []).append(_by_turns(asks))
    return [{"query": query, "state": state, "pairs": ratios} for (query, state), ratios in found.items()]


def beside(ours: Ours, constant: Server, plan: Plan, pairs: int) -> list[dict[str, Any]]:
    """Return for each query how many answers a processor second there are, divided by those of what they are compared with.

    Returns
    -------
    list of dict
        ``query``, ``state`` (``constant``: hits by a constant body; ``gzip`` and ``any``: misses in a coding by plain ones), and
        ``pairs`` of ratios.
    """
    found: dict[tuple[str, str], list[float]] = {}
    for number in range(pairs):
        with ours.running() as up, constant.running() as floor:
            up.settle(90.0, 1.0)
            for query in plan.queries:
                plan.tell(f"hits and codings by turns, {number + 1} of {pairs}, {query}")
                with contextlib.ExitStack() as opened:
                    missing = _missing(ours, up, plan, query)
                    plain = up, _turn(up, missing, opened)
                    for state, coding in CODINGS.items():
                        coded = up, _turn(up, missing, opened, coding)
                        found.setdefault((query, state), []).append(rate_beside(coded, plain, _SECONDS))
                    hit = up, _turn(up, _hitting(ours, up, plan, query), opened)
                    same = floor, _turn(floor, itertools.repeat(Request(f"/{query}")), opened)
                    found.setdefault((query, "constant"), []).append(rate_beside(hit, same, _SECONDS))
    return [{"query": query, "state": state, "pairs": ratios} for (query, state), ratios in found.items()]


def _by_turns(asks: Sequence[tuple[Running, Iterator[Request]]]) -> dict[str, float]:
    with contextlib.ExitStack() as opened:
        return compare([(up, _turn(up, some, opened)) for up, some in asks], _SECONDS)


def _missing(server: Ours, up: Running, plan: Plan, query: str) -> Iterator[Request]:
    asks = map(server.request, plan.workload.distinct(query, "by turns"))
    warm_up(server, up, plan, asks)
    return asks


def _hitting(server: Ours, up: Running, plan: Plan, query: str) -> Iterator[Request]:
    return itertools.cycle(ask_again(server, up, plan, query))


def _turn(up: Running, asks: Iterator[Request], opened: contextlib.ExitStack, coding: str = "") -> Turn:
    headers = {**up.headers, "accept-encoding": coding} if coding else up.headers
    connection = opened.enter_context(contextlib.closing(Connection(up.port, headers)))
    return lambda: connection.ask(next(asks))[1]
