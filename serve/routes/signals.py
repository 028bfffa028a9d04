"""The weekly signal: index, one week's cross-section, the panel of all weeks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from schemas.errors import ApiError
from serve.answer import Answerer, Page, empty
from serve.context import Context
from serve.envelope import kind_missing
from serve.query import signals as query


def rebalances(context: Context) -> Page:
    """List the rebalance weeks."""
    snapshot = context.snapshot
    if not snapshot.has("rebalances"):
        return empty(context.run_meta, kind_missing("rebalances"))
    rows = context.service.reader.page(
        query.weeks(
            snapshot.file("rebalances"),
            snapshot.columns("rebalances"),
            context.values,
            raw=context.raw,
            rows=snapshot.entry("rebalances").rows,
        )
    )
    return Page(rows.json, rows.returned, rows.total, context.run_meta)


def cross_section(context: Context) -> Page:
    """Return the decisions of one week."""
    snapshot, values = context.snapshot, context.values
    date = values["date"]
    meta = {**context.run_meta, "book": values["book"], "date": date.isoformat()}
    if not snapshot.has("rebalances"):
        return empty({**meta, "week_status": None, "n_symbols": 0}, kind_missing("rebalances"))
    weeks = context.service.weeks.of(snapshot)
    place = weeks.position(date)
    if place is None:
        raise ApiError(
            "rebalance_not_found", f"{date.isoformat()} is no rebalance date of this run.", weeks.around(date)
        )
    meta["week_status"] = weeks.statuses[place]
    if weeks.names is None or not snapshot.has("decisions"):
        return empty({**meta, "n_symbols": 0}, kind_missing("decisions"))
    meta["n_symbols"] = weeks.names[place]
    rows = context.service.reader.page(
        query.cross_section(
            snapshot.file("decisions"),
            snapshot.columns("decisions"),
            values,
            raw=context.raw,
            date=date,
            names=weeks.names[place],
        )
    )
    return Page(rows.json, rows.returned, rows.total, meta)


def scores(context: Context) -> Page:
    """Return the panel, one row per name per week."""
    snapshot = context.snapshot
    meta = {**context.run_meta, "fields": context.values["fields"]}
    if not snapshot.has("decisions"):
        return empty(meta, kind_missing("decisions"))
    rows = context.service.reader.page(
        query.panel(
            snapshot.file("decisions"),
            snapshot.columns("decisions"),
            context.values,
            raw=context.raw,
            window=_window(context),
        )
    )
    return Page(rows.json, rows.returned, rows.total, meta)


def _window(context: Context) -> tuple[int, int] | None:
    """Say which rows of the decisions the requested days have, from the counts in the index."""
    snapshot, values = context.snapshot, context.values
    rows = snapshot.entry("decisions").rows
    if values["from"] is None and values["to"] is None:
        return 0, rows
    if not snapshot.has("rebalances"):
        return None
    weeks = context.service.weeks.of(snapshot)
    return weeks.rows_between(values["from"], values["to"]) if weeks.rows == rows else None


ROUTES: Final[Mapping[str, Answerer]] = {
    "signals.rebalances.list": rebalances,
    "signals.rebalances.get": cross_section,
    "signals.scores": scores,
}
