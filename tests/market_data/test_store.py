"""Market data in a serving process: caching, changes and errors."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from schemas.errors import ApiError
from serve.market_data import operator_files
from serve.market_data.operator_files import MarketData
from tests.support.web_storage import SCHEME, register

File = Callable[..., bytes]
Call = Callable[[], Awaitable[object]]


@pytest.fixture(autouse=True)
def _frequent_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CHECK_SECONDS", "RETRY_SECONDS"):
        monkeypatch.setattr(operator_files, name, 0.02)


@asynccontextmanager
async def market(address: Path) -> AsyncIterator[MarketData]:
    market_data = MarketData(str(address))
    market_data.start()
    try:
        yield market_data
    finally:
        await market_data.close()


async def refused(market_data: MarketData, symbol: str = "ABC") -> ApiError:
    with pytest.raises(ApiError) as error:
        await market_data.benchmark(symbol)
    return error.value


async def soon(condition: Callable[[], Awaitable[bool]]) -> None:
    """Wait until a condition holds; files are checked in the background."""
    async with asyncio.timeout(30):
        while not await condition():  # noqa: ASYNC110 - a file system sends no event
            await asyncio.sleep(0.02)


def test_a_file_and_a_folder_of_files_are_served(tmp_path: Path, market_file: File) -> None:
    (tmp_path / "one.parquet").write_bytes(market_file())
    (tmp_path / "two.parquet").write_bytes(market_file(symbol=["XYZ"] * 5))
    (tmp_path / ".hidden.parquet").write_bytes(b"not looked at")
    (tmp_path / "README.md").write_bytes(b"not looked at")

    async def scenario() -> None:
        async with market(tmp_path / "one.parquet") as market_data:
            assert (await market_data.benchmark("ABC")).symbol == "ABC"
            assert market_data.healthy
        async with market(tmp_path) as market_data:
            assert (await market_data.benchmark("XYZ")).symbol == "XYZ"
            error = await refused(market_data, "SPY")
            assert (error.code, error.status) == ("bad_request", 400)
            assert error.details == {
                "parameters": [{"name": "symbol", "constraint": "one of ABC, XYZ"}],
                "available": ["ABC", "XYZ"],
            }

    asyncio.run(scenario())


@pytest.mark.parametrize("content", [None, b"no parquet"])
def test_misconfigured_data_are_reported_and_read_once_corrected(
    tmp_path: Path, market_file: File, content: bytes | None
) -> None:
    file = tmp_path / "prices.parquet"
    if content is not None:
        file.write_bytes(content)

    async def scenario() -> None:
        async with market(file) as market_data:
            error = await refused(market_data)
            assert error.code == "benchmark_not_configured"
            assert str(tmp_path) not in error.message
            assert not market_data.healthy
            file.write_bytes(market_file())

            async def taken_up() -> bool:
                try:
                    served = await market_data.benchmark("ABC")
                except ApiError:
                    return False
                return market_data.healthy and served.dates.size == 5

            await soon(taken_up)

    asyncio.run(scenario())


def test_changed_files_are_read_and_invalid_ones_never_replace_good_ones(
    tmp_path: Path, market_file: File
) -> None:
    file = tmp_path / "prices.parquet"
    file.write_bytes(market_file())

    async def scenario() -> None:
        async with market(tmp_path) as market_data:
            first = await market_data.benchmark("ABC")
            file.write_bytes(market_file(close=[100.0, 110.0, 99.0, 99.0, 200.0]))

            async def changed() -> bool:
                return bool((await market_data.benchmark("ABC")).close[-1] == 200.0)

            await soon(changed)
            assert first.close[-1] == 121.0, "a request keeps what it began with"
            file.write_bytes(b"half written")

            async def noticed() -> bool:
                await market_data.benchmark("ABC")
                return not market_data.healthy

            await soon(noticed)
            assert (await market_data.benchmark("ABC")).close[-1] == 200.0
            file.unlink()
            assert (await market_data.benchmark("ABC")).close[-1] == 200.0

    asyncio.run(scenario())


def test_unchanged_files_are_not_read_again(tmp_path: Path, market_file: File) -> None:
    file = tmp_path / "prices.parquet"
    file.write_bytes(market_file())

    async def scenario() -> None:
        async with market(file) as market_data:
            first = await market_data.benchmark("ABC")
            status = file.stat()
            file.write_bytes(bytes(status.st_size))
            os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
            market_data.check()  # the same size and time; reading it would fail
            assert (await market_data.benchmark("ABC")).close.tolist() == first.close.tolist()

    asyncio.run(scenario())


def test_a_hanging_store_does_not_block_the_event_loop(market_file: File) -> None:
    register()
    content = market_file()
    hanging: list[asyncio.StreamWriter] = []
    answers = False

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await reader.readuntil(b"\r\n\r\n")
        if not answers:
            if hanging:
                writer.close()
            hanging.append(writer)
            return
        head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(content)}\r\nETag: x\r\nConnection: close\r\n\r\n"
        writer.write(head.encode() + (b"" if request.startswith(b"HEAD") else content))
        await writer.drain()
        writer.close()

    async def scenario() -> None:
        nonlocal answers
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        market_data = MarketData(f"{SCHEME}://127.0.0.1:{port}/prices.parquet")
        market_data.start()
        waiting = asyncio.create_task(market_data.benchmark("ABC"))
        while not hanging:  # noqa: ASYNC110 - the store's side of the connection
            await asyncio.sleep(0.01)
        assert not waiting.done()
        for writer in hanging:
            writer.close()
        with pytest.raises(ApiError) as away:
            await waiting
        assert (away.value.code, away.value.status) == ("benchmark_unavailable", 503)
        answers = True

        async def recovered() -> bool:
            try:
                return (await market_data.benchmark("ABC")).dates.size == 5
            except ApiError:
                return False

        await soon(recovered)
        await market_data.close()
        server.close()

    asyncio.run(scenario())
