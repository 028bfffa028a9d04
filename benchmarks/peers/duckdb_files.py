"""Peer: FastAPI with DuckDB, which reads the Parquet files at each request."""

from __future__ import annotations

import datetime as dt
import threading
from pathlib import Path
from typing import Any

import duckdb
import orjson
import polars as pl

from benchmarks.columns import CORE, CURVE
from benchmarks.peers.routes import application, serve

_CURVE = f"""
with w as (
  select {", ".join(CURVE)}, (ending_equity - starting_equity) / starting_equity as period_return,
    ending_equity / first_value(starting_equity) over (order by date) - 1 as cumulative_return,
    max(greatest(starting_equity, ending_equity)) over (order by date) as peak_equity
  from read_parquet(?) where book = ? and date >= ?)
select *, peak_equity - ending_equity as drawdown, (peak_equity - ending_equity) / peak_equity * 100 as drawdown_pct
from w order by date
"""


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
        last, deepest = (
            rows.row(-1, named=True),
            rows.row(int(rows["drawdown_pct"].arg_max() or 0), named=True),
        )
        summary = {
            "book": book,
            "first_date": rows["date"][0],
            "last_date": last["date"],
            "sessions": rows.height,
            "starting_equity": rows["starting_equity"][0],
            "ending_equity": last["ending_equity"],
            "peak_equity": last["peak_equity"],
            "total_return": last["cumulative_return"],
            "cumulative_return_pct": last["cumulative_return"] * 100,
            "max_drawdown": rows["drawdown"].max(),
            "max_drawdown_pct": deepest["drawdown_pct"],
            "max_drawdown_date": deepest["date"],
        }
        return _body(rows.slice(offset, limit), b',"summary":' + orjson.dumps(summary))

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
        return _body(self._frame(f"{statement} limit {limit} offset {offset}", binds))

    def _frame(self, statement: str, binds: list[Any]) -> Any:
        cursor = getattr(self._cursors, "own", None)
        if cursor is None:
            cursor = self._cursors.own = self._connection.cursor()
        return pl.from_arrow(cursor.execute(statement, binds).to_arrow_table())


def _body(rows: Any, more: bytes = b"") -> bytes:
    return b'{"data":' + rows.write_json().encode() + more + b"}"


if __name__ == "__main__":
    serve(lambda data: application(Files(data)))
