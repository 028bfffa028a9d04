"""Cache metrics of a node over a bucket match the disk and the store."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from pipeline.snapshot_builder import build_seal
from tests.programs.test_telemetry import Port
from tests.s3.node import node
from tests.support.bucket import Bucket
from tests.support.ports import free_port
from tests.support.s3_requests import counted_requests
from tests.support.waiting import eventually

SCORES = "alphas/Test_small/scores?limit=500"
POSITIONS = "alphas/Test_small/positions?book=long_only"


def copies(cache: Path) -> dict[str, int]:
    """Return the size of every copy, by its path in the snapshot."""
    return {
        path.relative_to(folder).as_posix(): path.stat().st_size
        for folder in cache.glob("*/alphas/*/*")
        for path in folder.rglob("*")
        if path.is_file()
    }


def on_disk(cache: Path) -> int:
    """Return the bytes cached for a root, including the saved catalogue."""
    return sum(
        path.stat().st_size for path in cache.glob("*/**/*") if path.is_file() and ".locks" not in path.parts
    )


def test_reads_copies_and_evictions_are_counted(
    bucket: Bucket, small_seal: Callable[..., Path], tmp_path: Path
) -> None:
    root, cache = bucket.url("root"), tmp_path / "cache"
    build_seal(str(small_seal()), root)

    number = free_port()
    port = Port(number)
    # Polls of the catalogue are not counted, and every answer is read from the copies.
    unpolled = {"metrics-port": str(number), "refresh-seconds": "3600", "rows-bytes": "0"}
    with node(tmp_path, root, **unpolled) as api:
        assert port.value("cache_reads_total", result="hit") == 0
        assert port.value("cache_limit_bytes") == 20_000_000_000
        with counted_requests(bucket.server) as requests:
            scores, positions = api.body(SCORES), api.body(POSITIONS)
            cached = copies(cache)
            eventually(lambda: port.value("cache_used_bytes") == sum(cached.values()))
        assert {"manifest.json", "decisions/part-0.parquet"} < cached.keys()
        assert copies(cache) == cached
        assert port.value("cache_reads_total", result="miss") == len(cached) == requests["GET"]
        assert port.value("cache_fetched_bytes_total") == sum(cached.values())
        assert port.value("cache_evictions_total") == 0

    # Restarted with too little space for all: the least recently used copies are evicted, and only these are fetched again.
    now = time.time()
    for path in cache.rglob("*"):
        if path.is_file():
            age = 7200 if "decisions" in path.parts else 3600
            os.utime(path, (now - age, now - age))
    before = on_disk(cache)
    settings = {**unpolled, "cache-bytes": str(before - 1)}
    with node(tmp_path, root, **settings) as api:
        gone = {path: size for path, size in cached.items() if path not in copies(cache)}
        assert list(gone) == ["decisions/part-0.parquet"]
        assert port.value("cache_evictions_total") == 1
        assert port.value("cache_evicted_bytes_total") == sum(gone.values())
        assert port.value("cache_used_bytes") == before - sum(gone.values()) == on_disk(cache)
        assert port.value("cache_limit_bytes") == before - 1
        with counted_requests(bucket.server) as requests:
            assert (api.body(POSITIONS), api.body(SCORES)) == (positions, scores)
            eventually(lambda: port.value("cache_reads_total", result="miss") > 0)
        assert port.value("cache_reads_total", result="miss") == 1 == requests["GET"]
        assert port.value("cache_reads_total", result="hit") >= len(cached) - 1
        assert port.value("cache_fetched_bytes_total") == sum(gone.values())
