from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from serve.observability.damage import Damage
from serve.pages.tables import RowTables
from serve.reader_lease import ReaderLease
from tests.support import published
from tests.support.application import running
from tests.support.client import ApiClient
from tests.support.waiting import eventually_is

RUN = "/v1/alphas/Test_hand"


def publish(root: Path, drift: float) -> str:
    kinds = {**published.full(), "decisions": published.decisions(drift=drift)}
    stamp = f"2026-01-{6 + int(drift):02d}T00:00:00Z"
    return published.publish(root, kinds, mark=f"drift {drift}", sealed_at=stamp).snapshot


def score(api: ApiClient, token: str) -> float:
    return float(api.json(f"{RUN}/scores?symbol=A&limit=1", token)["data"][0]["score"])


@pytest.mark.parametrize("part", [Damage.drop_unserved, RowTables.drop_unserved, ReaderLease.refresh])
def test_publications_are_followed_after_a_failure_to_complete_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: Callable[..., None]
) -> None:
    def fail(*_: object) -> None:
        raise ValueError("a mistake of the program")

    owner, _, name = part.__qualname__.partition(".")
    monkeypatch.setattr(f"{part.__module__}.{owner}.{name}", fail)
    publish(tmp_path, 0)
    with running(tmp_path) as api:
        token = api.key()
        before = score(api, token)
        for drift in (10, 20):
            publish(tmp_path, drift)
            eventually_is(lambda: score(api, token), before + drift)


def test_a_missing_book_is_answered_with_those_of_the_requested_snapshot(tmp_path: Path) -> None:
    def publish_trades(*books: str, day: int) -> str:
        trades = {book: published.trades(book) for book in books}
        return published.publish(
            tmp_path, {"trades": trades}, sealed_at=f"2026-01-{day:02d}T00:00:00Z"
        ).snapshot

    first = publish_trades("long_short", "long_only", day=6)
    publish_trades("long_only", day=7)
    with running(tmp_path) as api:
        token = api.key()
        for query, books in (
            ("", ["long_only"]),
            (f"?snapshot={first}", ["long_short", "long_only"]),
            (f"?snapshot={first}&limit=0", ["long_short", "long_only"]),
            (f"?snapshot={'0' * 20}", ["long_only"]),
        ):
            error = api.json(f"{RUN}/trades{query}", token, 400)["error"]
            assert (error["code"], error["details"]["available"]) == ("bad_request", books)


def test_an_alpha_can_appear_and_disappear_beside_another(tmp_path: Path) -> None:
    published.publish(tmp_path, {"rebalances": published.rebalances()}, alpha_id="Test_other")
    with running(tmp_path) as api:
        token = api.key()

        def status() -> int:
            return api.get(f"{RUN}/scores", token).status_code

        assert status() == 404
        publish(tmp_path, 0)
        eventually_is(status, 200)
        (tmp_path / "catalog" / "Test_hand.json").unlink()
        eventually_is(status, 404)


def test_one_request_sees_one_snapshot_while_others_are_published(tmp_path: Path) -> None:
    """Every row of an answer comes from one build; scores differ by the build's drift."""
    publish(tmp_path, 0)
    base = {(r["date"], r["symbol"]): r["score"] for r in published.decisions().to_dicts()}
    with running(tmp_path) as api:
        token = api.key()
        headers = {"authorization": f"Bearer {token}", "accept-encoding": "gzip"}
        paths = [f"{RUN}/scores"] * 6 + [f"{RUN}/rebalances/2020-01-17"] * 2
        seen = set()
        for drift in range(1, 12):
            publish(tmp_path, drift)
            for response in api.send_together([(path, headers) for path in paths]):
                body = response.json()
                day = body["meta"].get("date")
                drifts = {
                    round(row["score"] - known)
                    for row in body["data"]
                    if (known := base[_day(day or row["date"]), row["symbol"]])  # neither null nor fixed at 0
                }
                assert len(drifts) == 1
                seen |= drifts
            time.sleep(0.05)
        assert len(seen) > 2


def _day(text: str) -> Any:
    return next(day for day in published.WEEKS if day.isoformat() == text)


def health(api: ApiClient) -> str:
    return str(api.get("/v1/health").json()["status"])


@pytest.mark.parametrize(
    "path",
    ["/v1/alphas", "/v1/screen", "/v1/changes", "/v1/luck", "/v1/admin/alphas", "/delta-sharing/shares"],
)
def test_a_node_that_has_not_read_the_catalogue_lists_nothing(tmp_path: Path, path: str) -> None:
    with running(tmp_path / "away" / "root", counts=tmp_path / "counts", store=str(tmp_path / "keys")) as api:
        result = api.get(path, api.key(admin=True))
    assert result.status_code == 503, result.text
    assert "upstream_unavailable" in result.text.lower()


def test_a_broken_pointer_is_degraded_and_leaves_the_served_snapshot(tmp_path: Path) -> None:
    publish(tmp_path, 0)
    pointer = tmp_path / "catalog" / "Test_hand.json"
    with running(tmp_path) as api:
        token = api.key()
        content = pointer.read_bytes()
        pointer.write_bytes(b"{")
        eventually_is(lambda: health(api), "degraded")
        assert api.get(f"{RUN}/scores", token).status_code == 200
        pointer.write_bytes(content)
        eventually_is(lambda: health(api), "ok")
