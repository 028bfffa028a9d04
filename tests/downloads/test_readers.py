"""Downloads by real readers of Parquet over HTTP from a real server."""

from __future__ import annotations

import io
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import fsspec
import httpx
import polars as pl
import pyarrow.parquet as pq
import pytest

import datasets
from pipeline.snapshot_builder import build_seal
from tests.support import plain_http
from tests.support.contract_app import FULL
from tests.support.seals import make_seal
from tests.support.server import served, token_for
from tests.support.waiting import eventually


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("readers")
    build_seal(str(make_seal(folder / "seals", alpha_id=FULL, names=200, weeks=60)), folder / "published")
    return folder / "published"


@pytest.fixture(scope="module")
def server(root: Path) -> Iterator[tuple[str, str, Path]]:
    token, log = token_for(root), root.with_name("server.log")
    with served(root, log=log, variables={"ALPHA_RESULTS_WRITE_TIMEOUT_SECONDS": "1"}) as (
        _,
        base,
    ):
        yield base, token, log


def link(server: tuple[str, str, Path], table: str = "decisions") -> str:
    base, token, _ = server
    answer = plain_http.get(
        f"{base}/v1/alphas/{FULL}/tables/{table}/download", headers={"authorization": f"Bearer {token}"}
    )
    assert answer.status_code == 200, answer.text
    url = str(answer.json()["data"]["url"])
    assert url.startswith(f"{base}/files/")
    return url


def test_a_seeking_reader_reads_the_table(server: tuple[str, str, Path], root: Path) -> None:
    expected = datasets.open(root)[FULL].scan("decisions").select("symbol", "score").collect()
    url = link(server)
    with fsspec.open(url, "rb", block_size=4096) as file:
        seen = pl.DataFrame(pq.ParquetFile(file).read(["symbol", "score"]))
    assert seen.equals(expected)
    assert pl.read_parquet(url, columns=["symbol", "score"]).equals(expected)


def test_curl_resumes_a_download(server: tuple[str, str, Path], tmp_path: Path) -> None:
    curl = shutil.which("curl")
    if curl is None:
        pytest.skip("curl is not installed")
    url, out = link(server), tmp_path / "table.parquet"
    content = plain_http.get(url).content
    out.write_bytes(content[: len(content) // 3])
    subprocess.run([curl, "-sS", "--fail", "-C", "-", "-o", str(out), url], check=True)
    assert out.read_bytes() == content


def test_several_requests_of_one_connection_are_answered_in_turn(server: tuple[str, str, Path]) -> None:
    url = link(server)
    with plain_http.connect() as client:
        content = client.get(url).content
        assert client.head(url).headers["content-length"] == str(len(content))
        assert client.get(url, headers={"range": "bytes=-4"}).content == b"PAR1"
        assert client.get(url, headers={"range": f"bytes={len(content)}-"}).status_code == 416
        assert client.get(url.replace("signature=", "signature=x")).json()["error"]["code"] == "link_invalid"
        tag = client.head(url).headers["etag"]
        assert client.get(url, headers={"if-none-match": tag}).status_code == 304
        assert client.get(url).content == content


def test_no_log_contains_a_signature(server: tuple[str, str, Path]) -> None:
    url = link(server)
    assert plain_http.get(url).status_code == 200
    assert plain_http.get(url.replace(FULL, "Test_other")).status_code == 403
    signature = url.partition("signature=")[2]
    log = server[2]
    eventually(lambda: urlsplit(url).path.replace(FULL, "Test_other") in log.read_text())
    assert signature not in log.read_text()
    assert urlsplit(url).path in log.read_text()
    assert '"endpoint":"catalog.alphas.tables.download"' in log.read_text()


def test_disconnecting_callers_free_their_connections(
    server: tuple[str, str, Path],
) -> None:
    parts = urlsplit(link(server))
    full = int(httpx.head(parts.geturl()).headers["content-length"])
    for _ in range(40):  # more than may be sent concurrently: each frees its slot
        with socket.create_connection((parts.hostname or "", parts.port or 0)) as gone:
            gone.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            gone.sendall(f"GET {parts.path}?{parts.query} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    eventually(lambda: plain_http.get(parts.geturl()).status_code == 200)
    answer = plain_http.get(parts.geturl())
    assert len(answer.content) == full
    assert pl.read_parquet(io.BytesIO(answer.content)).height > 0
