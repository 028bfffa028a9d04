"""Peer: FastAPI with chDB (ClickHouse in the process): MergeTree tables in panel order, JSON made by the engine."""

from __future__ import annotations

import datetime as dt
import threading
from pathlib import Path
from typing import Any, Final

from chdb.session import Session

from benchmarks.columns import CORE, curve_sql
from benchmarks.peers.routes import application, serve

_ORDERS: Final = {
    "decisions": "alpha_id, date, symbol",
    "ledger": "alpha_id, book, date",
    "catalogue": "place",
}
_SETTINGS: Final = "settings output_format_json_array_of_rows = 1, output_format_json_quote_64bit_integers = 0, max_threads = 1"
_CURVE: Final = curve_sql(
    "ledger", "alpha_id = {alpha:String} and book = {book:String} and date >= {first:Date32}"
)
_SUMMARY: Final = """
select {book:String} as book, min(date) as first_date, max(date) as last_date, count() as sessions,
  argMin(starting_equity, date) as starting_equity, argMax(ending_equity, date) as ending_equity,
  max(peak_equity) as peak_equity, argMax(cumulative_return, date) as total_return,
  argMax(cumulative_return, date) * 100 as cumulative_return_pct, max(drawdown) as max_drawdown,
  max(drawdown_pct) as max_drawdown_pct, argMax(date, (drawdown_pct, -toInt32(date))) as max_drawdown_date
from (select * from d)
"""


class Tables:
    """One session with all tables; a request is one statement with bound values."""

    def __init__(self, data: Path) -> None:
        self._session, self._turn = Session(), threading.Lock()
        self._columns = {}
        for table, order in _ORDERS.items():
            source = f"{data}/{table}/*.parquet" if table != "catalogue" else f"{data}/{table}.parquet"
            name = "" if table == "catalogue" else "replaceOne(_file, '.parquet', '') as alpha_id, "
            # Nulls are inferred from the values, as in the files.
            settings = "settings allow_nullable_key = 1"
            self._session.query(
                f"create table {table} engine = MergeTree order by ({order}) {settings} as "
                f"select {name}* from file('{source}', Parquet)"
            )
            listed = self._session.query(f"select name from system.columns where table = '{table}'", "TSV")
            hidden = {"place"} if table == "catalogue" else {"alpha_id"}
            self._columns[table] = [column for column in str(listed).split() if column not in hidden]

    def week(self, alpha: str, day: dt.date, limit: int, offset: int) -> bytes:
        """One week by falling score."""
        columns = ", ".join(f'"{name}"' for name in self._columns["decisions"] if name != "date")
        return self._page(
            f"select {columns} from decisions where alpha_id = {{alpha:String}} and date = {{day:Date32}} "
            "order by score desc, symbol",
            {"alpha": alpha, "day": day.isoformat()},
            limit,
            offset,
        )

    def panel(
        self, alpha: str, first: dt.date, last: dt.date, symbols: list[str] | None, limit: int, offset: int
    ) -> bytes:
        """Core columns by day and symbol."""
        binds: dict[str, Any] = {"alpha": alpha, "first": first.isoformat(), "last": last.isoformat()}
        narrowed = ""
        if symbols is not None:
            narrowed, binds["symbols"] = (
                " and symbol in splitByChar(',', {symbols:String})",
                ",".join(symbols),
            )
        return self._page(
            f"select {', '.join(CORE)} from decisions where alpha_id = {{alpha:String}} "
            f"and date between {{first:Date32}} and {{last:Date32}}{narrowed} order by date, symbol",
            binds,
            limit,
            offset,
        )

    def ledger(self, alpha: str, book: str, first: dt.date, limit: int, offset: int) -> bytes:
        """Sessions of one book."""
        columns = ", ".join(f'"{name}"' for name in self._columns["ledger"])
        return self._page(
            f"select {columns} from ledger where alpha_id = {{alpha:String}} and book = {{book:String}} "
            "and date >= {first:Date32} order by date",
            {"alpha": alpha, "book": book, "first": first.isoformat()},
            limit,
            offset,
        )

    def curve(self, alpha: str, book: str, first: dt.date, limit: int, offset: int) -> bytes:
        """Equity curve of the window, and its summary."""
        binds = {"alpha": alpha, "book": book, "first": first.isoformat()}
        rows = self._rows(f"{_CURVE} select * from d order by date limit {limit} offset {offset}", binds)
        summary = self._rows(_CURVE + _SUMMARY, binds)
        return b'{"data":' + rows + b',"summary":' + summary.strip()[1:-1] + b"}"

    def alphas(self, search: str, limit: int, offset: int) -> bytes:
        """Alphas with the text in their id, name or thesis."""
        columns = ", ".join(self._columns["catalogue"])
        matches = " or ".join(
            f"positionCaseInsensitiveUTF8(coalesce({name}, ''), {{search:String}}) > 0"
            for name in ("alpha_id", "name", "tldr")
        )
        return self._page(
            f"select {columns} from catalogue where {matches} order by place",
            {"search": search},
            limit,
            offset,
        )

    def _page(self, statement: str, binds: dict[str, Any], limit: int, offset: int) -> bytes:
        return b'{"data":' + self._rows(f"{statement} limit {limit} offset {offset}", binds) + b"}"

    def _rows(self, statement: str, binds: dict[str, Any]) -> bytes:
        with self._turn:  # a session fails when two threads query it at once
            return bytes(self._session.query(f"{statement} {_SETTINGS}", "JSONEachRow", params=binds).bytes())


if __name__ == "__main__":
    serve(lambda data: application(Tables(data)))
