from __future__ import annotations

import datetime as dt
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support import published
from tests.support.application import running
from tests.support.client import ApiClient

RUN = "/v1/alphas/Test_hand"
WEEK = f"{RUN}/rebalances/2020-01-03"


def frame_rows(frame: Any) -> list[dict[str, Any]]:
    """Oracle: the rows of a frame, written without the server's code."""
    rows = frame.to_dicts()
    for row in rows:
        for name, value in row.items():
            if isinstance(value, dt.datetime):
                text = value.replace(tzinfo=None).isoformat(timespec="microseconds")
                row[name] = text.removesuffix(".000000") + "Z"
            elif isinstance(value, dt.date):
                row[name] = value.isoformat()
    return list(rows)


ALL = frame_rows(published.decisions())


def week_of(day: str) -> list[dict[str, Any]]:
    return [{k: v for k, v in row.items() if k != "date"} for row in ALL if row["date"] == day]


def in_order(rows: list[dict[str, Any]], column: str, falling: bool) -> list[str]:
    known = sorted((r for r in rows if r[column] is not None), key=lambda r: r["symbol"])
    known.sort(key=lambda r: r[column], reverse=falling)
    unknown = sorted(r["symbol"] for r in rows if r[column] is None)
    return [r["symbol"] for r in known] + unknown


def without_name(meta: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in meta.items() if name not in published.NAMED}


def test_the_index_lists_every_week_including_skipped_and_pending(api: ApiClient, plain: str) -> None:
    body = api.json(f"{RUN}/rebalances", plain)
    assert body["data"] == frame_rows(published.rebalances())
    assert without_name(body["meta"]) == {"run": "Test_hand", "alpha_id": published.SOURCE}


def test_a_cross_section_is_served_strongest_first(api: ApiClient, raw: str) -> None:
    body = api.json(WEEK, raw)
    expected = week_of("2020-01-03")
    assert [row["symbol"] for row in body["data"]] == in_order(expected, "score", falling=True)
    assert sorted(body["data"], key=lambda r: r["symbol"]) == expected
    assert without_name(body["meta"]) == {
        "run": "Test_hand",
        "alpha_id": published.SOURCE,
        "book": "long_short",
        "date": "2020-01-03",
        "week_status": "traded",
        "n_symbols": len(published.NAMES),
    }


def test_timestamps_have_microseconds_only_if_not_zero(api: ApiClient, plain: str) -> None:
    rows = {row["symbol"]: row for row in api.json(WEEK, plain)["data"]}
    assert rows["A"]["fill_at"] == "2020-01-06T14:30:00.250000Z"
    assert rows["B"]["fill_at"] == "2020-01-06T14:30:00Z"
    assert rows["E"]["fill_at"] is None


@pytest.mark.parametrize(
    ("query", "column", "falling"),
    [
        ("sort=score", "score", True),
        ("sort=score&order=asc", "score", False),
        ("sort=rank", "average_rank", False),
        ("sort=rank&order=desc", "average_rank", True),
        ("sort=weight", "long_short_target_weight", True),
        ("sort=weight&order=asc", "long_short_target_weight", False),
        ("sort=weight&book=long_only", "long_only_target_weight", True),
        ("sort=symbol", "symbol", False),
        ("sort=symbol&order=desc", "symbol", True),
        ("order=asc", "score", False),
    ],
)
def test_orders_with_a_ticker_tiebreak_and_nulls_last(
    api: ApiClient, plain: str, query: str, column: str, falling: bool
) -> None:
    served = [row["symbol"] for row in api.json(f"{WEEK}?{query}", plain)["data"]]
    assert served == in_order(week_of("2020-01-03"), column, falling)


