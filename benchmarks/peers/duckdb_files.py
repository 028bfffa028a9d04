"""Peer: FastAPI with DuckDB, which reads the Parquet files at each request."""

from __future__ import annotations

import datetime as dt
import threading
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from benchmarks.columns import CORE, curve_sql
from benchmarks.peers.frames import body, curve_body
from benchmarks.peers.routes import application, serve

_CURVE = curve_sql("read_parquet(?)", "book = ? and date >= ?") + "select * from d order by date"


class Files:
    """One connection, a cursor for each thread; pages leave DuckDB as Arrow and become JSON in Polars."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._connection = duckdb.connect()
        self._connection.execute("set threads = 1")
        self._cursors = threading.local()
        file = data / "decisions"
        names = self._frame("describe from read_parquet(?)", [str(next(file.glob("*.parquet")))])[
            "column_name"
        ]
        self._columns = ", ".join(f'"{name}"' for name in names if name != "date")

    def week(self, alpha: str, day: dt.date, limit: int, offset: int) -> bytes:
        """One week by falling score."""
        return self._page(
            f"select {self._columns} from read_parquet(?) where date = ? order by score desc, symbol",
            [self._file("decisions", alpha), day],
            limit,
            offset,
        )

    def panel(
        self, alpha: str, first: dt.date, last: dt.date, symbols: list[str] | None, limit: int, offset: int
    ) -> bytes:
        """Core columns by day and symbol."""
        narrowed, binds = "", [self._file("decisions", alpha), first, last]
        if symbols is not None:
            narrowed = f" and symbol in ({', '.join('?' * len(symbols))})"
            binds += symbols
        return self._page(
            f"select {', '.join(CORE)} from read_parquet(?) where date between ? and ?{narrowed} order by date, symbol",
            binds,
            limit,
            offset,
        )

    def ledger(self, alpha: str, book: str, first: dt.date, limit: int, offset: int) -> bytes:
        """Sessions of one book."""
        return self._page(
            "select * from read_parquet(?) where book = ? and date >= ? order by date",
            [self._file("ledger", alpha), book, first],
            limit,
            offset,
        )

    def curve(self, alpha: str, book: str, first: dt.date, limit: int, offset: int) -> bytes:
        """Equity curve of the window, and its summary."""
        rows = self._frame(_CURVE, [self._file("ledger", alpha), book, first])
        return curve_body(rows, book, limit, offset)

    def alphas(self, search: str, limit: int, offset: int) -> bytes:
        """Alphas with the text in their id, name or thesis."""
        return self._page(
            "select alpha_id, name, tldr from read_parquet(?) "
            "where contains(lower(alpha_id), ?) or contains(lower(name), ?) or contains(lower(tldr), ?) order by place",
            [str(self._data / "catalogue.parquet"), *[search.lower()] * 3],
            limit,
            offset,
        )

    def _file(self, table: str, alpha: str) -> str:
        return str(self._data / table / f"{alpha}.parquet")

    def _page(self, statement: str, binds: list[Any], limit: int, offset: int) -> bytes:
        return body(self._frame(f"{statement} limit {limit} offset {offset}", binds))

    def _frame(self, statement: str, binds: list[Any]) -> Any:
        cursor = getattr(self._cursors, "own", None)
        if cursor is None:
            cursor = self._cursors.own = self._connection.cursor()
        return pl.from_arrow(cursor.execute(statement, binds).to_arrow_table())


if __name__ == "__main__":
    serve(lambda data: application(Files(data)))
