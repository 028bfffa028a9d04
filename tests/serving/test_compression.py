"""Compressed pages: one frame or member each, read by common clients."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import zlib
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import httpx
import pytest
import urllib3
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from serve.http.responses import compress
from tests.support import plain_http
from tests.support.compressed_page import CompressedPage, compressed_page
from tests.support.waiting import PATIENCE


@given(st.binary(max_size=5000), st.integers(1, 200))
def test_zstd_is_one_frame_and_gzip_one_member(text: bytes, times: int) -> None:
    body = text * times
    assert zstandard.ZstdDecompressor().decompress(compress(body, "zstd")) == body, (
        "more than one frame is refused"
    )
    for coding, reader in (
        ("zstd", zstandard.ZstdDecompressor().decompressobj()),
        ("gzip", zlib.decompressobj(31)),
    ):
        assert reader.decompress(compress(body, coding)) == body
        assert reader.eof
        assert reader.unused_data == b""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CompressedPage]:
    with compressed_page(tmp_path_factory.mktemp("compressed")) as result:
        yield result


CODINGS = pytest.mark.parametrize("coding", ["gzip", "zstd"])


def headers(token: str, coding: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}", "Accept-Encoding": coding}


@CODINGS
def test_httpx_reads_a_compressed_page(page: CompressedPage, coding: str) -> None:
    address, token, body = page
    result = plain_http.get(address, headers=headers(token, coding))
    assert result.headers["content-encoding"] == coding
    assert result.content == body
    again = plain_http.get(
        address, headers={**headers(token, coding), "if-none-match": result.headers["etag"]}
    )
    assert again.status_code == 304


@pytest.mark.parametrize("size", [100, 4096, 65_536])
def test_httpx_reads_a_compressed_page_in_chunks_of_any_size(page: CompressedPage, size: int) -> None:
    address, token, body = page
    for coding in ("zstd", "gzip"):
        with httpx.stream("GET", address, headers=headers(token, coding)) as result:
            assert b"".join(result.iter_bytes(size)) == body


@CODINGS
def test_urllib3_reads_a_compressed_page(page: CompressedPage, coding: str) -> None:
    address, token, body = page
    result = urllib3.request("GET", address, headers=headers(token, coding))
    assert result.headers["content-encoding"] == coding
    assert result.data == body


@CODINGS
def test_aiohttp_reads_a_compressed_page(page: CompressedPage, coding: str) -> None:
    address, token, body = page

    async def send() -> tuple[str | None, bytes]:
        async with (
            aiohttp.ClientSession() as session,
            session.get(address, headers=headers(token, coding)) as result,
        ):
            return result.headers.get("content-encoding"), await result.read()

    assert asyncio.run(send()) == (coding, body)


@CODINGS
def test_curl_reads_a_compressed_page(page: CompressedPage, coding: str) -> None:
    address, token, body = page
    curl = shutil.which("curl")
    if curl is None or (coding == "zstd" and "zstd" not in _output([curl, "--version"]).decode()):
        pytest.skip("there is no curl here that knows this coding")
    given = [x for name, value in headers(token, coding).items() for x in ("-H", f"{name}: {value}")]
    assert _output([curl, "-s", "--compressed", *given, address]) == body


@CODINGS
def test_node_reads_a_compressed_page(page: CompressedPage, coding: str, tmp_path: Path) -> None:
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
    return subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE).stdout