@pytest.mark.parametrize(
    ("query", "keep"),
    [
        ("direction=long", lambda r: r["direction"] == 1),
        ("direction=-1", lambda r: r["direction"] == -1),
        ("direction=NEUTRAL", lambda r: r["direction"] == 0),
        ("symbol=C,A,nobody", lambda r: r["symbol"] in "AC"),
        ("symbol=nobody", lambda _: False),
        ("symbol=a", lambda _: False),
        ("min_abs_weight=0.125", lambda r: abs(r["long_short_target_weight"]) >= 0.125),
        ("min_abs_weight=0.2", lambda r: abs(r["long_short_target_weight"]) >= 0.2),
        ("min_abs_weight=0.5&book=long_only", lambda r: abs(r["long_only_target_weight"]) >= 0.5),
        ("min_abs_weight=0", lambda _: True),
        (
            "direction=1&symbol=A,B,C&min_abs_weight=0.1",
            lambda r: r["direction"] == 1 and r["symbol"] in "ABC",
        ),
    ],
)
def test_filters_apply_to_rows_and_total_but_not_to_the_cohort(
    api: ApiClient, plain: str, query: str, keep: Any
) -> None:
    body = api.json(f"{WEEK}?{query}", plain)
    expected = {row["symbol"] for row in week_of("2020-01-03") if keep(row)}
    assert {row["symbol"] for row in body["data"]} == expected
    assert body["pagination"]["total"] == len(expected)
    assert body["meta"]["n_symbols"] == len(published.NAMES)
    codes = [notice["code"] for notice in body["meta"].get("notices", ())]
    assert codes == (["unknown_symbol"] if "nobody" in query or query == "symbol=a" else [])


def test_invalid_tickers_are_refused_and_undecodable_ones_match_no_row(api: ApiClient, plain: str) -> None:
    assert api.json(f"{WEEK}?symbol=A%00", plain, 400)["error"]["code"] == "bad_request"
    assert api.json(f"{RUN}/scores?symbol=%ff", plain)["data"] == []


def test_a_skipped_week_is_an_empty_cross_section(api: ApiClient, plain: str) -> None:
    body = api.json(f"{RUN}/rebalances/2020-01-10", plain)
    assert body["data"] == []
    assert body["pagination"]["total"] == 0
    assert body["meta"]["week_status"] == "constant_scores"
    assert body["meta"]["n_symbols"] == 0
    assert "warnings" not in body["meta"]


@pytest.mark.parametrize(
    ("day", "previous", "following"),
    [
        ("2020-01-02", None, "2020-01-03"),
        ("2020-01-04", "2020-01-03", "2020-01-10"),
        ("2020-02-01", "2020-01-24", None),
        ("0001-01-01", None, "2020-01-03"),
    ],
)
def test_another_day_is_not_found_and_its_neighbours_are_named(
    api: ApiClient, plain: str, day: str, previous: str | None, following: str | None
) -> None:
    error = api.json(f"{RUN}/rebalances/{day}", plain, 404)["error"]
    assert error["code"] == "rebalance_not_found"
    assert error["details"] == {
        "first": "2020-01-03",
        "last": "2020-01-24",
        "previous": previous,
        "next": following,
    }


def test_the_core_panel_has_its_columns_in_order(api: ApiClient, plain: str, raw: str) -> None:
    core = [
        "date",
        "symbol",
        "score",
        "score_z",
        "average_rank",
        "direction",
        "long_short_target_weight",
        "long_only_target_weight",
        "forward_return",
    ]
    body = api.json(f"{RUN}/scores", plain)
    assert all(list(row) == core for row in body["data"])
    assert body["meta"]["fields"] == "core"
    assert all(list(row) == [*core, "raw_score"] for row in api.json(f"{RUN}/scores", raw)["data"])
    assert [(r["date"], r["symbol"]) for r in body["data"]] == [(r["date"], r["symbol"]) for r in ALL]


def test_the_full_panel_is_the_decision_record_with_its_date(api: ApiClient, plain: str, raw: str) -> None:
    body = api.json(f"{RUN}/scores?fields=all", raw)
    assert body["meta"]["fields"] == "all"
    assert body["data"] == ALL
    hidden = [{k: v for k, v in row.items() if not k.startswith("raw_")} for row in ALL]
    assert api.json(f"{RUN}/scores?fields=all", plain)["data"] == hidden


def test_a_root_whose_name_is_like_a_pattern_is_read_and_no_other(tmp_path: Path) -> None:
    root = tmp_path / "odd [1]"
    root.mkdir()
    published.publish(root, published.full())
    for other in shutil.copytree(root, tmp_path / "odd 1").rglob("*.parquet"):
        other.write_bytes(b"of another root")
    with running(root) as api:
        assert api.json(f"{RUN}/scores?fields=all", api.key(raw=True))["data"] == ALL
