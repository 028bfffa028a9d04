"""The weekly signal: index, one week's cross-section, the panel of all weeks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from datasets.snapshot import Snapshot
from schemas.errors import ApiError
from serve.endpoints.symbol_warnings import warnings_of_symbols
from serve.http.answer import Answerer, Page, empty
from serve.http.context import Context
from serve.http.envelope import kind_missing
from serve.query import signals as query
from serve.query.sql import Paged
from serve.query.views import index_view, panel_view, week_view


def rebalances(context: Context) -> Page:
    """List the rebalance weeks."""
    snapshot = context.snapshot
    if not _holds(snapshot, "rebalances"):
        return empty(context.run_meta, kind_missing("rebalances"))

    def direct() -> Paged:
        return query.weeks(
            snapshot.file("rebalances"),
            snapshot.columns("rebalances"),
            context.values,
            raw=context.raw,
            rows=snapshot.entry("rebalances").rows,
        )

    asked = index_view(snapshot, raw=context.raw)
    rows = context.service.pages.window(asked, context.values, direct, hurried=context.hurried)
    return Page(rows.pieces, rows.returned, rows.total, context.run_meta, shared=rows.shared)


def cross_section(context: Context) -> Page:
    """Return the decisions of one week."""
    snapshot, values = context.snapshot, context.values
    date = values["date"]
    meta = {**context.run_meta, "book": values["book"], "date": date.isoformat()}
    if not _holds(snapshot, "rebalances"):
        return empty({**meta, "week_status": None, "n_symbols": 0}, kind_missing("rebalances"))
    weeks = context.weeks
    place = weeks.position(date)
    if place is None:
        raise ApiError(
            "rebalance_not_found", f"{date.isoformat()} is no rebalance date of this run.", weeks.around(date)
        )
    meta["week_status"] = weeks.statuses[place]
    if weeks.names is None or not _holds(snapshot, "decisions"):
        return empty({**meta, "n_symbols": 0}, kind_missing("decisions"))
    meta["n_symbols"] = weeks.names[place]
    names = weeks.names[place]

    def direct() -> Paged:
        return query.cross_section(
            snapshot.file("decisions"),
            snapshot.columns("decisions"),
            values,
            raw=context.raw,
            date=date,
            names=names,
        )

    warnings = warnings_of_symbols(context)
    asked = week_view(snapshot, raw=context.raw)
    rows = context.service.pages.week(
        asked, values, date, direct, conditions=query.conditions(values), hurried=context.hurried
    )
    return Page(rows.pieces, rows.returned, rows.total, meta, warnings)


def scores(context: Context) -> Page:
    """Return the panel, one row per name per week."""
    snapshot = context.snapshot
    meta = {**context.run_meta, "fields": context.values["fields"]}
    if not _holds(snapshot, "decisions"):
        return empty(meta, kind_missing("decisions"))

    def direct() -> Paged:
        return query.panel(
            snapshot.file("decisions"),
            snapshot.columns("decisions"),
            context.values,
            raw=context.raw,
            window=_window(context),
        )

    warnings = warnings_of_symbols(context)
    asked = panel_view(snapshot, query.panel_row(context.values), raw=context.raw)
    rows = context.service.pages.window(asked, context.values, direct, hurried=context.hurried)
    return Page(rows.pieces, rows.returned, rows.total, meta, warnings, shared=rows.shared)


def _holds(snapshot: Snapshot, kind: str) -> bool:
    """Tell whether the run has data of a kind: a table sealed without a row holds none."""
    return snapshot.has(kind) and snapshot.entry(kind).rows > 0


def _window(context: Context) -> tuple[int, int] | None:
    """Say which rows of the decisions the requested days have, from the counts in the index."""
    snapshot, values = context.snapshot, context.values
    rows = snapshot.entry("decisions").rows
    if values["from"] is None and values["to"] is None:
        return 0, rows
    if not snapshot.has("rebalances"):
        return None
    weeks = context.weeks
    return weeks.rows_between(values["from"], values["to"]) if weeks.rows == rows else None


ROUTES: Final[Mapping[str, Answerer]] = {
    "signals.rebalances.list": rebalances,
    "signals.rebalances.get": cross_section,
    "signals.scores": scores,
}
