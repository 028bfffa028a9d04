"""The real components that answer page queries, over a given root."""

from __future__ import annotations

import time
from pathlib import Path
from typing import cast
from urllib.parse import urlencode

from datasets.catalogue.live import Catalogue
from datasets.storage import open_storage
from schemas.endpoints import ENDPOINTS
from serve.app import ROUTES
from serve.cache import SnapshotKey, make_caches
from serve.http.handler import PageEndpoint
from serve.http.params import parse
from serve.http.request import Request
from serve.pages.books import list_books
from serve.pages.duckdb import Engine
from serve.pages.equity import curve_page
from serve.pages.query import PageQuery, PageResult, PageWork, Rows
from serve.pages.row_folder import RowFolder
from serve.pages.symbols import RunSymbols
from serve.pages.tables import RowTables, TablePages
from tests.support import published

PLACES = {
    "signals.rebalances.list": (),
    "signals.rebalances.get": ("date",),
    "signals.scores": (),
    "portfolio.ledger": (),
    "portfolio.positions": (),
    "portfolio.pnl": (),
    "portfolio.trades": (),
    "portfolio.equity_curve": (),
}
"""Endpoint -> its path's placeholders besides the alpha."""


class Parts:
    """The real components that answer page queries, over a given root."""

    def __init__(self, root: Path, limit: int, folder: RowFolder | None = None) -> None:
        self.catalogue = Catalogue(open_storage(str(root)))
        self.catalogue.refresh()
        snapshot = self.catalogue.resolve(published.ALPHA)
        assert snapshot is not None
        self.snapshot = snapshot
        self.engine = Engine()
        self.caches = caches = make_caches(limit)
        self.row_tables = RowTables(self.engine, caches["rows"], self.is_served, folder)
        symbols = RunSymbols(self.engine, caches["symbols"])
        self._tables = TablePages(self.engine, self.row_tables, caches["rebalances"], symbols)

    def is_served(self, owner: SnapshotKey) -> bool:
        """Whether a snapshot is the served one."""
        served = self.catalogue.resolve(owner[0])
        return served is not None and served.key == owner

    def follow(self) -> None:
        """Refresh the catalogue, and drop unused snapshots."""
        self.catalogue.refresh()
        self.row_tables.drop_unserved()

    def query(self, name: str, parameters: dict[str, str], *, raw: bool) -> PageQuery:
        path = {"alpha": published.ALPHA, **{x: parameters[x] for x in PLACES[name]}}
        text = urlencode([(key, value) for key, value in parameters.items() if key not in path])
        request = Request("r", {}, path=path, endpoint=name)
        request.values = parse(ENDPOINTS[name], path, text.encode())
        request.raw = raw
        request.snapshot = self.snapshot
        function = ROUTES[name]
        assert isinstance(function, PageEndpoint)
        return cast(PageQuery, function.query(request))

    def load(self, query: PageQuery) -> PageResult:
        """Answer a query from any source, with its rows joined."""
        page = self._page(query)
        return joined(page if isinstance(page, PageResult) else page())

    def cached(self, query: PageQuery) -> PageResult | None:
        """Answer a query from memory alone."""
        result = self._page(query)
        return joined(result) if isinstance(result, PageResult) else None

    def _page(self, query: PageQuery) -> PageResult | PageWork:
        if query.row == "book":
            return list_books(query, self.snapshot)
        if query.row == "equity":
            return curve_page(self.caches["ledgers"], query, self.snapshot)
        return self._tables.page(query, self.snapshot)

    def until_cached(self, query: PageQuery) -> PageResult:
        """Query until answered from memory, soon after the first answer from the file."""
        for _ in range(500):
            result = self.cached(query)
            if result is not None:
                return result
            self.load(query)
            time.sleep(0.01)
        raise AssertionError("the table was never cached")

    def close(self) -> None:
        self.row_tables.close()
        self.engine.close()


def joined(result: PageResult) -> PageResult:
    rows = result.rows
    return result._replace(rows=Rows(bytes(rows.objects), rows.returned, rows.total))
