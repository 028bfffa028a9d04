"""Measure one server: every query cold, as cache miss and cache hit, and compressed."""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from benchmarks.load import Connection, Load, Request, TooFewRequests, drive
from benchmarks.servers import Constant, Ours, Running, Server
from benchmarks.workload import Call, Workload

CONNECTIONS: Final = (1, 16)
_REPEATED: Final = 64
"""Requests of the state `hit`, repeated in turn."""
_WARM_S: Final = 0.7
WARM_REQUESTS: Final = 60
"""Requests per alpha before our server is measured: its row tables are built then."""
_IDLE_STEPS: Final = 6
"""Quarters of a second that a server must be idle before it counts as warm."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Queries and durations of a comparison.

    Attributes
    ----------
    workload
        Source of the requests.
    queries
        Queries to measure.
    seconds
        Duration of each run of `wrk`.
    log
        Prints a line of progress.
    restarts
        Fresh processes of our server per round for the state `cold`.
    """

    workload: Workload
    queries: tuple[str, ...]
    seconds: float
    log: Callable[[str], None]
    restarts: int


def measure_server(server: Server, plan: Plan, round_: int) -> list[dict[str, Any]]:
    """Measure every state of every query that a server answers; return one entry for each.

    Cold requests come first: each alpha once per process, with queries rotating over the alphas. A peer that loads everything
    before it answers uses one process for all states.
    """
    queries = [query for query in plan.queries if query in server.queries]
    if not queries:
        return []
    first: dict[str, list[float]] = {query: [] for query in queries}
    entries: list[dict[str, Any]] = []
    if isinstance(server, Ours):
        for restart in range(plan.restarts):
            plan.log(f"round {round_ + 1}: {server.name}, cold")
            with server.running() as up:
                _measure_cold(server, up, plan, first, shift=restart + round_)
    with server.running() as up:
        if not isinstance(server, Ours | Constant):
            _measure_cold(server, up, plan, first, shift=round_)
        for query in queries:
            plan.log(f"round {round_ + 1}: {server.name}, {query}")
            entries += [
                {"query": query, **entry}
                for entry in _measure_warm(server, up, plan, query, f"round {round_}")
            ]
    entries += [
        {
            "query": query,
            "state": "cold",
            "connections": 1,
            "p50_ms": statistics.median(times),
            "all_ms": times,
        }
        for query, times in first.items()
        if times
    ]
    return [{"server": server.name, "round": round_, **entry} for entry in entries]


def _measure_cold(
    server: Server, up: Running, plan: Plan, first: dict[str, list[float]], *, shift: int
) -> None:
    """Request every alpha once, rotating through the queries."""
    queries = [query for query in first if query != "Q8"]
    connection = Connection(up.port, up.headers)
    for number in range(plan.workload.alphas):
        query = queries[(number + shift) % len(queries)]
        call = next(plan.workload.distinct(query, f"cold {shift}", [number]))
        # Waking an idle machine takes a millisecond, which must not count towards the answer.
        connection.send(server.probe())
        first[query].append(connection.send(server.request(call))[1])
        up.settle(2.0, 0.04)
    connection.close()


def _measure_warm(server: Server, up: Running, plan: Plan, query: str, seed: str) -> list[dict[str, Any]]:
    if isinstance(server, Constant):
        loads = {("constant", 16): _drive_repeated(up, [Request(f"/{query}")], plan, 16)}
    else:
        loads = {}
        requests = map(server.request, plan.workload.distinct(query, seed))
        # Peers hold their tables, so a few requests warm them.
        ours = isinstance(server, Ours)
        rate = warm_up(
            up, requests, plan.workload.alphas * WARM_REQUESTS if ours else 3, 60.0 if ours else 10.0
        )
        for connections in CONNECTIONS:
            # Long enough for several answers per connection on the slowest server.
            seconds = max(plan.seconds, min(6.0, 2 * connections / rate))
            loads["miss", connections] = drive_distinct(up, requests, rate, connections, seconds)
        wanting = replace(up, headers={**up.headers, "accept-encoding": "gzip"})
        if _compresses(wanting, next(requests)):
            loads["gzip", 16] = drive_distinct(wanting, requests, rate, 16, plan.seconds)
        if isinstance(server, Ours):
            repeated = cached_requests(server, up, plan, query)
            for connections in CONNECTIONS:
                loads["hit", connections] = _drive_repeated(up, repeated, plan, connections)
    return [
        {"state": state, "connections": connections, **asdict(load)}
        for (state, connections), load in loads.items()
    ]


