from __future__ import annotations

import datetime as dt
from types import SimpleNamespace
from typing import Any, cast

import pytest

from schemas.endpoints import ENDPOINTS
from schemas.rows import ROWS
from schemas.tables import TABLES
from serve.endpoints.signals import cross_section
from serve.http.params import parse
from serve.http.request import Request
from serve.pages.duckdb import (
    PageStatements,
    PublishedFile,
    Statement,
    compile_page,
    projection,
    quoted,
    source,
    window,
)
from serve.pages.query import DECISION, PageQuery

DAY = dt.date(2020, 1, 3)
DECISIONS = tuple(column.name for column in TABLES["decisions"].published_columns)
WEEK = PageQuery(
    ("a", "s"), "", "decisions", DECISION, raw=False, book="long_short", first=DAY, last=DAY,
    sort="score", descending=True, limit=10, offset=20,
)  # fmt: skip
PANEL = PageQuery(("a", "s"), "", "decisions", "score", raw=False, limit=5)


def compiled(query: PageQuery, rows: int = 9) -> PageStatements:
    columns = tuple(column.name for column in TABLES[query.table].published_columns)
    return compile_page(query, PublishedFile("f", columns, rows))


def week(**values: Any) -> str:
    return compiled(WEEK._replace(**values)).rows.sql.partition(" ORDER BY ")[2]


def test_values_are_bound_and_never_written_into_the_text() -> None:
    hostile = "x'; DROP TABLE t --"
    query = compiled(WEEK._replace(symbols=(hostile,), min_abs_weight=0.25, raw=True))
    assert isinstance(query.total, Statement)
    for statement in (query.rows, query.total):
        assert hostile not in statement.sql
        assert hostile in statement.binds
        assert statement.sql.count("?") == len(statement.binds)
    assert query.rows.binds[-2:] == (10, 20)


def test_orders_of_a_week() -> None:
    assert week() == '"score" DESC NULLS LAST, "symbol" ASC NULLS LAST LIMIT ? OFFSET ?'
    assert week(sort="average_rank", descending=False).startswith('"average_rank" ASC NULLS LAST, "symbol"')
    assert week(sort="symbol", descending=False) == '"symbol" ASC NULLS LAST LIMIT ? OFFSET ?'
    assert week(sort="symbol") == '"symbol" DESC NULLS LAST LIMIT ? OFFSET ?'
    assert week(descending=False).startswith('"score" ASC NULLS LAST, "symbol" ASC')


@pytest.mark.parametrize(
    ("given", "sort", "descending"),
    [
        ("", "score", True),
        ("sort=rank", "average_rank", False),
        ("sort=weight", "long_short_target_weight", True),
        ("sort=weight&book=long_only", "long_only_target_weight", True),
        ("sort=symbol", "symbol", False),
        ("sort=symbol&order=desc", "symbol", True),
        ("order=asc", "score", False),
    ],
)
def test_default_orders_of_a_week(given: str, sort: str, *, descending: bool) -> None:
    request = Request("r", {})
    request.values = parse(
        ENDPOINTS["signals.rebalances.get"], {"alpha": "a", "date": DAY.isoformat()}, given.encode()
    )
    request.snapshot = cast(Any, SimpleNamespace(key=("a", "s"), published_at=""))
    query = cross_section(request)
    assert (query.sort, query.descending) == (sort, descending)


def test_raw_columns_are_selected_only_with_raw_access() -> None:
    assert "raw_" not in projection(ROWS["score_all"], DECISIONS, raw=False).sql
    assert '"raw_score"' in projection(ROWS["score_all"], DECISIONS, raw=True).sql


def test_an_absent_column_is_omitted_or_null_as_declared() -> None:
    present = {"date", "symbol", "score"}
    text = projection(ROWS["score"], present, raw=True).sql
    assert "score_z" not in text
    assert "raw_score" not in text
    assert 'NULL::DOUBLE AS "forward_return"' in text
    assert "forward_return" not in projection(ROWS["decision"], present, raw=True).sql


def panel(**values: Any) -> PageStatements:
    return compiled(PANEL._replace(**values), rows=112)


def test_a_page_in_stored_order_is_selected_by_row_number() -> None:
    result = panel(offset=3)
    assert result.total == 112
    assert "OFFSET" not in result.rows.sql
    assert result.rows.binds[-2:] == (3, 8)
    assert panel(offset=110).rows.binds[-2:] == (110, 112)
    first, after = panel(offset=10**9).rows.binds[-2:]
    assert first >= after  # type: ignore[operator]


def test_the_total_needs_a_query_only_with_filters() -> None:
    assert isinstance(panel(symbols=("A",)).total, Statement)
    assert isinstance(panel(first=DAY).total, Statement)
    assert isinstance(compiled(WEEK).total, Statement)


def test_a_window_of_instants_covers_whole_days_in_utc() -> None:
    column = TABLES["trades"]["timestamp"]
    first, after = window(column, DAY, DAY)
    assert first.binds == (dt.datetime(2020, 1, 3, tzinfo=dt.UTC),)
    assert after.binds == (dt.datetime(2020, 1, 4, tzinfo=dt.UTC),)
    assert "<" in after.sql
    assert "<=" not in after.sql
    assert window(column, None, dt.date.max) == []


def test_a_window_of_days_includes_both() -> None:
    result = window(TABLES["portfolio"]["date"], DAY, DAY)
    assert [x.sql for x in result] == ['"date" >= ?', '"date" <= ?']


def test_every_row_has_its_book() -> None:
    query = compiled(PageQuery(("a", "s"), "", "trades", "trade", raw=False, book="b", limit=1), rows=3)
    assert query.rows.binds[0] == "b"
    assert query.total == 3
    assert '"timestamp" ASC NULLS LAST, "symbol" ASC NULLS LAST, "fill_order" ASC' in query.rows.sql
    assert 'AS "fill_order"' not in query.rows.sql


def test_glob_characters_in_addresses_are_literal() -> None:
    assert source("/a*b/[x]?/part").binds == ("/a[*]b/[[]x][?]/part",)


def test_names_are_quoted() -> None:
    assert quoted("from") == '"from"'
    assert quoted('a"b') == '"a""b"'
