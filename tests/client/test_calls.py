"""Retries, pinning, the cache, errors and secrecy of the client's calls."""

from __future__ import annotations

import asyncio
import logging
import os
import pickle
import time
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from alpha_results_client import (
    AlphaResultsClientError,
    ApiError,
    AsyncClient,
    Client,
    InvalidRequest,
    NoAnswer,
    NotAllowed,
    NotAuthenticated,
    NotFound,
    RateLimited,
    SnapshotNotFound,
    Unavailable,
    UnexpectedAnswer,
    collect,
)
from alpha_results_client.cache import DiskCache

from pipeline.snapshot_builder import build_seal
from tests.client.conftest import Service
from tests.client.tampering import TamperingTransport, refusal
from tests.support.contract_app import FULL, HIDDEN
from tests.support.seals import make_seal
from tests.support.waiting import eventually

KEY = "ar_live_0123456789abcdef." + "s" * 43
BASE = "http://service.invalid"


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    results: list[float] = []
    monkeypatch.setattr(time, "sleep", results.append)
    return results


def answering(*answers: httpx.Response | Exception) -> httpx.MockTransport:
    remaining = list(answers)

    def answer(_: httpx.Request) -> httpx.Response:
        result = remaining.pop(0)
        if isinstance(result, Exception):
            raise result
        return result

    return httpx.MockTransport(answer)


def healthy() -> httpx.Response:
    return httpx.Response(200, json={"status": "ok"})


def test_retry_after_is_obeyed(waits: list[float]) -> None:
    limited = refusal(429, "rate_limit_second", **{"Retry-After": "7"})
    with Client(BASE, KEY, transport=answering(limited, healthy())) as client:
        assert client.health() == {"status": "ok"}
    assert waits == [7.0]


def test_a_wait_longer_than_allowed_raises_at_once(waits: list[float]) -> None:
    used_up = refusal(429, "quota_exceeded", **{"Retry-After": "90000"})
    with Client(BASE, KEY, transport=answering(used_up)) as client, pytest.raises(RateLimited) as caught:
        client.health()
    assert waits == []
    assert (caught.value.code, caught.value.retry_after, caught.value.status) == (
        "quota_exceeded",
        90000.0,
        429,
    )


def test_transient_errors_are_retried_with_backoff_and_then_raised(waits: list[float]) -> None:
    away: list[httpx.Response | Exception] = [
        httpx.ConnectError("refused"),
        refusal(503, "upstream_unavailable"),
        httpx.Response(502, text="<html>"),
    ]
    with Client(BASE, KEY, transport=answering(*away, healthy())) as client:
        assert client.health() == {"status": "ok"}
    assert waits == sorted(waits)
    assert len(waits) == 3
    with Client(BASE, KEY, retries=1, transport=answering(*away)) as client, pytest.raises(Unavailable):
        client.health()
    with Client(BASE, KEY, retries=0, transport=answering(*away)) as client, pytest.raises(NoAnswer):
        client.health()


@pytest.mark.parametrize(
    ("status", "code"), [(503, "benchmark_not_configured"), (500, "internal_error"), (403, "run_not_allowed")]
)
def test_permanent_errors_are_not_retried(waits: list[float], status: int, code: str) -> None:
    with (
        Client(BASE, KEY, transport=answering(refusal(status, code))) as client,
        pytest.raises(ApiError, match=code),
    ):
        client.health()
    assert waits == []


def test_the_client_waits_for_a_real_keys_limits(service: Service) -> None:
    recorder = TamperingTransport()
    with Client(service.address, service.keys["second"], transport=recorder) as client:  # one call per second
        for _ in range(2):
            client.me()
    assert recorder.statuses.count(200) == 2
    assert 429 in recorder.statuses


def test_an_answer_of_another_service_is_reported_as_such() -> None:
    for wrong in (
        httpx.Response(200, text="<html>"),
        httpx.Response(200, json=[1]),
        httpx.Response(200, json={}),
    ):
        with Client(BASE, KEY, transport=answering(wrong)) as client, pytest.raises(UnexpectedAnswer):
            client.alphas()
    moved = httpx.Response(302, headers={"Location": "https://elsewhere.invalid/"})
    with Client(BASE, KEY, transport=answering(moved)) as client, pytest.raises(ApiError, match="302"):
        client.alphas()


