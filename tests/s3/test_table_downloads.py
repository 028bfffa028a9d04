"""Table downloads over a bucket: published files from the store, views from the service."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import polars as pl
import pytest
from alpha_results_client import Client

from pipeline.snapshot_builder import build_seal
from serve.downloads.links import ObjectSigner, SigningFailed
from tests.support import plain_http
from tests.support.application import running
from tests.support.bucket import Bucket

Seals = Callable[..., Path]
TABLES = "/v1/alphas/Test_small/tables"


def test_a_published_file_is_fetched_from_the_store_and_a_view_from_the_service(
    bucket: Bucket, small_seal: Seals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = bucket.url("root")
    build_seal(str(small_seal()), root)
    port = urlsplit(bucket.server.endpoint).port
    public = f"http://localhost:{port}"
    with running(
        root,
        store=str(tmp_path / "keys.sqlite3"),
        counts=tmp_path / "counts",
        cache=str(tmp_path / "cache"),
        datasets_public_endpoint=public,
    ) as api:
        for token, raw in ((api.key(), False), (api.key(raw=True), True)):
            for row in api.json(TABLES, token)["data"]:
                query = f"?book={row['book']}" if row["book"] else ""
                data = api.json(f"{TABLES}/{row['table']}/download{query}", token)["data"]
                parts = urlsplit(data["url"])
                if data["url"].startswith(public):
                    fetched = plain_http.get(data["url"])
                    assert "X-Amz-Expires=300" in data["url"]
                    assert (
                        plain_http.get(data["url"].replace("Expires=300", "Expires=900")).status_code == 403
                    )
                else:
                    assert not raw
                    assert row["table"] in {"decisions", "weekly_signal", "books"}
                    fetched = api.get(f"{parts.path}?{parts.query}")
                assert fetched.status_code == 200
                assert hashlib.sha256(fetched.content).hexdigest() == row["sha256"]
                seen = pl.read_parquet(io.BytesIO(fetched.content))
                assert seen.columns == [x["name"] for x in row["columns"]]
                assert raw or not [x for x in seen.columns if x.startswith("raw_")]

        def cannot(*_: object) -> str:
            raise SigningFailed("no signature")

        monkeypatch.setattr(ObjectSigner, "sign", cannot)
        data = api.json(f"{TABLES}/positions/download", api.key())["data"]
        parts = urlsplit(data["url"])
        own = api.get(f"{parts.path}?{parts.query}")
        assert (parts.path.startswith("/files/"), own.status_code) == (True, 200)
        assert hashlib.sha256(own.content).hexdigest() == data["sha256"], "from the copy in the cache"


def test_the_client_resumes_from_the_store_without_sending_it_the_key(
    bucket: Bucket, small_seal: Seals, tmp_path: Path
) -> None:
    root = bucket.url("root")
    build_seal(str(small_seal()), root)
    port = urlsplit(bucket.server.endpoint).port
    of_the_store: list[httpx.Request] = []

    def broken(content: bytes) -> Iterator[bytes]:
        yield content[:2000]
        raise httpx.ReadError("the connection broke")

    with running(
        root,
        store=str(tmp_path / "keys.sqlite3"),
        counts=tmp_path / "counts",
        cache=str(tmp_path / "cache"),
        datasets_public_endpoint=f"http://localhost:{port}",
    ) as api:

        def passed(request: httpx.Request) -> httpx.Response:
            wanted = {x: text for x, text in request.headers.items() if x not in {"host", "accept-encoding"}}
            if request.url.port != port:
                answer = api.get(request.url.raw_path.decode(), headers=wanted)
                return httpx.Response(answer.status_code, content=answer.content)
            of_the_store.append(request)
            url = f"http://localhost:{port}{request.url.raw_path.decode()}"
            answer = plain_http.get(url, headers={**wanted, "accept-encoding": "identity"})
            content = broken(answer.content) if len(of_the_store) == 1 else answer.content
            return httpx.Response(answer.status_code, headers=answer.headers, content=content)

        key = api.key(raw=True)
        transport = httpx.MockTransport(passed)
        with (
            Client("http://service.invalid", key, transport=transport) as client,
            Client("http://service.invalid", key, transport=transport, links=False) as paging,
        ):
            assert client["Test_small"].scores(fields="all").equals(paging["Test_small"].scores(fields="all"))
    assert [x.headers.get("range") for x in of_the_store] == [None, "bytes=2000-"]
    assert not [x for x in of_the_store if "authorization" in x.headers]
