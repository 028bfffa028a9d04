"""Cost of a catalogue of many alphas: startup, polls, and searches of the list over HTTP.

    uv run just bench-catalogue [--alphas 10000] [--s3]

The pointers are synthetic: their snapshots do not exist. One JSON document is printed.
``--s3`` measures polls of a bucket on a real S3 server instead (``radosgw`` must be installed), without and with the index, and
publications; the server counts the requests. Writing 10,000 pointers there, and reading each of them in a first listing without
the index, takes about a minute each on two cores.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks.load import Connection, Request, figures
from benchmarks.processes import machine, memory_kb
from benchmarks.servers import Ours
from datasets.catalogue.live import Catalogue
from datasets.catalogue.pointer_index import rebuild
from datasets.layout import pointer_path
from datasets.pointer import Pointer
from datasets.publication.pointers import compare_and_swap
from datasets.storage import Storage, open_storage
from tests.support.pointers import WORDS, synthetic_pointer

_WRITERS = 16
"""Parallel writes of pointers; more are no faster on two cores."""


def timed(
    work: Callable[[], object],
    rounds: int = 9,
    before: Callable[[], object] = lambda: None,
    around: Callable[[], contextlib.AbstractContextManager[object]] = contextlib.nullcontext,
) -> dict[str, Any]:
    """Time a function; return median, best and 99th percentile in milliseconds.

    Parameters
    ----------
    before, around
        What each round does first, and the context in which the function runs; neither counts.
    """
    times, cpu_times = [], []
    for _ in range(rounds):
        before()
        with around():
            begin, cpu = time.perf_counter(), time.process_time()
            work()
            times.append((time.perf_counter() - begin) * 1e3)
            cpu_times.append((time.process_time() - cpu) * 1e3)
    # On a busy machine, wall time includes other processes' work; the processor time of this process does not.
    return {**figures(times), "p50_cpu_ms_here": round(statistics.median(cpu_times), 2)}


def polls(storage: Storage) -> dict[str, Any]:
    """Measure the first listing, an idle poll, and a poll after one change."""

    def change() -> None:
        changed = replace(synthetic_pointer(7), name=f"Renamed at {time.monotonic_ns()}")
        storage.put(pointer_path(changed.alpha_id), changed.encode())
        assert catalogue.refresh()

    first = timed(lambda: Catalogue(storage).refresh(), 3)
    catalogue = Catalogue(storage)
    catalogue.refresh()
    idle = timed(catalogue.refresh)
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
            for _ in pool.map(lambda number: put(synthetic_pointer(number)), range(alphas)):
                progress.advance(writing)
        written = time.perf_counter() - begin
        results: dict[str, Any] = {
            "pointers_written": {"seconds": round(written, 1), "per_second": round(alphas / written)}
        }
        storage = open_storage("s3://catalogue/root")

        def publish(pointer: Pointer) -> None:
            compare_and_swap(storage, pointer.alpha_id, lambda _: pointer)

        def measured(
            work: Callable[[], object], rounds: int = 9, before: Callable[[], object] = lambda: None
        ) -> dict[str, Any]:
            counts: list[dict[str, int]] = []

            @contextlib.contextmanager
            def counting() -> Iterator[None]:
                with counted_requests(server) as requests:
                    yield
                counts.append(dict(requests))

            return timed(work, rounds, before, counting) | {"requests": counts[-1]}

        def renamed() -> Pointer:
            return replace(synthetic_pointer(7), name=f"Renamed at {time.monotonic_ns()}")

        def polled(before: Callable[[Pointer], None], list_seconds: float) -> dict[str, Any]:
            catalogue = Catalogue(storage, list_seconds)
            first = measured(catalogue.refresh, 1)
            assert len(catalogue.listing.pointers) == alphas
            idle = measured(catalogue.refresh)
            changed = measured(catalogue.refresh, before=lambda: before(renamed()))
            return {"first_listing": first, "idle_poll": idle, "poll_after_a_change": changed}

        results["without_index"] = polled(put, 0)
        results["index_written"] = measured(lambda: rebuild(storage), 1)
        results["with_index"] = polled(publish, 86_400)
        place = pointer_path(synthetic_pointer(7).alpha_id)
        bare = measured(lambda: storage.put_if(place, renamed().encode(), storage.read_version(place).tag))
        results["pointer_moved"] = {
            "without_index": bare,
            "with_index": measured(lambda: publish(renamed())),
        }
        return results


def _progress() -> Progress:
    """Return progress bars on standard error, shown only on a terminal."""
    screen = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=screen, disable=not screen.is_terminal)


def served(root: Path, empty: Path, alphas: int) -> dict[str, Any]:
    """Measure startup and searches over HTTP."""
    results: dict[str, Any] = {}
    with Ours(empty).running() as up:
        results["start_up_without_any_alpha"] = figures([up.start_seconds * 1e3]) | {"cpu_seconds": up.cpu()}
    ours, starts = Ours(root), []
    for _ in range(3):
        with ours.running() as up:
            starts.append(up.start_seconds * 1e3)
            cpu = up.cpu()
    results["start_up"] = figures(starts) | {"cpu_seconds": cpu}
    with ours.running() as up, contextlib.closing(Connection(up.port, up.headers)) as connection:

        def send(path: str) -> None:
            connection.send(Request(path))

        results["GET /v1/me"] = timed(lambda: send("/v1/me"), 200)
        # Every search has a different text, so that no answer is cached.
        searches = itertools.count()
        for name, text in (
            ("one", lambda n: f"number {n % alphas}"),
            ("many", lambda n: f"{WORDS[n % len(WORDS)][: 3 + n % 3]}"),
            ("none", lambda n: f"no such alpha {n}"),
        ):

            def search(text: Callable[[int], str] = text) -> None:
                send(f"/v1/alphas?search={quote(text(next(searches)))}")

            results[f"GET /v1/alphas?search= ({name})"] = timed(search, 200)
        results["GET /v1/alphas"] = timed(lambda: send("/v1/alphas"), 200)
        results["resident_mib"] = round(memory_kb(up.pid, "status", "VmRSS:") / 1024, 1)
    return results


def on_a_folder(alphas: int) -> dict[str, Any]:
    """Measure polls of a folder, and a service over it."""
    with tempfile.TemporaryDirectory() as name:
        root, empty = Path(name) / "root", Path(name) / "empty"
        (root / "catalog").mkdir(parents=True)
        empty.mkdir()
        for number in range(alphas):
            pointer = synthetic_pointer(number)
            (root / pointer_path(pointer.alpha_id)).write_bytes(pointer.encode())
        return {"folder": polls(open_storage(root)), "served": served(root, empty, alphas)}


@click.command()
@click.option("--alphas", default=10_000, show_default=True, help="Number of pointers.")
@click.option("--s3", is_flag=True, help="Measure only polls of a bucket on a real S3 server.")
def main(*, alphas: int, s3: bool) -> None:
    """Measure a catalogue of many alphas on this machine and print figures as JSON."""
    results: dict[str, Any] = {"alphas": alphas, **machine()}
    if s3:
        results["bucket"] = on_a_bucket(alphas)
    else:
        results |= on_a_folder(alphas)
    print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
