"""Comparison of two snapshots of an alpha: figures and weekly cross-sections, limited to what a key may read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

import polars as pl

from datasets.figures.run_metrics import Answer, MetricsQuery
from datasets.snapshot import Snapshot
from schemas.downloads import visible_columns
from schemas.errors import SnapshotUnreadable
from schemas.metrics.headline import IN_METRICS, HeadlineFigure
from schemas.metrics.statistic import LEDGER, SOURCES, Checked
from schemas.tables.books import CONDITIONED_BOOKS
from serve.pages.duckdb import Engine, Statement, quoted, source

_METRICS: Final = "performance.metrics"
_SECTIONS: Final = "signals.rebalances.get"
_MAX_ROWS: Final = 20_000_000
"""Maximum rows of two tables compared in one request; comparing as many takes seconds on one core."""
_KEY: Final = ("date", "symbol")


Spans = dict[str, list[str]]
"""Items that were added, removed and changed."""


def compare(
    engine: Engine,
    answer: Callable[[Snapshot, MetricsQuery], Answer],
    earlier: Snapshot,
    later: Snapshot,
    may_call: Collection[str],
    *,
    raw: bool,
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the changes from one snapshot to another.

    Parameters
    ----------
    answer
        Answers a metrics query about the run of a snapshot.
    may_call
        Registry ids of the endpoints the key may call; data that none of them serves are not compared.
    raw
        Whether to compare columns and books of the unconditioned signal.

    Returns
    -------
    dict
        ``figures``, each with its values before and after; ``weeks`` and ``names``, None where they are not compared.
    dict of str to str
        Withheld member -> reason.

    Raises
    ------
    SnapshotCorrupt
        When a file of either snapshot is missing or cannot be read.
    """
    withheld: dict[str, str] = {}
    figures: list[dict[str, Any]] = []
    weeks = names = None
    reason = _incomparable(earlier, later, may_call)
    if reason is None:
        weeks, names = _sections(engine, earlier, later, raw=raw)
    else:
        withheld.update(weeks=reason, names=reason)
    if _METRICS in may_call:
        query = MetricsQuery(frozenset(x.endpoint for x in SOURCES if x.endpoint in may_call), raw=raw)
        before, after = (answer(snapshot, query).data for snapshot in (earlier, later))
        figures = [_figure(x, _entry(before, x), _entry(after, x), withheld) for x in IN_METRICS]
    else:
        withheld["figures"] = f"the key may not call {_METRICS}"
    return {"figures": figures, "weeks": weeks, "names": names}, withheld


# Figures


def _entry(data: Mapping[str, Any], figure: HeadlineFigure) -> Mapping[str, Any]:
    entry: Any = data
    for step in figure.path:
        entry = None if entry is None else entry[step]
    return entry or {
        "value": None,
        "unit": figure.unit,
        "checked": None,
        "withheld_reason": f"{figure.path[0]} is null",
    }


def _figure(
    figure: HeadlineFigure, before: Mapping[str, Any], after: Mapping[str, Any], withheld: dict[str, str]
) -> dict[str, Any]:
    for entry, which in ((before, "the earlier"), (after, "the later")):
        if entry["value"] is None:
            withheld.setdefault(figure.name, f"in {which} snapshot: {entry['withheld_reason']}")
    same_unit = (before["unit"], before.get("annualisation")) == (after["unit"], after.get("annualisation"))
    known = before["value"] is not None and after["value"] is not None
    stated = Checked.STATED in (before["checked"], after["checked"])
    if known and not same_unit:
        withheld[figure.name] = f"not compared: its unit was {before['unit']} and is {after['unit']}"
    elif known and stated:
        withheld[figure.name] = "not compared: no table of one of the snapshots supports the figure"
    return {
        "figure": figure.name,
        "book": CONDITIONED_BOOKS[0] if figure.statistic.source is LEDGER else None,
        "unit": after["unit"],
        "before": before["value"],
        "after": after["value"],
        "before_checked": before["checked"],
        "after_checked": after["checked"],
        "change": after["value"] - before["value"] if known and same_unit and not stated else None,
    }


# Cross-sections


def _sections(engine: Engine, earlier: Snapshot, later: Snapshot, *, raw: bool) -> tuple[Spans, Spans]:
    """Return the weeks and the names that were added, removed or changed."""
    if earlier.entry("decisions").sha256 == later.entry("decisions").sha256:
        return {name: [] for name in _SPANS}, {name: [] for name in _SPANS}
    columns = [x for x in _common(earlier, later, raw=raw) if x not in _KEY]
    before, after = earlier.file("decisions"), later.file("decisions")
    try:
        differences = engine.frame(_comparison(before, after, columns))
    except SnapshotUnreadable:
        # The engine does not say which file it could not decode, so each is read alone.
        for snapshot, file in ((earlier, before), (later, after)):
            with snapshot.named_in_errors():
                engine.frame(_comparison(file, file, columns))
        raise
    weeks, names = (differences.filter(pl.col(key).is_not_null()) for key in _KEY)
    return _spans(weeks, "date", lambda x: x.isoformat()), _spans(names, "symbol", str)


_SPANS: Final = ("added", "removed", "changed")


def _common(earlier: Snapshot, later: Snapshot, *, raw: bool) -> list[str]:
    """Return the columns that both snapshots have and the key may read."""
    before, after = (
        [x.name for x in visible_columns("decisions", snapshot.columns("decisions"), raw=raw)]
        for snapshot in (earlier, later)
    )
    return [name for name in before if name in after]


def _incomparable(earlier: Snapshot, later: Snapshot, may_call: Collection[str]) -> str | None:
    if _SECTIONS not in may_call:
        return f"the key may not call {_SECTIONS}"
    for snapshot, which in ((earlier, "earlier"), (later, "later")):
        if not snapshot.has("decisions"):
            return f"the run of the {which} snapshot holds no decisions"
    rows = sum(snapshot.entry("decisions").rows for snapshot in (earlier, later))
    return f"{rows} rows are too many to compare in one request" if rows > _MAX_ROWS else None


def _comparison(before: str, after: str, columns: Collection[str]) -> Statement:
    """Return the query that counts the rows before, after and differing, for each week and for each name."""
    left, right = source(before), source(after)
    changed = [f"b.{x} IS DISTINCT FROM a.{x}" for x in map(quoted, columns)]
    differs = " OR ".join(["b.symbol IS NULL", "a.symbol IS NULL", *changed])
    sql = (
        "SELECT date, symbol, count(before) AS before, count(after) AS after, count_if(differs) AS differing"  # noqa: S608 - declared names and bound values alone
        " FROM (SELECT coalesce(b.date, a.date) AS date, coalesce(b.symbol, a.symbol) AS symbol, b.symbol AS before,"
        f" a.symbol AS after, ({differs}) AS differs"
        f" FROM {left.sql} AS b FULL JOIN {right.sql} AS a ON b.date = a.date AND b.symbol = a.symbol)"
        " GROUP BY GROUPING SETS ((date), (symbol))"
    )
    return Statement(sql, (*left.binds, *right.binds))


def _spans(rows: pl.DataFrame, key: str, to_text: Callable[[Any], str]) -> Spans:
    was, is_now = pl.col("before") > 0, pl.col("after") > 0
    chosen = {"added": ~was, "removed": ~is_now, "changed": was & is_now & (pl.col("differing") > 0)}
    return {
        name: [to_text(x) for x in rows.filter(flag)[key].sort().to_list()] for name, flag in chosen.items()
    }
