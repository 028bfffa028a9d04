from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.serving.test_signals import frame_rows
from tests.support import published
from tests.support.application import running
from tests.support.client import ApiClient

RUN = "/v1/alphas/Test_hand"
PLAIN_BOOKS = [
    "long_short",
    "long_only",
    "long_short_adjustments",
    "long_short_settlements",
    "long_only_adjustments",
    "long_only_settlements",
]
RAW_BOOKS = [f"raw_{book}" for book in PLAIN_BOOKS]
KINDS = ("portfolio", "positions", "pnl", "trades")
MAKERS = {
    "portfolio": published.ledger,
    "positions": published.positions,
    "pnl": published.pnl,
    "trades": published.trades,
}


def rows_of(kind: str, book: str) -> list[dict[str, Any]]:
    frame = MAKERS[kind](book)
    if kind == "trades":
        frame = frame.sort("timestamp", "symbol", "fill_order").drop("fill_order")
    return [{"book": book, **row} for row in frame_rows(frame)]


def test_books_are_listed_in_order_with_span_and_size(api: ApiClient, plain: str, raw: str) -> None:
    body = api.json(f"{RUN}/books", plain)
    assert len(body["data"]) == 12
    assert [row["book"] for row, _ in itertools.groupby(body["data"])] == [
        *["long_short"] * 4,
        *["long_only"] * 4,
        *PLAIN_BOOKS[2:],
    ]
    assert body["data"][3] == {
        "book": "long_short",
        "kind": "trades",
        "raw": False,
        "sessions": 3,
        "rows": 9,
        "from": "2020-01-06",
        "to": "2020-01-20",
    }
    assert [row["kind"] for row in body["data"][:4]] == list(KINDS)
    everything = api.json(f"{RUN}/books", raw)["data"]
    assert everything[:12] == body["data"]
    assert [row["raw"] for row in everything[12:]] == [True] * 12
    assert body["meta"]["source_alpha_id"] == published.SOURCE


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("book", ["long_short", "long_only"])
def test_each_dataset_serves_its_book(api: ApiClient, plain: str, kind: str, book: str) -> None:
    body = api.json(f"{RUN}/{kind}?book={book}", plain)
    assert body["data"] == rows_of(kind, book)
    assert {k: v for k, v in body["meta"].items() if k not in published.NAMED} == {
        "run": "Test_hand",
        "alpha_id": "Test_hand",
        "source_alpha_id": published.SOURCE,
        "book": book,
    }


def test_the_long_short_book_is_the_default_but_for_trades(api: ApiClient, plain: str) -> None:
    for kind in ("portfolio", "positions", "pnl", "equity-curve"):
        assert api.json(f"{RUN}/{kind}", plain)["meta"]["book"] == "long_short"
    error = api.json(f"{RUN}/trades", plain, 400)["error"]
    assert error["code"] == "bad_request"
    assert [entry["name"] for entry in error["details"]["parameters"]] == ["book"]
    assert error["details"]["available"] == PLAIN_BOOKS


def test_books_are_listed_only_to_those_who_may_read_the_run(api: ApiClient) -> None:
    token = api.key(runs="list:other")
    error = api.json(f"{RUN}/trades", token, 403)["error"]
    absent = api.json("/v1/alphas/absent/trades", token, 403)["error"]
    assert error["details"] is None
    assert {**error, "request_id": ""} == {**absent, "request_id": ""}


@pytest.mark.parametrize("kind", ["portfolio", "positions", "pnl", "trades", "equity-curve"])
def test_a_hidden_book_looks_like_a_missing_one(api: ApiClient, plain: str, raw: str, kind: str) -> None:
    hidden = api.json(f"{RUN}/{kind}?book=raw_long_short", plain, 400)["error"]
    absent = api.json(f"{RUN}/{kind}?book=raw_nothing", plain, 400)["error"]
    assert {**hidden, "request_id": ""} == {**absent, "request_id": ""}
    assert hidden["code"] == "unknown_book"
    assert hidden["details"] == {"available": PLAIN_BOOKS}
    assert api.json(f"{RUN}/{kind}?book=raw_long_short", raw)["meta"]["book"] == "raw_long_short"
    error = api.json(f"{RUN}/{kind}?book=", raw, 400)["error"]
    assert error["details"] == {"available": PLAIN_BOOKS + RAW_BOOKS}


