"""Peer: PostgreSQL, which formats the JSON of a page in SQL; the application only forwards it.

    python -m benchmarks.peers.postgres URL PORT

:func:`load` fills the tables; every query has an index.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import io
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import asyncpg
import polars as pl
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from benchmarks.columns import CORE, curve_sql
from benchmarks.peers.routes import FAR_OFF, LONG_AGO, run

_TYPES: Final = {
    pl.Date: "date",
    pl.String: "text",
    pl.Float64: "double precision",
    pl.Int64: "integer",
    pl.UInt32: "integer",
    pl.Boolean: "boolean",
}
_INDEXES: Final = (
    "alter table decisions add primary key (alpha_id, date, symbol)",
    "create index by_score on decisions (alpha_id, date, score desc nulls last, symbol)",
    "create index by_symbol on decisions (alpha_id, symbol, date)",
    "alter table ledger add primary key (alpha_id, book, date)",
    "alter table catalogue add primary key (place)",
    "vacuum analyze",
)
SETTINGS: Final = {
    "shared_buffers": "2GB",
    "effective_cache_size": "8GB",
    "work_mem": "64MB",
    "jit": "off",
    "random_page_cost": "1.1",
    "max_parallel_workers_per_gather": "0",
}


async def load(url: str, data: Path) -> None:
    """Fill an empty database with the rows of the peers' Parquet files, in the order of the requests."""
    connection = await asyncpg.connect(url)
    try:
        for table in ("decisions", "ledger"):
            for number, file in enumerate(sorted((data / table).glob("*.parquet"))):
                rows = pl.read_parquet(file).select(pl.lit(file.stem).alias("alpha_id"), pl.all())
                await _fill(connection, table, rows, create=number == 0)
        await _fill(connection, "catalogue", pl.read_parquet(data / "catalogue.parquet"), create=True)
        for statement in _INDEXES:
            await connection.execute(statement)
    finally:
        await connection.close()


async def _fill(connection: Any, table: str, rows: pl.DataFrame, *, create: bool) -> None:
    if create:
        columns = ", ".join(f'"{name}" {_TYPES[kind.base_type()]}' for name, kind in rows.schema.items())
        await connection.execute(f"create table {table} ({columns})")
    text = io.BytesIO()
    rows.write_csv(text)
    text.seek(0)
    await connection.copy_to_table(table, source=text, columns=rows.columns, format="csv", header=True)


def _statements(columns: list[str]) -> dict[str, str]:
    def listed(names: Any, prefix: str = "") -> str:
        return ", ".join(f'{prefix}"{name}"' for name in names)

    page = "select coalesce(json_agg(r), '[]')::text from ({}) r"
    core = listed(CORE)
    return {
        "week": page.format(
            f"select {listed(columns)} from decisions where alpha_id = $1 and date = $2 "
            "order by score desc nulls last, symbol limit $3 offset $4"
        ),
        "panel": page.format(
            f"select {core} from decisions where alpha_id = $1 and date between $2 and $3 "
            "order by date, symbol limit $4 offset $5"
        ),
        "symbols": page.format(
            f"select {core} from decisions where alpha_id = $1 and date between $2 and $3 "
            "and symbol = any($6) order by date, symbol limit $4 offset $5"
        ),
        "ledger": page.format(
            "select {ledger} from ledger where alpha_id = $1 and book = $2 and date >= $3 "
            "order by date limit $4 offset $5"
        ),
        "curve": curve_sql("ledger", "alpha_id = $1 and book = $2 and date >= $3")
        + """,
a as (select count(*) as sessions, min(date) as first_date, max(date) as last_date, max(peak_equity) as peak_equity,
    max(drawdown) as max_drawdown, max(drawdown_pct) as max_drawdown_pct from d)
select json_build_object('data', (select coalesce(json_agg(p), '[]') from
    (select * from d order by date limit $4 offset $5) p),
  'summary', (select row_to_json(s) from (select a.*, $2::text as book, f.starting_equity, l.ending_equity,
      l.cumulative_return as total_return, l.cumulative_return * 100 as cumulative_return_pct,
      (select min(date) from d where drawdown_pct = a.max_drawdown_pct) as max_drawdown_date
    from a join d f on f.date = a.first_date join d l on l.date = a.last_date) s))::text""",
        "alphas": page.format(
            "select alpha_id, name, tldr from catalogue where alpha_id ilike $1 or name ilike $1 or tldr ilike $1 "
            "order by place limit $2 offset $3"
        ),
    }


class _App:
    def __init__(self, url: str) -> None:
        self._url = url
        self._pool: Any = None
        self._sql: dict[str, str] = {}

    @contextlib.asynccontextmanager
    async def lifespan(self, _app: Starlette) -> AsyncIterator[None]:
        async with asyncpg.create_pool(self._url, min_size=8, max_size=8) as pool:
            self._pool = pool
            names = "select column_name from information_schema.columns where table_name = $1 order by ordinal_position"
            decisions = [row[0] for row in await pool.fetch(names, "decisions")]
            ledger = [row[0] for row in await pool.fetch(names, "ledger")]
            self._sql = _statements([name for name in decisions if name not in {"alpha_id", "date"}])
            columns = ", ".join(f'"{name}"' for name in ledger if name != "alpha_id")
            self._sql["ledger"] = self._sql["ledger"].replace("{ledger}", columns)
            yield

    async def _answer(self, name: str, *binds: Any, complete: bool = False) -> Response:
        text = await self._pool.fetchval(self._sql[name], *binds)
        body = text if complete else f'{{"data":{text}}}'
        return Response(body, media_type="application/json")

    async def week(self, request: Request) -> Response:
        day = dt.date.fromisoformat(request.path_params["day"])
        return await self._answer("week", request.path_params["alpha"], day, *_page(request))

    async def panel(self, request: Request) -> Response:
        window = (_day(request, "from", LONG_AGO), _day(request, "to", FAR_OFF))
        arguments = (request.path_params["alpha"], *window, *_page(request))
        symbols = request.query_params.get("symbol")
        if symbols is None:
            return await self._answer("panel", *arguments)
        return await self._answer("symbols", *arguments, symbols.split(","))

    async def ledger(self, request: Request) -> Response:
        return await self._answer("ledger", *self._book(request))

    async def curve(self, request: Request) -> Response:
        return await self._answer("curve", *self._book(request), complete=True)

    async def alphas(self, request: Request) -> Response:
        return await self._answer("alphas", f"%{request.query_params.get('search', '')}%", *_page(request))

    def _book(self, request: Request) -> tuple[Any, ...]:
        book = request.query_params["book"]
        return (request.path_params["alpha"], book, _day(request, "from", LONG_AGO), *_page(request))


def _page(request: Request) -> tuple[int, int]:
    parameters = request.query_params
    return int(parameters.get("limit", 100)), int(parameters.get("offset", 0))


def _day(request: Request, name: str, other: dt.date) -> dt.date:
    text = request.query_params.get(name)
    return other if text is None else dt.date.fromisoformat(text)


def _application(url: str) -> Starlette:
    app = _App(url)
    base = "/v1/alphas/{alpha}"
    routes = [
        Route(base + "/rebalances/{day}", app.week),
        Route(base + "/scores", app.panel),
        Route(base + "/portfolio", app.ledger),
        Route(base + "/equity-curve", app.curve),
        Route("/v1/alphas", app.alphas),
    ]
    return Starlette(routes=routes, lifespan=app.lifespan, middleware=[Middleware(GZipMiddleware)])


if __name__ == "__main__":
    run(_application(sys.argv[1]), int(sys.argv[2]))
