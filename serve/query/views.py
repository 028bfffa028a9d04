"""How routes show stored datasets: what is held of a snapshot is one of these views."""

from __future__ import annotations

from typing import Final

from datasets.snapshot import Snapshot
from schemas.endpoints import ENDPOINTS
from schemas.rows import ROWS, RowModel
from schemas.tables.books import CONDITIONED_BOOKS
from serve.query.engine import Asked
from serve.query.signals import FIGURES, USUAL_SORT

_LEDGER: Final = "portfolio.ledger"


def index_view(snapshot: Snapshot, *, raw: bool) -> Asked:
    """Return the rebalance index."""
    return Asked(snapshot, "rebalances", ROWS["rebalance"], raw)


def week_view(snapshot: Snapshot, *, raw: bool) -> Asked:
    """Return the decisions, to be filtered and sorted week by week."""
    return Asked(snapshot, "decisions", ROWS["decision"], raw, figures=FIGURES, laid_by=USUAL_SORT)


def panel_view(snapshot: Snapshot, model: RowModel, *, raw: bool) -> Asked:
    """Return the decisions as a panel of some columns."""
    return Asked(snapshot, "decisions", model, raw)


def book_view(snapshot: Snapshot, endpoint: str, book: str, *, raw: bool) -> Asked:
    """Return the rows an endpoint shows of one book."""
    declared = ENDPOINTS[endpoint]
    (kind,) = declared.datasets
    return Asked(snapshot, kind, ROWS[declared.row], raw, book)


def usual_views(snapshot: Snapshot) -> tuple[Asked, ...]:
    """Return the views of a snapshot that most questions are about, as keys without raw access see them."""
    signals = (
        index_view(snapshot, raw=False),
        week_view(snapshot, raw=False),
        panel_view(snapshot, ROWS["score"], raw=False),
    )
    ledgers = (book_view(snapshot, _LEDGER, book, raw=False) for book in CONDITIONED_BOOKS)
    found = (*signals, *(x for x in ledgers if snapshot.has(x.dataset, x.book)))
    return tuple(x for x in found if snapshot.has(x.dataset) and snapshot.entry(x.dataset, x.book).rows > 0)
