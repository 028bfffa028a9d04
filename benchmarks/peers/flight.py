"""Peer for table downloads: Arrow Flight over the same Parquet file, held in memory.

It checks no key and counts no call, which is in its favour.
"""

from __future__ import annotations

import sys
from typing import Any

import pyarrow.flight as fl
import pyarrow.parquet as pq


class TableServer(fl.FlightServerBase):  # type: ignore[misc]  # pyarrow ships no types
    """Answers every ticket with one table."""

    def __init__(self, path: str, columns: list[str], port: int) -> None:
        super().__init__(f"grpc://127.0.0.1:{port}")
        self._table = pq.read_table(path, columns=columns)

    def do_get(self, _: Any, __: Any) -> Any:
        """Send the table."""
        return fl.RecordBatchStream(self._table)


if __name__ == "__main__":
    file, chosen, at = sys.argv[1:]
    with TableServer(file, chosen.split(","), int(at)) as server:
        print("ready", flush=True)
        server.serve()
