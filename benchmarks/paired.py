"""The speed of an earlier checkout beside this one: both servers run, and are driven by turns."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from benchmarks.measure import Plan, ask_again, drive_again, drive_missing, warm_up
from benchmarks.servers import Ours, Running
from benchmarks.turns import Turn, compare

TURNS: Final = 7
"""Of each server, for a query in a state."""
CONNECTIONS: Final = 16


def measure(ours: Ours, earlier: Ours, plan: Plan, turns: int) -> list[dict[str, Any]]:
    """Return for each query and state the ratios of the turns, ours divided by the earlier one's.

    Returns
    -------
    list of dict
        ``query``, ``state`` (``miss`` or ``hit``), ``rates`` of answers a second, and ``processor`` time an answer.
    """
    found: list[dict[str, Any]] = []
    with ours.running() as now, earlier.running() as then:
        for up in (now, then):
            up.settle(90.0, 1.0)
        for query in plan.queries:
            plan.tell(f"{ours.name} and {earlier.name} by turns, {query}")
            for state, make in (("miss", _missing), ("hit", _hitting)):
                pair = [(up, make(server, up, plan, query)) for server, up in ((ours, now), (earlier, then))]
                found.append({"query": query, "state": state, **compare(pair, turns)})
    return found


def _missing(server: Ours, up: Running, plan: Plan, query: str) -> Turn:
    asks = map(server.request, plan.workload.distinct(query, "by turns"))
    rate = warm_up(server, up, plan, asks)
    return partial(drive_missing, up, asks, rate, CONNECTIONS, plan.seconds)


def _hitting(server: Ours, up: Running, plan: Plan, query: str) -> Turn:
    return partial(drive_again, up, ask_again(server, up, plan, query), plan, CONNECTIONS)