def test_errors_carry_code_message_details_and_request_id(service: Service) -> None:
    with Client(service.address, service.keys["testing"]) as client:
        with pytest.raises(InvalidRequest) as invalid:
            client[FULL].positions("nothing")
        with pytest.raises(NotFound) as missing:
            client[FULL].rebalance("1999-01-01")
        with pytest.raises(NotAllowed) as forbidden:
            client[HIDDEN].scores()
        with pytest.raises(SnapshotNotFound) as gone:
            client.run(FULL, snapshot="0" * 20).scores()
    with (
        Client(service.address, service.keys["revoked"]) as client,
        pytest.raises(NotAuthenticated) as revoked,
    ):
        client.me()
    for caught, code in (
        (invalid, "unknown_book"), (missing, "rebalance_not_found"), (forbidden, "run_not_allowed"),
        (gone, "snapshot_not_found"), (revoked, "key_revoked"),
    ):  # fmt: skip
        assert caught.value.code == code
        assert caught.value.message
        assert caught.value.request_id
        assert caught.value.request_id in str(caught.value)
        assert isinstance(caught.value, AlphaResultsClientError)
        assert pickle.loads(pickle.dumps(caught.value)).code == code
    assert "long_short" in (invalid.value.details or {})["available"]


def test_pages_come_from_one_snapshot_although_another_is_published_between_them(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collect, "PAGE", 100)
    name = "Test_republished"
    build_seal(str(make_seal(tmp_path / "1", alpha_id=name)), service.root)
    key = {"authorization": f"Bearer {service.keys['raw']}"}
    books = f"{service.address}/v1/alphas/{name}/books"
    eventually(lambda: httpx.get(books, headers=key).status_code == 200)
    first = httpx.get(books, headers=key).json()["meta"]["snapshot"]

    def republish(requests: int) -> None:
        if requests == 1:
            build_seal(str(make_seal(tmp_path / "2", alpha_id=name, seed=2, started_at="2026-02-05T06:00:00Z",
                                     sealed_at="2026-02-05T07:00:00Z")), service.root)  # fmt: skip
            eventually(lambda: httpx.get(books, headers=key).json()["meta"]["snapshot"] != first)

    with Client(service.address, service.keys["raw"]) as client:
        before = client[name].scores()
    recorder = TamperingTransport(before=republish)
    with Client(service.address, service.keys["raw"], transport=recorder, links=False) as client:
        result = client.table("signals.scores", alpha=name)
    assert result.meta["snapshot"] == first
    assert result.frame.equals(before)
    assert [request.url.params.get("snapshot") for request in recorder.requests] == [None] + [first] * (
        len(recorder.requests) - 1
    )
    with Client(service.address, service.keys["raw"]) as client:
        assert not client[name].scores().equals(before)
        assert client.run(name, first).scores().equals(before)
        assert client.run(name, first).pinned().snapshot == first
        assert client[name].pinned().snapshot != first


def test_a_cached_answer_is_used_while_its_entity_tag_is_confirmed(service: Service, tmp_path: Path) -> None:
    folder = tmp_path / "answers"
    for requested in range(3):
        recorder = TamperingTransport()
        with Client(
            service.address, service.keys["raw"], cache=folder, transport=recorder, links=False
        ) as client:
            result = client[FULL].scores()
        assert set(recorder.statuses) == {304 if requested else 200}
        assert result.height > 100
    other = TamperingTransport()
    with Client(
        service.address, service.keys["reader"], cache=folder, transport=other, links=False
    ) as client:
        assert "raw_score" not in client[FULL].scores().columns
    assert set(other.statuses) == {200}, "an answer to one key is none for another"
    for path in folder.iterdir():
        assert path.stat().st_mode & 0o077 == 0
        assert KEY.encode() not in path.read_bytes()
        path.write_bytes(path.read_bytes()[:-5])
    damaged = TamperingTransport()
    with Client(service.address, service.keys["raw"], cache=folder, transport=damaged, links=False) as client:
        assert client[FULL].scores().equals(result)
    assert set(damaged.statuses) == {200}


