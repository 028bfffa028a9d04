"""Peers queried in SQL: ROAPI over tables in memory, Datasette over an SQLite file."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode

import polars as pl

from benchmarks.alphas import alpha_id
from benchmarks.columns import CORE, curve_sql
from benchmarks.load import Request
from benchmarks.workload import Call


def columns_of(data: Path, table: str) -> list[str]:
    """Return the columns of a peers' table."""
    return list(pl.read_parquet_schema(data / table / f"{alpha_id(0)}.parquet"))


def roapi_tables(data: Path) -> str:
    """Return ROAPI's configuration: a table in memory for each file."""
    tables = [
        {
            "name": table_name(table, file.stem),
            "uri": str(file),
            "option": {"format": "parquet", "use_memory_table": True},
        }
        for table in ("decisions", "ledger")
        for file in sorted((data / table).glob("*.parquet"))
    ]
    catalogue = {"name": "catalogue", "uri": str(data / "catalogue.parquet")}
    tables.append({**catalogue, "option": {"format": "parquet", "use_memory_table": True}})
    return json.dumps({"tables": tables})


def table_name(table: str, alpha: str) -> str:
    """Return the name of an alpha's table in ROAPI."""
    return f"{table}_{alpha.lower()}"


def roapi_request(call: Call, columns: list[str]) -> Request:
    """Return a call as one line of SQL."""
    values = call.values
    page = f"limit {values['limit']} offset {values.get('offset', 0)}"
    table = table_name("ledger" if call.query in {"Q4", "Q5"} else "decisions", alpha_id(call.alpha))
    if call.query == "Q1":
        chosen = ", ".join(name for name in columns if name != "date")
        text = f"select {chosen} from {table} where date = date '{values['date']}' order by score desc nulls last, symbol {page}"
    elif call.query in {"Q2", "Q3", "Q7"}:
        conditions = [f"date >= date '{values['from']}'"] if "from" in values else []
        conditions += [f"date <= date '{values['to']}'"] if "to" in values else []
        if "symbol" in values:
            conditions.append("symbol in ('{}')".format("', '".join(values["symbol"].split(","))))
        where = f"where {' and '.join(conditions)}" if conditions else ""
        text = f"select {', '.join(CORE)} from {table} {where} order by date, symbol {page}"
    elif call.query in {"Q4", "Q5"}:
        conditions = [f"book = '{values['book']}'", f"date >= date '{values['from']}'"]
        if call.query == "Q4":
            text = f"select * from {table} where {' and '.join(conditions)} order by date {page}"
        else:
            curve = curve_sql(table, " and ".join(conditions))
            text = f"{curve} select * from d order by date {page}"
    else:
        like = f"ilike '%{values['search']}%'"
        text = f"select alpha_id, name, tldr from catalogue where alpha_id {like} or name {like} or tldr {like} order by place {page}"
    return Request("/api/sql", " ".join(text.split()))


_INDEXES: Final = (
    "create index by_day on decisions (alpha_id, date, symbol)",
    "create index by_score on decisions (alpha_id, date, score desc, symbol)",
    "create index by_symbol on decisions (alpha_id, symbol, date)",
    "create index sessions on ledger (alpha_id, book, date)",
    "create index places on catalogue (place)",
    "analyze",
)


def fill_sqlite(data: Path, file: Path) -> None:
    """Write the peers' rows into an SQLite file with indexes for each query."""
    with sqlite3.connect(file) as connection:
        connection.execute("pragma journal_mode = off")
        for table in ("decisions", "ledger"):
            for number, path in enumerate(sorted((data / table).glob("*.parquet"))):
                rows = pl.read_parquet(path).select(pl.lit(path.stem).alias("alpha_id"), pl.all())
                _insert(connection, table, rows, create=number == 0)
        _insert(connection, "catalogue", pl.read_parquet(data / "catalogue.parquet"), create=True)
        for statement in _INDEXES:
            connection.execute(statement)
    connection.close()


def _insert(connection: sqlite3.Connection, table: str, rows: pl.DataFrame, *, create: bool) -> None:
    rows = rows.with_columns(pl.col(pl.Date).cast(pl.String))
    if create:
        connection.execute(f"create table {table} ({', '.join(rows.columns)})")
    connection.executemany(f"insert into {table} values ({', '.join('?' * rows.width)})", rows.iter_rows())


def datasette_metadata(decisions: list[str], ledger: list[str]) -> str:
    """Return Datasette's metadata: a canned query for each request."""
    page = "limit :limit offset :offset"
    week = ", ".join(name for name in decisions if name != "date")
    core, window = ", ".join(CORE), "alpha_id = :alpha and date between :from and :to"
    curve = curve_sql("ledger", "alpha_id = :alpha and book = :book and date >= :from", greatest="max")
    like = " or ".join(f"instr(lower({name}), lower(:search)) > 0" for name in ("alpha_id", "name", "tldr"))
    queries = {
        "week": f"select {week} from decisions where alpha_id = :alpha and date = :date order by score desc nulls last, symbol {page}",
        "panel": f"select {core} from decisions where {window} order by date, symbol {page}",
        "symbols": f"select {core} from decisions where {window} and symbol in (select value from "
        f"json_each('[\"' || replace(:symbol, ',', '\",\"') || '\"]')) order by date, symbol {page}",
        "ledger": f"select {', '.join(ledger)} from ledger where alpha_id = :alpha and book = :book and date >= :from "
        f"order by date {page}",
        "curve": f"{curve} select * from d order by date {page}",
        "alphas": f"select alpha_id, name, tldr from catalogue where {like} order by place {page}",
    }
    return json.dumps(
        {"databases": {"bench": {"queries": {name: {"sql": sql} for name, sql in queries.items()}}}}
    )


_CANNED: Final = {
    "Q1": "week",
    "Q2": "symbols",
    "Q3": "panel",
    "Q4": "ledger",
    "Q5": "curve",
    "Q7": "panel",
    "Q8": "alphas",
}


def datasette_request(call: Call) -> Request:
    """Return a call as a request to its canned query."""
    values: dict[str, Any] = {"from": "1900-01-01", "to": "2200-01-01", "offset": 0, **call.values}
    if call.alpha >= 0:
        values["alpha"] = alpha_id(call.alpha)
    return Request(
        f"/bench/{_CANNED[call.query]}.json?_shape=array&{urlencode(values, quote_via=quote, safe=',')}"
    )
