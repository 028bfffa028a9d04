from __future__ import annotations

import errno
import gzip
import io
import os
import re
import sys
from pathlib import Path

import pytest
import zstandard

from serve.http.responses import negotiate
from tests.support.application import running
from tests.support.client import ApiClient

SCORES = "/v1/alphas/Test_hand/scores"
NEW_ID = re.compile(r"[0-9a-f]{32}\Z")


def test_failures_have_one_shape(api: ApiClient) -> None:
    error = api.get("/v1/me").json()
    assert list(error) == ["error"]
    assert list(error["error"]) == ["code", "message", "details", "request_id"]
    assert error["error"]["code"] == "missing_api_key"
    assert error["error"]["details"] is None


@pytest.mark.parametrize("path", ["/v1/health", "/v1/me", "/nowhere", SCORES, "/v1//x"])
def test_every_answer_has_a_request_id_of_its_own(api: ApiClient, plain: str, path: str) -> None:
    for token in (None, plain):
        first, second = api.get(path, token), api.get(path, token)
        assert NEW_ID.match(first.headers["x-request-id"])
        assert first.headers["x-request-id"] != second.headers["x-request-id"]
        if first.status_code != 200:
            assert first.json()["error"]["request_id"] == first.headers["x-request-id"]


def test_calls_are_answered_while_the_disk_of_the_log_is_full(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Full(io.StringIO):
        def write(self, _: str) -> int:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with running(root, counts=tmp_path / "counts") as api:
        token = api.key()
        with monkeypatch.context() as patched:
            patched.setattr(sys, "stderr", Full())
            assert api.get(SCORES, token).status_code == 200
            assert api.get("/v1/me").status_code == 401


@pytest.mark.parametrize("own", ["a", "A.b_c-9", "x" * 128])
def test_a_well_formed_request_id_of_the_caller_is_kept(api: ApiClient, plain: str, own: str) -> None:
    result = api.get("/v1/me", plain, headers={"x-request-id": own})
    assert result.headers["x-request-id"] == own
    assert result.json()["meta"]["request_id"] == own


@pytest.mark.parametrize("own", ["", "x" * 129, "a b", "a/b", "é", "a,b"])
def test_any_other_request_id_is_replaced(api: ApiClient, own: str) -> None:
    result = api.get("/v1/health", headers={"x-request-id": own.encode()})  # type: ignore[dict-item]
    assert NEW_ID.match(result.headers["x-request-id"])


def test_a_page_has_the_same_bytes_and_no_request_id(api: ApiClient, plain: str) -> None:
    first = api.get(SCORES, plain, headers={"x-request-id": "one"})
    second = api.get(SCORES, plain, headers={"x-request-id": "two"})
    assert first.content == second.content
    assert list(first.json()) == ["data", "pagination", "meta"]
    assert first.headers["cache-control"] == "private, no-cache"


def test_a_matching_entity_tag_gives_304(api: ApiClient, plain: str) -> None:
    first = api.get(SCORES, plain)
    etag = first.headers["etag"]
    assert re.fullmatch(r'"[^"]+"', etag)
    for condition in (etag, f"W/{etag}", f'"other", {etag}', "*"):
        again = api.get(SCORES, plain, headers={"if-none-match": condition})
        assert again.status_code == 304
        assert again.content == b""
        assert again.headers["etag"] == etag
        assert "x-ratelimit-remaining-second" in again.headers
        assert "x-request-id" in again.headers
        assert "content-type" not in again.headers
    assert api.get(SCORES, plain, headers={"if-none-match": '"other"'}).status_code == 200


def test_a_304_is_charged_like_any_call(api: ApiClient) -> None:
    token = api.key(rate="per_second=1000,per_minute=1000,per_day=1000,monthly=1000")
    etag = api.get(SCORES, token).headers["etag"]
    assert api.get(SCORES, token, headers={"if-none-match": etag}).status_code == 304
    assert api.json("/v1/me", token)["data"]["usage"]["month"] == 3


def test_equivalent_requests_have_one_entity_tag(api: ApiClient, plain: str) -> None:
    def tag(query: str, token: str = plain) -> str:
        return str(api.get(f"{SCORES}?{query}", token).headers["etag"])

    assert tag("symbol=A,B&limit=100") == tag("symbol=B,+A,A")
    different = [tag(q) for q in ("", "limit=7", "offset=1", "fields=all", "symbol=A", "from=2020-01-04")]
    assert len(set(different)) == len(different)


def test_keys_with_other_access_have_other_entity_tags(api: ApiClient, plain: str, raw: str) -> None:
    assert api.get(SCORES, plain).headers["etag"] != api.get(SCORES, raw).headers["etag"]


def test_a_missing_resource_is_never_a_304(api: ApiClient, plain: str) -> None:
    for path, status in (("rebalances/2020-01-04", 404), ("portfolio?book=none", 400)):
        result = api.get(f"/v1/alphas/Test_hand/{path}", plain, headers={"if-none-match": "*"})
        assert result.status_code == status


def test_lists_have_an_entity_tag_of_their_bytes(api: ApiClient, plain: str) -> None:
    result = api.get("/v1/alphas", plain)
    again = api.get("/v1/alphas", plain, headers={"if-none-match": result.headers["etag"]})
    assert (result.status_code, again.status_code) == (200, 304)


@pytest.mark.parametrize(
    ("coding", "decode"),
    [
        ("zstd", lambda body: zstandard.ZstdDecompressor().decompress(body)),
        ("gzip", gzip.decompress),
    ],
)
def test_compressed_bodies_hold_the_same_bytes(
    api: ApiClient, plain: str, coding: str, decode: object
) -> None:
    expected = api.get(SCORES, plain)
    assert "content-encoding" not in expected.headers

    async def fetch() -> tuple[dict[str, str], bytes]:
        headers = {"accept-encoding": coding, "authorization": f"Bearer {plain}"}
        async with api.client.stream("GET", SCORES, headers=headers) as response:
            return dict(response.headers), b"".join([part async for part in response.aiter_raw()])

    headers, body = api.wait(fetch())
    assert headers["content-encoding"] == coding
    assert headers["vary"] == "Accept-Encoding"
    assert headers["etag"] != expected.headers["etag"]
    assert len(body) < len(expected.content)
    assert decode(body) == expected.content  # type: ignore[operator]


def test_a_compressed_page_is_validated_by_its_own_entity_tag(api: ApiClient, plain: str) -> None:
    first = api.get(SCORES, plain, headers={"accept-encoding": "gzip"})
    again = api.get(
        SCORES, plain, headers={"accept-encoding": "gzip", "if-none-match": first.headers["etag"]}
    )
    assert again.status_code == 304


def test_small_bodies_are_sent_uncompressed(api: ApiClient, plain: str) -> None:
    result = api.get("/v1/alphas?search=none", plain, headers={"accept-encoding": "gzip"})
    assert "content-encoding" not in result.headers


@pytest.mark.parametrize(
    ("header", "coding"),
    [
        (None, "identity"),
        ("", "identity"),
        ("gzip", "gzip"),
        ("gzip, br, zstd", "zstd"),
        ("gzip;q=1, br;q=0.5", "gzip"),
        ("zstd;q=0.9, gzip;q=0.9", "zstd"),
        ("br", "identity"),
        ("GZIP", "gzip"),
        ("*", "zstd"),
        ("*;q=0.1, gzip;q=0.5", "gzip"),
        ("zstd;q=0, *", "gzip"),
        ("gzip;q=0", "identity"),
        ("identity, gzip;q=0.5", "identity"),
        ("gzip;q=0.5, identity;q=0.2", "gzip"),
        ("deflate, sdch", "identity"),
        ("gzip;q=2", "identity"),
        ("gzip;q=x", "identity"),
        ("gzip;q=0.1234", "identity"),
        ("identity;q=0", "identity"),
        (" gzip ; q=0.8 ,", "gzip"),
    ],
)
def test_accept_encoding_weights_select_the_coding(header: str | None, coding: str) -> None:
    assert negotiate(None if header is None else header.encode("latin-1")) == coding
