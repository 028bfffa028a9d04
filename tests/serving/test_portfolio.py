from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.serving.test_signals import frame_rows
from tests.support import published
from tests.support.application import running
from tests.support.client import ApiClient

RUN = "/v1/alphas/Test_hand"
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


def test_the_last_instant_of_a_day_belongs_to_it(api: ApiClient, plain: str) -> None:
    body = api.json(f"{RUN}/trades?book=long_short&from=2020-01-20&to=2020-01-20", plain)
    assert body["data"][-1]["timestamp"] == "2020-01-20T23:59:59.999999Z"
    assert body["pagination"]["total"] == 3


def test_a_run_without_the_default_book_names_it_and_its_own_books(tmp_path: Path) -> None:
    ledgers = {book: published.ledger(book) for book in ("long_only", "raw_long_only")}
    published.publish(tmp_path, {"portfolio": ledgers})
    with running(tmp_path) as api:
        for endpoint in ("equity-curve", "costs", "luck", "neighbours"):
            error = api.json(f"{RUN}/{endpoint}", api.key(), status=400)["error"]
            assert error["code"] == "unknown_book"
            assert error["message"] == (
                "The run has no book long_short, the default, or this key may not read it; "
                "`details.available` lists those it may read."
            )
            assert error["details"] == {"available": ["long_only"]}
        named = api.json(f"{RUN}/portfolio?book=other", api.key(raw=True), status=400)["error"]
    assert (
        named["message"]
        == "The run has no such book, or this key may not read it; `details.available` lists those it may read."
    )
    assert named["details"] == {"available": ["long_only", "raw_long_only"]}


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
