"""One measurement of `table_downloads.py`: reads a table into a Polars frame, in this process.

Imports are not timed; the connection is. Prints wall-clock and processor seconds, rows, columns, and a digest of the values that
does not depend on the order of columns.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable

import httpcore  # noqa: F401 - httpx loads it with the first client
import httpx  # noqa: F401 - loaded before the clock starts
import polars as pl
import pyarrow.flight as fl
from alpha_results_client import Client


def by_link(port: int, key: str, alpha: str) -> pl.DataFrame:
    """Read one file by a signed link, with our client."""
    return _ours(port, key, alpha, links=True)


def by_pages(port: int, key: str, alpha: str) -> pl.DataFrame:
    """Read every page, with our client."""
    return _ours(port, key, alpha, links=False)


def by_flight(port: int, _: str, __: str) -> pl.DataFrame:
    """Read from the Arrow Flight server."""
    with fl.connect(f"grpc://127.0.0.1:{port}") as client:
        return pl.DataFrame(client.do_get(fl.Ticket(b"")).read_all())


def _ours(port: int, key: str, alpha: str, *, links: bool) -> pl.DataFrame:
    with Client(f"http://127.0.0.1:{port}", key, links=links) as client:
        return client[alpha].scores(fields="all")


READERS: dict[str, Callable[[int, str, str], pl.DataFrame]] = {
    "client, by link": by_link,
    "client, by pages": by_pages,
    "Arrow Flight": by_flight,
}

if __name__ == "__main__":
    reader, address, name = sys.argv[1:]
    token = sys.stdin.read()
    pl.DataFrame({"a": [1]}).select(pl.col("a") + 1)  # start Polars' threads
    cpu_begun, begun = time.process_time(), time.perf_counter()
    frame = READERS[reader](int(address), token, name)
    times = time.perf_counter() - begun, time.process_time() - cpu_begun
    columns = sorted(frame.columns)
    digest = int(frame.select(columns).hash_rows(seed=1).sum())
    print(
        json.dumps(
            {
                "wall_s": times[0],
                "cpu_s": times[1],
                "rows": frame.height,
                "columns": columns,
                "digest": digest,
            }
        )
    )