@pytest.mark.parametrize("kind", ["portfolio", "positions", "pnl", "equity-curve"])
def test_a_trade_only_variant_has_only_trades(api: ApiClient, plain: str, kind: str) -> None:
    body = api.json(f"{RUN}/{kind}?book=long_only_settlements", plain)
    assert body["data"] == []
    assert body["pagination"]["total"] == 0
    (warning,) = body["meta"]["warnings"]
    assert (warning["code"], warning["kind"]) == ("kind_missing", kind.replace("equity-curve", "portfolio"))
    assert api.json(f"{RUN}/trades?book=long_only_settlements", plain)["pagination"]["total"] == 9


@pytest.mark.parametrize("kind", KINDS)
def test_windows_include_both_days_and_an_empty_one_is_no_warning(
    api: ApiClient, plain: str, kind: str
) -> None:
    query = "book=long_short&from=2020-01-13&to=2020-01-20"
    body = api.json(f"{RUN}/{kind}?{query}", plain)
    column = "timestamp" if kind == "trades" else "date"
    expected = [r for r in rows_of(kind, "long_short") if "2020-01-13" <= r[column][:10] <= "2020-01-20"]
    assert body["data"] == expected
    assert expected
    assert body["pagination"]["total"] == len(expected)
    empty = api.json(f"{RUN}/{kind}?book=long_short&from=2030-01-01", plain)
    assert empty["data"] == []
    assert "warnings" not in empty["meta"]


def test_the_last_instant_of_a_day_belongs_to_it(api: ApiClient, plain: str) -> None:
    body = api.json(f"{RUN}/trades?book=long_short&from=2020-01-20&to=2020-01-20", plain)
    assert body["data"][-1]["timestamp"] == "2020-01-20T23:59:59.999999Z"
    assert body["pagination"]["total"] == 3


@pytest.mark.parametrize("kind", ["positions", "pnl", "trades"])
def test_symbols_filter_rows_and_total(api: ApiClient, plain: str, kind: str) -> None:
    body = api.json(f"{RUN}/{kind}?book=long_short&symbol=B,nobody", plain)
    expected = [r for r in rows_of(kind, "long_short") if r["symbol"] == "B"]
    assert body["data"] == expected
    assert body["pagination"]["total"] == len(expected)


def test_the_ledger_has_no_symbols(api: ApiClient, plain: str) -> None:
    error = api.json(f"{RUN}/portfolio?symbol=A", plain, 400)["error"]
    assert [entry["name"] for entry in error["details"]["parameters"]] == ["symbol"]
    error = api.json(f"{RUN}/equity-curve?symbol=A", plain, 400)["error"]
    assert "not a parameter" in error["details"]["parameters"][0]["constraint"]


def oracle(frame: pl.DataFrame) -> list[dict[str, Any]]:
    """Oracle: the curve computed one session at a time."""
    growth, peak, rows = 1.0, float("-inf"), []
    for row in frame.to_dicts():
        start, end = row["starting_equity"], row["ending_equity"]
        change = None if start == 0 else (end - start) / start
        growth *= 1 if change is None else 1 + change
        peak = max(peak, start, end)
        rows.append(
            {
                "date": row["date"].isoformat(),
                "period_return": change,
                "cumulative_return": None if change is None else growth - 1,
                "peak_equity": peak,
                "drawdown": peak - end,
                "drawdown_pct": (peak - end) / peak * 100,
            }
        )
    return rows


@pytest.mark.parametrize("window", ["", "&from=2020-01-08", "&from=2020-01-08&to=2020-01-15"])
def test_the_equity_curve_is_measured_over_the_window_before_it_is_paged(
    api: ApiClient, plain: str, window: str
) -> None:
    full = api.json(f"{RUN}/equity-curve?book=long_only{window}", plain)
    ledger = published.ledger("long_only")
    if "from" in window:
        ledger = ledger.filter(pl.col("date") >= pl.date(2020, 1, 8))
    if "to=" in window:
        ledger = ledger.filter(pl.col("date") <= pl.date(2020, 1, 15))
    expected = oracle(ledger)
    served = [{name: row[name] for name in expected[0]} for row in full["data"]]
    for actual, row in zip(served, expected, strict=True):
        assert actual["date"] == row.pop("date")
        actual.pop("date")
        assert actual == pytest.approx(row, rel=1e-12, abs=1e-15)
    assert list(full["data"][0]) == [
        "date",
        "timestamp",
        "starting_equity",
        "ending_equity",
        "period_return",
        "cumulative_return",
        "peak_equity",
        "drawdown",
        "drawdown_pct",
        "gross_exposure",
        "net_exposure",
        "turnover",
    ]
    page = api.json(f"{RUN}/equity-curve?book=long_only{window}&limit=2&offset=3", plain)
    assert page["data"] == full["data"][3:5]
    assert page["meta"]["summary"] == full["meta"]["summary"]


