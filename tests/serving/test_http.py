from __future__ import annotations

import errno
import io
import os
import re
import sys
from pathlib import Path

import pytest

from serve.http.responses import negotiate
from tests.support.application import running
from tests.support.client import ApiClient

SCORES = "/v1/alphas/Test_hand/scores"
NEW_ID = re.compile(r"[0-9a-f]{32}\Z")


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


@pytest.mark.parametrize("own", ["", "x" * 129, "a b", "a/b", "é", "a,b", "a;b"])
def test_any_other_request_id_is_replaced(api: ApiClient, own: str) -> None:
    result = api.get("/v1/health", headers={"x-request-id": own.encode()})  # type: ignore[dict-item]
    assert NEW_ID.match(result.headers["x-request-id"])


def test_the_answer_to_a_request_that_is_too_long_names_the_fix(api: ApiClient) -> None:
    for response, fix in (
        (api.get(f"{SCORES}?symbol={'a' * 20_000}"), "name fewer symbols"),
        (api.get(SCORES, headers={"x-long": "a" * 200_000}), "send fewer or shorter headers"),
    ):
        assert fix in response.json()["error"]["message"]


def test_a_missing_resource_is_never_a_304(api: ApiClient, plain: str) -> None:
    for path, status in (("rebalances/2020-01-04", 404), ("portfolio?book=none", 400)):
        result = api.get(f"/v1/alphas/Test_hand/{path}", plain, headers={"if-none-match": "*"})
        assert result.status_code == status


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
