"""How tables are rendered and cached."""

from __future__ import annotations

from typing import Final

from datasets.snapshot import Snapshot
from schemas.rows import ROWS
from schemas.tables import TABLES
from schemas.tables.books import CONDITIONED_BOOKS
from serve.query.page_query import DECISION, TableView
from serve.query.rendered_table import ParquetSource

FIGURES: Final = (
    "direction",
    "score",
    "average_rank",
    *(
        column.name
        for column in TABLES["decisions"]
        if column.name.endswith("_target_weight") and not column.raw
    ),
)
"""Numbers that the rows of a cross-section are filtered and sorted by."""
DEFAULT_SORT: Final = "score"
"""The figure a cross-section is sorted by unless the request says otherwise, largest first."""


def view_source(view: TableView, snapshot: Snapshot) -> ParquetSource | None:
    """Return what is rendered for a view; None when it lacks a column rows are filtered by."""
    present = snapshot.columns(view.table)
    sorts = view.row == DECISION
    figures = FIGURES if sorts else ()
    if not set(figures) <= set(present):
        return None
    return ParquetSource(
        ROWS[view.row],
        snapshot.entry(view.table, view.book).rows,
        present,
        view.raw,
        constants=None if view.book is None else {"book": view.book},
        figures=figures,
        sorted_by=DEFAULT_SORT if sorts else None,
    )


def usual_views(snapshot: Snapshot) -> tuple[TableView, ...]:
    """Return the views of a snapshot that most requests are about, as keys without raw access see them."""
    found = (
        TableView("rebalances", None, "rebalance", raw=False),
        TableView("decisions", None, DECISION, raw=False),
        TableView("decisions", None, "score", raw=False),
        *(TableView("portfolio", book, "portfolio", raw=False) for book in CONDITIONED_BOOKS),
    )
    return tuple(x for x in found if snapshot.has_rows(x.table, x.book))