def test_cached_answers_stay_within_their_bound(service: Service, tmp_path: Path) -> None:
    bound = 200_000
    with Client(service.address, service.keys["raw"], cache=tmp_path, cache_bytes=bound) as client:
        for book in ("long_short", "long_only"):
            client[FULL].positions(book)
            client[FULL].pnl(book)
            client[FULL].portfolio(book)
    sizes = [path.stat().st_size for path in tmp_path.iterdir()]
    assert sizes
    assert sum(sizes) <= max(bound, *sizes)


def test_the_draft_of_a_killed_process_is_removed_from_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        raise SystemExit

    cache = DiskCache(tmp_path)
    with monkeypatch.context() as during:
        during.setattr(Path, "replace", killed)
        with pytest.raises(SystemExit):
            cache.write("first", '"1"', b"body")
    (draft,) = tmp_path.iterdir()
    cache.write("second", '"2"', b"body")
    assert draft.exists(), "another process may be writing it"
    os.utime(draft, (0, 0))
    cache.write("third", '"3"', b"body")
    assert not draft.exists()
    assert [cache.read(name) is not None for name in ("first", "second", "third")] == [False, True, True]


def test_the_key_appears_in_no_repr_error_or_log(service: Service, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    key = service.keys["raw"]
    secret = key.partition(".")[2]
    shown: list[str] = []

    def failing(call: Callable[[], Any], *, with_locals: bool = True) -> None:
        with pytest.raises(AlphaResultsClientError) as caught:
            call()
        result = traceback.TracebackException.from_exception(caught.value, capture_locals=with_locals)
        # The test's own variables hold the key; the client need not hide these.
        result.stack[:] = [frame for frame in result.stack if frame.filename != __file__]
        shown.extend(["".join(result.format()), repr(caught.value)])

    with Client(service.address, key) as client:
        client.me()
        shown += [
            repr(client),
            str(client),
            repr(client[FULL]),
            repr(vars(client)),
        ]
        failing(lambda: client[FULL].positions("nothing"))
        with pytest.raises(TypeError):
            pickle.dumps(client)
    with Client("http://127.0.0.1:1", key, retries=0) as client:
        failing(client.me)
    failing(client.me)  # closed
    for wrong in (f"{key}\r\nX-More: 1", f"{key} ", f"{key}é"):
        failing(partial(Client, service.address, wrong), with_locals=False)
    failing(partial(Client, f"http://user:{secret}@127.0.0.1", key), with_locals=False)
    failing(partial(Client, "not an address", key), with_locals=False)

    async def asynchronously() -> None:
        async with AsyncClient("http://127.0.0.1:1", key, retries=0) as client:
            shown.append(repr(client))
            await client.me()

    failing(lambda: asyncio.run(asynchronously()))
    text = "\n".join([*shown, caplog.text])
    assert "127.0.0.1" in caplog.text
    assert secret not in text


def test_a_client_iterates_over_its_alphas_and_supports_in(service: Service) -> None:
    with Client(service.address, service.keys["reader"], frames="rows") as client:
        listed = [row["alpha_id"] for row in client.alphas()]
        assert list(client) == listed
        assert listed[0] in client
        assert "Test_absent" not in client
        assert 0 not in client


def test_the_asynchronous_client_iterates_only_asynchronously(service: Service) -> None:
    async def ids() -> list[str]:
        async with AsyncClient(service.address, service.keys["reader"]) as client:
            with pytest.raises(TypeError, match="not iterable"):
                list(client)  # type: ignore[call-overload]
            with pytest.raises(TypeError):
                _ = "x" in client  # type: ignore[misc]
            return [alpha async for alpha in client]

    with Client(service.address, service.keys["reader"], frames="rows") as client:
        assert asyncio.run(ids()) == list(client)


def test_a_method_refuses_an_argument_that_its_endpoint_lacks(service: Service) -> None:
    with Client(service.address, service.keys["reader"]) as client:
        with pytest.raises(TypeError, match="form"):
            client["x"].scores(form="2022-01-01")  # type: ignore[call-arg]
        with pytest.raises(TypeError, match="date"):
            client["x"].rebalance()  # type: ignore[call-arg]
