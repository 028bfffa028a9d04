"""Compressed pages: put together from blocks, and read by the clients people use."""

from __future__ import annotations

import asyncio
import gzip
import json
import shutil
import subprocess
import zlib
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import polars as pl
import pytest
import urllib3
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from serve.http.encoding import encode, join
from serve.pages.rendered_rows import RenderedRows, render
from serve.pages.row_blocks import ROWS
from tests.support import plain_http
from tests.support.compressed_page import CompressedPage, compressed_page

COUNT = 5 * ROWS + 7
FRAME = pl.DataFrame({"n": range(COUNT), "text": [f"{n * 7919 % 1000}é" for n in range(COUNT)]})


@pytest.fixture(scope="module")
def rows() -> RenderedRows:
    return render([FRAME], COUNT)


def decoded(body: bytes, coding: str) -> bytes:
    if coding == "gzip":
        return gzip.decompress(body)
    with zstandard.ZstdDecompressor().stream_reader(body, read_across_frames=True) as reader:
        return reader.read()


@given(
    first=st.integers(0, COUNT),
    length=st.integers(0, COUNT),
    prefix=st.binary(max_size=40),
    suffix=st.binary(max_size=40),
    coding=st.sampled_from(["gzip", "zstd"]),
)
def test_a_body_of_blocks_is_the_body(
    rows: RenderedRows, first: int, length: int, prefix: bytes, suffix: bytes, coding: str
) -> None:
    end = min(COUNT, first + length)
    split = rows.split(first, end, coding)
    whole = b"".join(rows.between(first, end))[1:-1]
    if split is None:
        assert end - first < 2 * ROWS
        return
    body = b"".join(join(prefix, split, suffix, coding))
    assert decoded(body, coding) == prefix + whole + suffix
    if coding == "gzip":  # one member, with a checksum that holds
        reader = zlib.decompressobj(31)
        assert reader.decompress(body) == prefix + whole + suffix
        assert reader.eof
        assert reader.unused_data == b""


@pytest.mark.parametrize("coding", ["gzip", "zstd", "br"])
def test_short_bodies_stay_as_they_are(coding: str) -> None:
    assert encode(b"x" * 1000, coding) == (b"x" * 1000, "identity")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CompressedPage]:
    with compressed_page(tmp_path_factory.mktemp("compressed")) as found:
        yield found


CODINGS = pytest.mark.parametrize("coding", ["gzip", "zstd"])


def headers(token: str, coding: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}", "Accept-Encoding": coding}


@CODINGS
def test_httpx_reads_it(page: CompressedPage, coding: str) -> None:
    address, token, body = page
    found = plain_http.get(address, headers=headers(token, coding))
    assert found.headers["content-encoding"] == coding
    assert found.content == body
    again = plain_http.get(
        address, headers={**headers(token, coding), "if-none-match": found.headers["etag"]}
    )
    assert again.status_code == 304


@CODINGS
def test_urllib3_and_so_requests_read_it(page: CompressedPage, coding: str) -> None:
    address, token, body = page
    found = urllib3.request("GET", address, headers=headers(token, coding))
    assert found.headers["content-encoding"] == coding
    assert found.data == body


@CODINGS
def test_aiohttp_reads_it(page: CompressedPage, coding: str) -> None:
    address, token, body = page

    async def ask() -> tuple[str | None, bytes]:
        async with (
            aiohttp.ClientSession() as session,
            session.get(address, headers=headers(token, coding)) as found,
        ):
            return found.headers.get("content-encoding"), await found.read()

    assert asyncio.run(ask()) == (coding, body)


@CODINGS
def test_curl_reads_it(page: CompressedPage, coding: str) -> None:
    address, token, body = page
    curl = shutil.which("curl")
    if curl is None or (coding == "zstd" and "zstd" not in _output([curl, "--version"]).decode()):
        pytest.skip("there is no curl here that knows this coding")
    given = [x for name, value in headers(token, coding).items() for x in ("-H", f"{name}: {value}")]
    assert _output([curl, "-s", "--compressed", *given, address]) == body


@CODINGS
def test_node_reads_it(page: CompressedPage, coding: str, tmp_path: Path) -> None:
    address, token, body = page
    node = shutil.which("node")
    if node is None or (coding == "zstd" and _node_major(node) < 24):
        pytest.skip("there is no node here that knows this coding")
    script = tmp_path / "ask.mjs"
    script.write_text(
        f"const answer = await fetch({json.dumps(address)}, {{headers: {json.dumps(headers(token, coding))}}});\n"
        "process.stdout.write(Buffer.from(await answer.arrayBuffer()));\n"
    )
    assert _output([node, str(script)]) == body


def _node_major(node: str) -> int:
    return int(_output([node, "--version"]).decode().lstrip("v").partition(".")[0])


def _output(command: list[str]) -> bytes:
    return subprocess.run(command, check=True, capture_output=True, timeout=60).stdout
