"""What a catalogue of many alphas costs: start-up, polls, and searching the list over HTTP.

    PYTHONPATH=. uv run python benchmarks/catalogue.py [--alphas 10000]

The pointers are synthetic; nothing but the catalogue looks at them. Beside each figure stands its aim.
"""

from __future__ import annotations

import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import click
import httpx

from datasets.catalogue import Catalogue
from datasets.layout import pointer_path
from datasets.manifest import Pointer
from datasets.storage import Storage

REPOSITORY = Path(__file__).resolve().parents[1]
_WORDS = ("momentum", "reversal", "quality", "value", "carry", "seasonality", "drift", "breadth")


def _pointer(number: int) -> Pointer:
    word = _WORDS[number % len(_WORDS)]
    return Pointer(
        alpha_id=f"Test_{word}_{number:05d}",
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
        replaced={f"{number + 1:020x}": "2026-01-31T00:00:00Z"},
    )


def _timed(work: object, rounds: int = 9) -> list[float]:
    assert callable(work)
    found = []
    for _ in range(rounds):
        begin = time.perf_counter()
        work()
        found.append((time.perf_counter() - begin) * 1e3)
    return found


def _show(what: str, milliseconds: list[float], aim: float | None = None) -> None:
    middle = statistics.median(milliseconds)
    beside = "" if aim is None else f"   aim {aim:.0f} ms, ratio {middle / aim:.2f}"
    print(f"{what:<42} median {middle:8.1f} ms   best {min(milliseconds):8.1f} ms{beside}")


def _command(*arguments: str) -> dict[str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "serve", *arguments, "--json"], cwd=REPOSITORY, capture_output=True, check=True
    )
    found: dict[str, str] = json.loads(done.stdout)
    return found


@contextlib.contextmanager
def _serving(root: Path) -> Iterator[tuple[str, float]]:
    """Run the service; give its address and the seconds from its start to its first healthy answer."""
    address = "http://127.0.0.1:8377/v1"
    begin = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "serve", "run", "--datasets", str(root), "--port", "8377"],
        cwd=REPOSITORY,
        env={**os.environ, "ALPHA_RESULTS_LOG_LEVEL": "error"},
    )
    try:
        while True:
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"{address}/health", timeout=5).close()
                break
            if process.poll() is not None:
                raise SystemExit("the service ended by itself")
            time.sleep(0.02)
        yield address, time.perf_counter() - begin
    finally:
        process.terminate()
        process.wait()


@click.command()
@click.option("--alphas", default=10_000, show_default=True, help="How many pointers.")
def main(alphas: int) -> None:
    """Measure a catalogue of many alphas on this machine's disk."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name) / "root"
        storage = Storage(root)
        (root / "catalog").mkdir(parents=True)
        for number in range(alphas):
            pointer = _pointer(number)
            (root / pointer_path(pointer.alpha_id)).write_bytes(pointer.encode())
        _show("first look", _timed(lambda: Catalogue(storage).refresh(), 3))
        catalogue = Catalogue(storage)
        catalogue.refresh()
        _show("a poll that finds nothing", _timed(catalogue.refresh), 100)

        def change() -> None:
            changed = replace(_pointer(7), name=f"Renamed at {time.monotonic_ns()}")
            storage.write(pointer_path(changed.alpha_id), changed.encode())
            assert catalogue.refresh()

        _show("a change and the poll that finds it", _timed(change))
        where = ("--datasets", str(root))
        _command("accounts", "create", "--email", "b@example.org", *where)
        grants = (
            "--endpoints",
            "all",
            "--alphas",
            "all",
            "--runs",
            "all",
            "--rate",
            "per_second=9999,per_minute=99999",
        )
        key = _command("keys", "issue", "--account", "b@example.org", "--name", "b", *grants, *where)["token"]
        (Path(name) / "empty").mkdir()
        with _serving(Path(name) / "empty") as (_, started):
            _show("start-up without any alpha (the floor)", [started * 1e3])
        with _serving(root) as (address, started):
            _show("start-up, to the first healthy answer", [started * 1e3], 3000)
            with httpx.Client(headers={"authorization": f"Bearer {key}"}) as client:
                _show("GET /v1/me (the floor of any call)", _timed(lambda: client.get(f"{address}/me"), 60))
                for search in ("search=number 77", "search=nothing like it", "limit=100"):
                    ask = f"{address}/alphas?{search}"
                    assert client.get(ask).status_code == 200
                    _show(f"GET /v1/alphas?{search}", _timed(lambda a=ask: client.get(a), 60), 5)


if __name__ == "__main__":
    main()
