"""The speed of an earlier checkout beside this one: both servers run, and are asked by turns."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Sequence
from typing import Any, Final

from benchmarks.load import Connection, Request
from benchmarks.measure import Plan, ask_again, warm_up
from benchmarks.servers import Ours, Running
from benchmarks.turns import Turn, compare

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


def _by_turns(asks: Sequence[tuple[Running, Iterator[Request]]]) -> dict[str, float]:
    with contextlib.ExitStack() as opened:
        return compare([(up, _turn(up, some, opened)) for up, some in asks], _SECONDS)


def _missing(server: Ours, up: Running, plan: Plan, query: str) -> Iterator[Request]:
    asks = map(server.request, plan.workload.distinct(query, "by turns"))
    warm_up(server, up, plan, asks)
    return asks


def _hitting(server: Ours, up: Running, plan: Plan, query: str) -> Iterator[Request]:
    return itertools.cycle(ask_again(server, up, plan, query))


def _turn(up: Running, asks: Iterator[Request], opened: contextlib.ExitStack) -> Turn:
    connection = opened.enter_context(contextlib.closing(Connection(up.port, up.headers)))
    return lambda: connection.ask(next(asks))[1]
