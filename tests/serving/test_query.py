from __future__ import annotations

import datetime as dt
from typing import Any

from schemas.rows import ROWS
from schemas.tables import TABLES
from serve.query import books, filters, signals
from serve.query.sql import Paged, Statement, projection, quoted, source

WEEK: dict[str, Any] = {
    "symbol": None,
    "direction": None,
    "min_abs_weight": None,
    "book": "long_short",
    "sort": "score",
    "order": None,
    "limit": 10,
    "offset": 20,
}
PANEL: dict[str, Any] = {"from": None, "to": None, "symbol": None, "fields": "core", "limit": 5, "offset": 0}
DAY = dt.date(2020, 1, 3)


def week(**values: Any) -> str:
    query = signals.cross_section("f", DECISIONS, {**WEEK, **values}, raw=False, date=DAY, names=9)
    return query.rows.sql.partition(" ORDER BY ")[2]


DECISIONS = tuple(column.name for column in TABLES["decisions"].published_columns)


def test_values_are_bound_and_never_written_into_the_text() -> None:
    hostile = "x'; DROP TABLE t --"
    query = signals.cross_section(
        "f", DECISIONS, {**WEEK, "symbol": (hostile,), "min_abs_weight": 0.25}, raw=True, date=DAY, names=9
    )
    assert isinstance(query.total, Statement)
    for statement in (query.rows, query.total):
        assert hostile not in statement.sql
        assert hostile in statement.binds
        assert statement.sql.count("?") == len(statement.binds)
    assert query.rows.binds[-2:] == (10, 20)


def test_default_orders_of_a_week() -> None:
    assert week() == '"score" DESC NULLS LAST, "symbol" ASC NULLS LAST LIMIT ? OFFSET ?'
    assert week(sort="rank").startswith('"average_rank" ASC NULLS LAST, "symbol"')
    assert week(sort="weight").startswith('"long_short_target_weight" DESC')
    assert week(sort="weight", book="long_only").startswith('"long_only_target_weight" DESC')
    assert week(sort="symbol") == '"symbol" ASC NULLS LAST LIMIT ? OFFSET ?'
    assert week(sort="symbol", order="desc") == '"symbol" DESC NULLS LAST LIMIT ? OFFSET ?'
    assert week(sort="score", order="asc").startswith('"score" ASC NULLS LAST, "symbol" ASC')


def test_raw_columns_are_chosen_only_for_those_who_see_them() -> None:
    assert "raw_" not in projection(ROWS["score_all"], DECISIONS, raw=False).sql
    assert '"raw_score"' in projection(ROWS["score_all"], DECISIONS, raw=True).sql


def test_an_absent_column_is_left_out_unless_the_row_promises_null() -> None:
    present = {"date", "symbol", "score"}
    text = projection(ROWS["score"], present, raw=True).sql
    assert "score_z" not in text
    assert "raw_score" not in text
    assert 'NULL::DOUBLE AS "forward_return"' in text
    assert "forward_return" not in projection(ROWS["decision"], present, raw=True).sql


def panel(window: tuple[int, int] | None, **values: Any) -> Paged:
    return signals.panel("f", DECISIONS, {**PANEL, **values}, raw=False, window=window)


def test_a_page_of_stored_order_is_found_by_row_number() -> None:
    found = panel((100, 12), offset=3)
    assert found.total == 12
    assert "OFFSET" not in found.rows.sql
    assert found.rows.binds[-2:] == (103, 108)
    assert panel((100, 12), offset=10).rows.binds[-2:] == (110, 112)
    first, after = panel((100, 12), offset=10**9).rows.binds[-2:]
    assert first >= after  # type: ignore[operator]


def test_the_total_needs_a_query_only_when_something_narrows_what_is_counted() -> None:
    assert isinstance(panel((0, 77), symbol=("A",)).total, Statement)
    assert isinstance(panel(None, **{"from": DAY}).total, Statement)
    week = signals.cross_section("f", DECISIONS, WEEK, raw=False, date=DAY, names=9)
    assert week.total == 9
    narrowed = signals.cross_section("f", DECISIONS, {**WEEK, "direction": "1"}, raw=False, date=DAY, names=9)
    assert isinstance(narrowed.total, Statement)


def test_a_window_of_instants_covers_whole_days_in_utc() -> None:
    column = TABLES["trades"]["timestamp"]
    first, after = filters.window(column, DAY, DAY)
    assert first.binds == (dt.datetime(2020, 1, 3, tzinfo=dt.UTC),)
    assert after.binds == (dt.datetime(2020, 1, 4, tzinfo=dt.UTC),)
    assert "<" in after.sql
    assert "<=" not in after.sql
    assert filters.window(column, None, dt.date.max) == []


def test_a_window_of_days_includes_both() -> None:
    found = filters.window(TABLES["portfolio"]["date"], DAY, DAY)
    assert [x.sql for x in found] == ['"date" >= ?', '"date" <= ?']


def test_the_book_stands_in_every_row_though_no_file_holds_it() -> None:
    model = ROWS["trade"]
    present = [column.name for column in TABLES["trades"].published_columns]
    values = {"from": None, "to": None, "symbol": None, "limit": 1, "offset": 0}
    query = books.rows_of_book(model, "f", present, values, raw=False, book="b", rows=3)
    assert query.rows.binds[0] == "b"
    assert query.total == 3
    assert '"timestamp" ASC NULLS LAST, "symbol" ASC NULLS LAST, "fill_order" ASC' in query.rows.sql
    assert 'AS "fill_order"' not in query.rows.sql


def test_addresses_with_pattern_characters_name_one_file() -> None:
    assert source("/a*b/[x]?/part").binds == ("/a[*]b/[[]x][?]/part",)


def test_names_are_quoted() -> None:
    assert quoted("from") == '"from"'
    assert quoted('a"b') == '"a""b"'
