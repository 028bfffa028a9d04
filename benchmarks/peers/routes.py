"""Routes of the Python peers: the paths of /v1, without keys, limits or totals.

Parameters are parsed by FastAPI; each peer brings its own :class:`Answers`.
"""

from __future__ import annotations

import argparse
import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Protocol

import uvicorn
from fastapi import FastAPI, Query, Response
from starlette.middleware.gzip import GZipMiddleware

LONG_AGO, FAR_OFF = dt.date(1900, 1, 1), dt.date(2200, 1, 1)


class Answers(Protocol):
    """The part that each peer implements; every method returns a finished body."""

    def week(self, alpha: str, day: dt.date, limit: int, offset: int) -> bytes:
        """One week by falling score."""

    def panel(
        self, alpha: str, first: dt.date, last: dt.date, symbols: list[str] | None, limit: int, offset: int
    ) -> bytes:
        """Core columns by day and symbol."""

    def ledger(self, alpha: str, book: str, first: dt.date, limit: int, offset: int) -> bytes:
        """Sessions of one book."""

    def curve(self, alpha: str, book: str, first: dt.date, limit: int, offset: int) -> bytes:
        """Equity curve of the window, and its summary."""

    def alphas(self, search: str, limit: int, offset: int) -> bytes:
        """Alphas with the text in their id, name or thesis."""


def application(answers: Answers, *, week_in_loop: bool = False) -> FastAPI:
    """Return an application that answers on the framework's thread pool.

    Parameters
    ----------
    week_in_loop
        Whether to answer Q1 on the event loop, for a peer that answers faster than a switch of threads takes.
    """
    app = FastAPI(openapi_url=None)
    app.add_middleware(GZipMiddleware)

    def week(alpha: str, day: dt.date, limit: int = 100, offset: int = 0) -> Response:
        return _json(answers.week(alpha, day, limit, offset))

    async def week_at_once(alpha: str, day: dt.date, limit: int = 100, offset: int = 0) -> Response:
        return _json(answers.week(alpha, day, limit, offset))

    app.get("/v1/alphas/{alpha}/rebalances/{day}")(week_at_once if week_in_loop else week)

    @app.get("/v1/alphas/{alpha}/scores")
    def panel(
        alpha: str,
        first: Annotated[dt.date, Query(alias="from")] = LONG_AGO,
        last: Annotated[dt.date, Query(alias="to")] = FAR_OFF,
        symbol: str | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> Response:
        symbols = None if symbol is None else symbol.split(",")
        return _json(answers.panel(alpha, first, last, symbols, limit, offset))

    @app.get("/v1/alphas/{alpha}/portfolio")
    def ledger(
        alpha: str,
        book: str,
        first: Annotated[dt.date, Query(alias="from")] = LONG_AGO,
        limit: int = 100,
        offset: int = 0,
    ) -> Response:
        return _json(answers.ledger(alpha, book, first, limit, offset))

    @app.get("/v1/alphas/{alpha}/equity-curve")
    def curve(
        alpha: str,
        book: str,
        first: Annotated[dt.date, Query(alias="from")] = LONG_AGO,
        limit: int = 500,
        offset: int = 0,
    ) -> Response:
        return _json(answers.curve(alpha, book, first, limit, offset))

    @app.get("/v1/alphas")
    def alphas(search: str = "", limit: int = 100, offset: int = 0) -> Response:
        return _json(answers.alphas(search, limit, offset))

    return app


def _json(body: bytes | str) -> Response:
    return Response(body, media_type="application/json")


def serve(make: Callable[[Path], FastAPI]) -> None:
    """Run a peer with the data and port of its command line, with the uvicorn settings of our server."""
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("port", type=int)
    options = parser.parse_args()
    run(make(options.data), options.port)


def run(app: Any, port: int) -> None:
    """Run an application without an access log."""
    uvicorn.run(
        app,
        host="127.0.0.1",
        port=port,
        loop="uvloop",
        http="httptools",
        access_log=False,
        log_level="warning",
    )
