"""Requests on a connection: pipelined, and their lines in the log."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import plain_http, published
from tests.support.raw_http import Server, head
from tests.support.server import served
from tests.support.waiting import eventually

WEEK = f"/v1/alphas/{published.ALPHA}/rebalances/2020-01-03"
SCORES = f"/v1/alphas/{published.ALPHA}/scores"
LEDGER = f"/v1/alphas/{published.ALPHA}/portfolio"
METRICS = f"/v1/alphas/{published.ALPHA}/metrics"


@pytest.fixture(scope="module")
def base(server_root: Path, token: str) -> Iterator[str]:
    """Return a running server with week, scores and ledger cached."""
    with served(server_root) as (_, address):
        headers = {"authorization": f"Bearer {token}"}
        with plain_http.connect(base_url=address, headers=headers) as client:
            for path in (WEEK, SCORES, LEDGER):
                assert client.get(path).status_code == 200
        yield address


def test_pipelined_requests_are_answered_in_order(base: str, server_root: Path, token: str) -> None:
    # The metrics of a new window must be computed; the next answer is cached but must wait.
    paths = [
        WEEK,
        f"{METRICS}?from=2020-01-07&to=2020-01-14",
        f"{SCORES}?limit=3",
        "/v1/none",
        f"{LEDGER}?limit=2",
        WEEK,
    ]
    with Server(base, token, server_root.parent / "server.log").connect() as wire:
        wire.send(b"".join(head(path) for path in paths))
        results = [wire.answer() for _ in paths]
    assert [result.status for result in results] == [200, 200, 200, 404, 200, 200]
    assert results[0].body == results[5].body
    assert b'"ic"' in results[1].body
    assert [json.loads(results[n].body)["pagination"]["limit"] for n in (2, 4)] == [3, 2]
    assert len({result.headers["x-request-id"] for result in results}) == len(paths)


def test_every_request_has_one_line_in_the_log(base: str, server_root: Path, token: str) -> None:
    headers = {"authorization": f"Bearer {token}", "accept-encoding": "identity"}
    trace = "0af7651916cd43dd8448eb211c80319c"
    traces = [f"00-{trace}-b7ad6b7169203331-01", f"00-{'0' * 32}-b7ad6b7169203331-01", "not a trace"]
    with plain_http.connect(base_url=base, headers=headers) as client:
        own = [
            client.get(path, headers={"x-request-id": f"line-{n}", "traceparent": traces[n]})
            for n, path in enumerate([WEEK, "/v1/me", METRICS])
        ]
    assert [result.headers["x-request-id"] for result in own] == ["line-0", "line-1", "line-2"]
    log = server_root.parent / "server.log"

    def lines() -> list[dict[str, Any]]:
        written = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
        return [line for line in written if str(line.get("request_id", "")).startswith("line-")]

    eventually(lambda: len(lines()) >= len(own))
    assert [line["request_id"] for line in lines()] == ["line-0", "line-1", "line-2"]
    assert [line["bytes"] for line in lines()] == [len(result.content) for result in own]
    assert {line["status"] for line in lines()} == {200}
    assert [line["trace_id"] for line in lines()] == [trace, None, None]