def _compresses(up: Running, request: Request) -> bool:
    """Return whether a server compresses its answer."""
    connection = Connection(up.port, up.headers)
    connection.send(request)
    connection.close()
    return connection.coding is not None


def drive_distinct(
    up: Running, requests: Iterator[Request], rate: float, connections: int, seconds: float
) -> Load:
    """Drive with distinct requests; if the list is exhausted, start over with a longer one.

    Parameters
    ----------
    rate
        Requests per second of a single caller, from :func:`warm_up`.
    """
    enough = int(rate * seconds * (4 if connections == 1 else 16)) + 500
    while True:
        try:
            return drive(
                up.port,
                list(itertools.islice(requests, enough)),
                connections=connections,
                seconds=seconds,
                headers=up.headers,
            )
        except TooFewRequests:
            enough *= 4


def cached_requests(server: Server, up: Running, plan: Plan, query: str) -> list[Request]:
    """Return the requests of the state `hit`, after sending each twice so that its answer is cached."""
    calls = plan.workload.distinct(query, "hit")
    count = plan.workload.pages * plan.workload.alphas if query == "Q7" else _REPEATED
    requests = [server.request(call) for call in itertools.islice(calls, count)]
    connection = Connection(up.port, up.headers)
    for request in requests + requests:
        connection.send(request)
    connection.close()
    up.settle()
    return requests


def warm_up(up: Running, requests: Iterator[Request], least: int, most_s: float = 60.0) -> float:
    """Send requests until the server is warm; return the requests per second that the fastest last answer allows.

    Parameters
    ----------
    least, most_s
        Number of requests, and the seconds after which fewer have to do; on a slow machine 60 per alpha take half a minute.
    """
    connection = Connection(up.port, up.headers)
    begin = time.monotonic()
    times: list[float] = []
    while len(times) < least or time.monotonic() - begin < _WARM_S:
        times.append(connection.send(next(requests))[1])
        if time.monotonic() - begin > most_s:
            break
    connection.close()
    # A row table being written waits for the disk now and then, so a moment of idleness is not the end.
    up.settle(most_s=60.0, steps=_IDLE_STEPS)
    # The server may have closed the idle connection meanwhile.
    connection = Connection(up.port, up.headers)
    late = [connection.send(next(requests))[1] for _ in range(min(20, len(times)))]
    connection.close()
    return 1e3 / min(late)


def _drive_repeated(up: Running, requests: Sequence[Request], plan: Plan, connections: int) -> Load:
    """Drive with repeated requests."""
    return drive(
        up.port, requests, connections=connections, seconds=plan.seconds, headers=up.headers, cycle=True
    )


def bodies(ours: Ours, plan: Plan, folder: Path, calls: int = 2) -> dict[str, list[tuple[Call, bytes]]]:
    """Return some requests of each query with our answers; write one answer per query for the constant server."""
    folder.mkdir(parents=True, exist_ok=True)
    answers: dict[str, list[tuple[Call, bytes]]] = {}
    with ours.running() as up:
        connection = Connection(up.port, up.headers)
        for query in plan.queries:
            chosen = list(itertools.islice(plan.workload.distinct(query, "rows"), calls))
            answers[query] = [(call, connection.send(ours.request(call))[0]) for call in chosen]
            (folder / query).write_bytes(answers[query][0][1])
        connection.close()
    return answers
