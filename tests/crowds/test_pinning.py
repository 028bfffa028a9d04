"""Paging through a run while it is republished, and answering from replaced snapshots."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from datasets.publication.decisions import author, withdraw
from datasets.storage import open_storage
from tests.support import published
from tests.support.application import running
from tests.support.client import ApiClient
from tests.support.pipeline_command import run_pipeline
from tests.support.waiting import eventually

RUN = "/v1/alphas/Test_hand"
WALKERS = 16
REPUBLICATIONS = 300
"""Maximum number of republications; they end when each walker was overtaken by one."""
SLEEP = 0.05
"""Seconds between two pages, so that a walk of 20 pages sees a republication."""
BASE = {(str(r["date"]), r["symbol"]): r["score"] for r in published.decisions().to_dicts()}


def publish(root: Path, drift: int) -> str:
    kinds = {**published.full(), "decisions": published.decisions(drift=drift)}
    stamp = f"2026-01-06T{drift // 60:02d}:{drift % 60:02d}:00Z"
    return published.publish(root, kinds, mark=f"drift {drift}", sealed_at=stamp).snapshot


def drifts(rows: list[dict[str, Any]]) -> set[int]:
    """Return the builds the rows come from; scores differ by the build's number."""
    known = ((row["score"], BASE[row["date"], row["symbol"]]) for row in rows)
    return {round(score - base) for score, base in known if base}  # neither null nor 0, which would not drift


type_walk = list[tuple[str, list[dict[str, Any]]]]
"""Pages of a walk: the snapshot that answered, and its rows."""


async def walk(api: ApiClient, token: str, *, pin: bool, pages: int | None = None) -> type_walk:
    """Page through the panel two rows at a time; return each page with its snapshot."""
    headers, named = {"authorization": f"Bearer {token}"}, ""
    walked: type_walk = []
    while True:
        offset = sum(len(rows) for _, rows in walked)
        answer = await api.client.get(f"{RUN}/scores?limit=2&offset={offset}{named}", headers=headers)
        assert answer.status_code == 200, answer.text
        body = answer.json()
        walked.append((body["meta"]["snapshot"], body["data"]))
        if not body["pagination"]["has_more"] or len(walked) == pages:
            return walked
        named = f"&snapshot={walked[0][0]}" if pin else ""
        await asyncio.sleep(SLEEP)


@pytest.mark.parametrize("memory", [0, 1], ids=["in memory", "from the files"])
def test_sixteen_paging_clients_mix_no_snapshots_while_the_run_is_republished(
    tmp_path: Path, memory: int
) -> None:
    publish(tmp_path, 0)
    over = threading.Event()

    def republish() -> None:
        for drift in range(1, REPUBLICATIONS + 1):
            if over.wait(1):
                return
            publish(tmp_path, drift)

    with running(tmp_path, memory_bytes=memory) as api:
        token = api.key()
        overtaken: set[int] = set()

        async def walker(number: int) -> list[type_walk]:
            walks = []
            while len(overtaken) < WALKERS:
                walks.append(await walk(api, token, pin=True))
                now = (await walk(api, token, pin=True, pages=1))[0][0]
                if now != walks[-1][-1][0]:
                    overtaken.add(number)
            return walks

        async def all_of_them() -> list[type_walk]:
            try:
                result = await asyncio.gather(*(walker(number) for number in range(WALKERS)))
            finally:
                over.set()
            return [pages for walks in result for pages in walks]

        publisher = threading.Thread(target=republish)
        publisher.start()
        walks = api.wait(all_of_them())
        publisher.join()
    for pages in walks:
        rows = [row for _, page in pages for row in page]
        assert len({snapshot for snapshot, _ in pages}) == 1
        assert len(drifts(rows)) == 1, "a mixed walk"
        assert [(row["date"], row["symbol"]) for row in rows] == sorted(BASE), "a lost or doubled row"
    assert len({pages[0][0] for pages in walks}) > 1


def test_paging_without_a_snapshot_shows_when_snapshots_mix(tmp_path: Path) -> None:
    publish(tmp_path, 0)
    with running(tmp_path) as api:
        token = api.key()
        first = api.json(f"{RUN}/scores?limit=2", token)
        publish(tmp_path, 1)
        eventually(lambda: api.json(f"{RUN}/scores", token)["meta"]["snapshot"] != first["meta"]["snapshot"])
        second = api.json(f"{RUN}/scores?limit=2&offset=2", token)
        assert drifts(first["data"]) != drifts(second["data"])
        assert first["meta"]["published_at"] < second["meta"]["published_at"]


def test_a_snapshot_that_another_worker_served_first_is_served(tmp_path: Path) -> None:
    root, counts = tmp_path / "published", tmp_path / "counts.sqlite3"
    root.mkdir()
    publish(root, 0)
    with running(root) as quick, running(root, counts=counts, refresh_seconds=3600.0) as slow:
        token = quick.key()
        newer = publish(root, 1)
        eventually(lambda: quick.json(f"{RUN}/scores", token)["meta"]["snapshot"] == newer)
        pages = [api.get(f"{RUN}/scores?snapshot={newer}", token) for api in (quick, slow)]
        assert pages[0].content == pages[1].content
        assert drifts(slow.json(f"{RUN}/scores", token)["data"]) == {0}, "it has not looked yet"


def test_a_removed_alpha_is_not_found_whatever_snapshot_is_named(tmp_path: Path) -> None:
    snapshot = publish(tmp_path, 0)
    with running(tmp_path) as api:
        token = api.key()
        other = published.publish(tmp_path, published.full(), alpha_id="Test_other").snapshot
        eventually(lambda: api.get(f"/v1/alphas/Test_other/books?snapshot={other}", token).status_code == 200)
        assert api.json(f"{RUN}/scores?snapshot={other}", token, 404)["error"]["code"] == "snapshot_not_found"
        publish(tmp_path, 1)
        withdraw(open_storage(tmp_path), "Test_hand", author("a test"))
        eventually(lambda: api.get(f"{RUN}/scores", token).status_code == 404)
        for named in (snapshot, "0" * 20):
            assert api.json(f"{RUN}/scores?snapshot={named}", token, 404)["error"]["code"] == "run_not_found"


def test_a_snapshot_served_again_answers_as_before(tmp_path: Path) -> None:
    first = publish(tmp_path, 0)
    with running(tmp_path) as api:
        token = api.key()
        before = api.get(f"{RUN}/scores", token)
        newer = publish(tmp_path, 1)
        eventually(lambda: api.json(f"{RUN}/scores", token)["meta"]["snapshot"] == newer)
        assert run_pipeline("rollback", tmp_path, "Test_hand").exit_code == 0
        eventually(lambda: api.json(f"{RUN}/scores", token)["meta"]["snapshot"] == first)
        after = api.get(f"{RUN}/scores", token)
        pinned = api.get(f"{RUN}/scores?snapshot={first}", token)
        for answer in (after, pinned):
            assert (answer.content, answer.headers["etag"]) == (before.content, before.headers["etag"])
        assert drifts(api.json(f"{RUN}/scores?snapshot={newer}", token)["data"]) == {1}