def test_the_summary_of_a_curve(api: ApiClient, plain: str) -> None:
    summary = api.json(f"{RUN}/equity-curve", plain)["meta"]["summary"]
    ledger = published.ledger("long_short")
    rows = oracle(ledger)
    worst = max(rows, key=lambda row: row["drawdown_pct"])
    assert (summary["first_date"], summary["last_date"], summary["sessions"]) == (
        "2020-01-06",
        "2020-01-21",
        12,
    )
    assert summary["book"] == "long_short"
    assert summary["starting_equity"] == 1.0
    assert summary["ending_equity"] == ledger["ending_equity"][-1]
    assert summary["peak_equity"] == rows[-1]["peak_equity"]
    assert summary["total_return"] == pytest.approx(ledger["ending_equity"][-1] - 1, rel=1e-12)
    assert summary["cumulative_return_pct"] == pytest.approx(rows[-1]["cumulative_return"] * 100, rel=1e-12)
    assert summary["max_drawdown"] == pytest.approx(max(row["drawdown"] for row in rows), rel=1e-12)
    assert summary["max_drawdown_pct"] == pytest.approx(worst["drawdown_pct"], rel=1e-12)
    assert summary["max_drawdown_date"] == worst["date"]


def test_an_empty_window_has_no_figures(api: ApiClient, plain: str) -> None:
    body = api.json(f"{RUN}/equity-curve?from=2030-01-01", plain)
    assert body["data"] == []
    summary = body["meta"]["summary"]
    assert summary.pop("sessions") == 0
    assert summary.pop("book") == "long_short"
    assert set(summary.values()) == {None}
    assert "warnings" not in body["meta"]


def test_a_session_that_opens_with_zero_equity_has_no_return(tmp_path: Path) -> None:
    ledger = published.ledger("long_short").with_columns(
        starting_equity=pl.when(pl.int_range(pl.len()) == 4).then(0.0).otherwise("starting_equity")
    )
    published.publish(tmp_path, {"portfolio": {"long_short": ledger}})
    with running(tmp_path) as api:
        rows = api.json(f"{RUN}/equity-curve", api.key())["data"]
    assert [row["period_return"] is None for row in rows] == [n == 4 for n in range(len(rows))]
    assert rows[4]["cumulative_return"] is None


def test_a_missing_dataset_is_named(tmp_path: Path) -> None:
    kinds = {k: v for k, v in published.full().items() if k in ("portfolio", "positions")}
    published.publish(tmp_path, kinds)
    with running(tmp_path) as api:
        token = api.key()
        for kind in ("pnl", "trades"):
            body = api.json(f"{RUN}/{kind}?book=long_short", token)
            assert body["data"] == []
            assert [(w["code"], w["kind"]) for w in body["meta"]["warnings"]] == [("kind_missing", kind)]
            assert api.get(f"{RUN}/{kind}?book=other", token).status_code == 400
        assert {row["kind"] for row in api.json(f"{RUN}/books", token)["data"]} == {"portfolio", "positions"}


@pytest.mark.parametrize("books", [(), ("raw_long_short",)])
def test_runs_without_visible_books_have_empty_pages(tmp_path: Path, books: tuple[str, ...]) -> None:
    kinds: dict[str, Any] = {"rebalances": published.rebalances()}
    if books:
        kinds["portfolio"] = {book: published.ledger(book) for book in books}
    published.publish(tmp_path, kinds)
    with running(tmp_path) as api:
        token = api.key()
        for kind in KINDS:
            body = api.json(f"{RUN}/{kind}?book=long_short", token)
            assert [(w["code"], w["kind"]) for w in body["meta"]["warnings"]] == [("kind_missing", kind)]
            for other in ("raw_long_short", "nothing"):
                alike = api.json(f"{RUN}/{kind}?book={other}", token)
                assert {**alike, "meta": {**alike["meta"], "book": "long_short"}} == body
        curve = api.json(f"{RUN}/equity-curve", token)
        summary = curve["meta"]["summary"]
        assert (summary.pop("book"), summary.pop("sessions")) == ("long_short", 0)
        assert (len(summary), set(summary.values())) == (10, {None})
        listed = api.json(f"{RUN}/books", token)
        assert listed["data"] == []
        assert [w["kind"] for w in listed["meta"]["warnings"]] == list(KINDS)
        assert api.json(f"{RUN}/trades", token, 400)["error"]["details"]["available"] == []
