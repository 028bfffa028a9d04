"""Cost of a catalogue of many alphas: start-up, polls, and searches of the list over HTTP.

    uv run just bench-catalogue [--alphas 10000] [--s3]

The pointers are synthetic: their snapshots do not exist. One JSON document is printed, with aims beside the figures that have one.
``--s3`` measures polls of a bucket on a real S3 server instead (``radosgw`` must be installed), without and with the index, and
publications; the server counts the requests. Writing 10,000 pointers there, and reading each of them in a first listing without
the index, takes about a minute each on two cores.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import httpx
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks.processes import cpu_seconds, memory_kb
from datasets.catalogue.live import Catalogue
from datasets.catalogue.pointer_index import rebuild
from datasets.layout import pointer_path
from datasets.pointer import Earlier, Pointer
from datasets.publication.pointers import compare_and_swap
from datasets.storage import Storage, open_storage

REPOSITORY = Path(__file__).resolve().parents[1]
_WRITERS = 16
"""Parallel writes of pointers; more are no faster on two cores."""
_START_SECONDS = 120.0
"""Maximum time until the first answer of the service."""
_WORDS = ("momentum", "reversal", "quality", "value", "carry", "seasonality", "drift", "breadth")
_GRANTS = ("--endpoints", "all", "--alphas", "all", "--runs", "all", "--rate", "per_second=100000,per_minute=1000000,per_day=10000000,monthly=null")  # fmt: skip


def make_pointer(number: int) -> Pointer:
    """Return a synthetic pointer of typical length."""
    word = _WORDS[number % len(_WORDS)]
    return Pointer(
        alpha_id=f"Test_{word}_{number:06d}",
        snapshot=f"{number:020x}",
        manifest_sha256="0" * 64,
        name=f"{word.title()} number {number}",
        tldr=f"A synthetic alpha on {word} with enough of a summary to be as long as most of them are.",
        complete=True,
        missing=(),
        started_at=f"2026-01-{number % 28 + 1:02d}T00:00:00Z",
        sealed_at=f"2026-01-{number % 28 + 1:02d}T01:00:00Z",
        published_at="2026-02-01T00:00:00Z",
        kinds=("description", "rebalances", "decisions"),
        first_published_at="2026-02-01T00:00:00Z",
        earlier={f"{number + 1:020x}": Earlier("2026-01-30T00:00:00Z", "2026-01-31T00:00:00Z", "0" * 64)},
    )


def timed(work: Callable[[], object], rounds: int = 9, aim: float | None = None) -> dict[str, Any]:
    """Time a function; return median, best and 99th percentile in milliseconds, with the aim."""
    times, cpu_times = [], []
    for _ in range(rounds):
        begin, cpu = time.perf_counter(), time.process_time()
        work()
        times.append((time.perf_counter() - begin) * 1e3)
        cpu_times.append((time.process_time() - cpu) * 1e3)
    # On a busy machine, wall time includes other processes' work; the processor time of this process does not.
    return {**figures(times, aim), "p50_cpu_ms_here": round(statistics.median(cpu_times), 2)}


def figures(milliseconds: list[float], aim: float | None = None) -> dict[str, Any]:
    """Summarise times in milliseconds, with the aim."""
    ordered = sorted(milliseconds)
    summary: dict[str, Any] = {
        "p50_ms": round(statistics.median(ordered), 2),
        "best_ms": round(ordered[0], 2),
        "p99_ms": round(ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))], 2),
        "rounds": len(ordered),
    }
    return summary if aim is None else {**summary, "aim_ms": aim, "met": summary["p50_ms"] < aim}


def polls(storage: Storage) -> dict[str, Any]:
    """Measure the first listing, an idle poll, and a poll after one change."""

    def change() -> None:
        changed = replace(make_pointer(7), name=f"Renamed at {time.monotonic_ns()}")
        storage.put(pointer_path(changed.alpha_id), changed.encode())
        assert catalogue.refresh()

    first = timed(lambda: Catalogue(storage).refresh(), 3)
    catalogue = Catalogue(storage)
    catalogue.refresh()
    idle = timed(catalogue.refresh, aim=100)
    return {"first_listing": first, "idle_poll": idle, "a_change_and_its_poll": timed(change)}


def on_a_bucket(alphas: int) -> dict[str, Any]:
    """Measure polls of a real S3 server, which counts their requests."""
    import botocore.session  # noqa: PLC0415 - only with --s3
    from botocore.config import Config  # noqa: PLC0415

    from tests.support.s3 import S3Server  # noqa: PLC0415
    from tests.support.s3_requests import counted_requests  # noqa: PLC0415

    with S3Server() as server, _progress() as progress:
        os.environ.update(server.environment)
        client = botocore.session.get_session().create_client(
            "s3", config=Config(s3={"addressing_style": "path"}, max_pool_connections=_WRITERS)
        )
        client.create_bucket(Bucket="catalogue")

        def put(pointer: Pointer) -> None:
            key = f"root/{pointer_path(pointer.alpha_id)}"
            client.put_object(Bucket="catalogue", Key=key, Body=pointer.encode())

        writing = progress.add_task("pointers written", total=alphas)
        begin = time.perf_counter()
        with ThreadPoolExecutor(_WRITERS) as pool:
            for _ in pool.map(lambda number: put(make_pointer(number)), range(alphas)):
                progress.advance(writing)
        written = time.perf_counter() - begin
        results: dict[str, Any] = {
            "pointers_written": {"seconds": round(written, 1), "per_second": round(alphas / written)}
        }
        storage = open_storage("s3://catalogue/root")

        def publish(pointer: Pointer) -> None:
            compare_and_swap(storage, pointer.alpha_id, lambda _: pointer)

        def measured(
            work: Callable[[], object], rounds: int, before: Callable[[int], None] | None
        ) -> dict[str, Any]:
            times, cpu_times, counts = [], [], []
            for number in range(rounds):
                if before is not None:
                    before(number)
                with counted_requests(server) as requests:
                    begin, cpu = time.perf_counter(), time.process_time()
                    work()
                    times.append((time.perf_counter() - begin) * 1e3)
                    cpu_times.append((time.process_time() - cpu) * 1e3)
                counts.append(requests)
            cost = {"p50_cpu_ms_here": round(statistics.median(cpu_times), 2), "requests": dict(counts[-1])}
            return figures(times) | cost

        def renamed(number: int) -> Pointer:
            return replace(make_pointer(7), name=f"Renamed at {time.monotonic_ns()} for the {number}th time")

        def polled(before: Callable[[Pointer], None], list_seconds: float) -> dict[str, Any]:
            catalogue = Catalogue(storage, list_seconds)
            first = measured(catalogue.refresh, 1, None)
            assert len(catalogue.listing.pointers) == alphas
            idle = measured(catalogue.refresh, 9, None)
            changed = measured(catalogue.refresh, 9, lambda number: before(renamed(number)))
            return {"first_listing": first, "idle_poll": idle, "poll_after_a_change": changed}

        results["without_index"] = polled(put, 0)
        results["index_written"] = measured(lambda: rebuild(storage), 1, None)
        results["with_index"] = polled(publish, 86_400)
        bare = measured(
            lambda: storage.put_if(
                pointer_path(make_pointer(7).alpha_id),
                renamed(0).encode(),
                storage.read_version(pointer_path(make_pointer(7).alpha_id)).tag,
            ),
            9,
            None,
        )
        results["pointer_moved"] = {
            "without_index": bare,
            "with_index": measured(lambda: publish(renamed(0)), 9, None),
        }
        return results


def _progress() -> Progress:
    """Return progress bars on standard error, shown only on a terminal."""
    screen = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=screen, disable=not screen.is_terminal)


def _command(*arguments: str) -> dict[str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "serve", *arguments, "--json"], cwd=REPOSITORY, capture_output=True, check=True
    )
    issued: dict[str, str] = json.loads(done.stdout)
    return issued


@contextlib.contextmanager
def serving(root: Path) -> Iterator[tuple[str, float, int]]:
    """Run the service; yield its address, the seconds from its start to its first health answer, and its process id."""
    begin = time.perf_counter()
    log = root.parent / "serve.log"
    with log.open("wb") as stream:
        process = subprocess.Popen(
            [sys.executable, "-m", "serve", "run", "--datasets", str(root), "--port", "0"],
            cwd=REPOSITORY,
            env={**os.environ, "ALPHA_RESULTS_LOG_LEVEL": "info"},
            stdout=stream,
            stderr=stream,
        )
    try:
        while True:
            address = re.search(r"http://127\.0\.0\.1:[1-9]\d*", log.read_text())
            if address is not None:
                with contextlib.suppress(httpx.TransportError):
                    # "degraded" counts too: synthetic pointers have no snapshots.
                    if httpx.get(f"{address[0]}/v1/health").status_code == 200:
                        break
            if process.poll() is not None:
                raise SystemExit(f"the service exited: {log.read_text()}")
            if time.perf_counter() - begin > _START_SECONDS:
                raise SystemExit(f"the service does not answer: {log.read_text()}")
            time.sleep(0.01)
        yield f"{address[0]}/v1", time.perf_counter() - begin, process.pid
    finally:
        process.terminate()
        process.wait()


def served(root: Path, empty: Path, alphas: int) -> dict[str, Any]:
    """Measure start-up and searches over HTTP."""
    where = ("--datasets", str(root))
    _command("accounts", "create", "--email", "b@example.org", "--ceiling-endpoints", "all", *where)
    key = _command("keys", "issue", "--account", "b@example.org", "--name", "b", *_GRANTS, *where)["token"]
    results: dict[str, Any] = {}
    with serving(empty) as (_, started, pid):
        results["start_up_without_any_alpha"] = figures([started * 1e3]) | {"cpu_seconds": cpu_seconds(pid)}
    starts = []
    for _ in range(3):
        with serving(root) as (_, started, pid):
            starts.append(started * 1e3)
            cpu = cpu_seconds(pid)
    results["start_up"] = figures(starts, 1500) | {"cpu_seconds": cpu}
    with (
        serving(root) as (address, _, pid),
        httpx.Client(headers={"authorization": f"Bearer {key}"}) as client,
    ):
        results["GET /v1/me"] = timed(lambda: client.get(f"{address}/me"), 200)
        # Every search has a different text, so that no answer is cached.
        searches = iter(range(10**9))
        for name, text in (
            ("one", lambda n: f"number {n % alphas}"),
            ("many", lambda n: f"{_WORDS[n % len(_WORDS)][: 3 + n % 3]}"),
            ("none", lambda n: f"no such alpha {n}"),
        ):

            def search(text: Callable[[int], str] = text) -> None:
                assert (
                    client.get(f"{address}/alphas", params={"search": text(next(searches))}).status_code
                    == 200
                )

            results[f"GET /v1/alphas?search= ({name})"] = timed(search, 200, aim=5)
        results["GET /v1/alphas"] = timed(lambda: client.get(f"{address}/alphas"), 200)
        results["resident_mib"] = round(memory_kb(pid, "status", "VmRSS:") / 1024, 1)
    return results


def on_a_folder(alphas: int) -> dict[str, Any]:
    """Measure polls of a folder, and a service over it."""
    with tempfile.TemporaryDirectory() as name:
        root, empty = Path(name) / "root", Path(name) / "empty"
        (root / "catalog").mkdir(parents=True)
        empty.mkdir()
        for number in range(alphas):
            pointer = make_pointer(number)
            (root / pointer_path(pointer.alpha_id)).write_bytes(pointer.encode())
        return {"folder": polls(open_storage(root)), "served": served(root, empty, alphas)}


@click.command()
@click.option("--alphas", default=10_000, show_default=True, help="Number of pointers.")
@click.option("--s3", is_flag=True, help="Measure only polls of a bucket on a real S3 server.")
def main(*, alphas: int, s3: bool) -> None:
    """Measure a catalogue of many alphas on this machine and print figures as JSON."""
    results: dict[str, Any] = {
        "alphas": alphas,
        "cores": len(os.sched_getaffinity(0)),
        "load_before": [round(load, 2) for load in os.getloadavg()],
    }
    if s3:
        results["bucket"] = on_a_bucket(alphas)
    else:
        results |= on_a_folder(alphas)
    print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
