"""The benchmarks a serving process holds, and how it notices that their files changed."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import structlog

from datasets.storage import Storage, open_storage
from datasets.storage.failures import is_refusal, names_missing_bucket
from schemas.errors import ApiError, SettingsError, SnapshotCorrupt, StorageUnavailable
from serve.market_data.reader import read_benchmarks
from serve.market_data.series import Benchmark

_log = structlog.get_logger("serve.market_data")

LOOK_SECONDS: Final = 15.0
"""Pause between two looks at the files, which are one listing and no read while nothing changed."""
RETRY_SECONDS: Final = 2.0
"""Pause after a failed check while nothing is cached."""
WAIT_SECONDS: Final = 5.0
"""Longest a request waits for the first look; the look goes on without it."""
_SUFFIX: Final = ".parquet"
_MAX_BYTES: Final = 1 << 30
"""A larger file of prices is refused unread."""
_NOT_CONFIGURED: Final = "benchmark_not_configured"


class MarketData:
    """Benchmarks from one Parquet file or a folder of them, cached in memory.

    Files are read on a thread of their own, never on the event loop. What was read is served until newer files
    have been read whole: while the store is away, and while a file breaks a rule.

    Parameters
    ----------
    address
        A path or URL; None when the deployment has no market data.
    look_seconds
        Pause between two looks for changed files.

    Raises
    ------
    SettingsError
        When no file system answers to the address.
    """

    def __init__(self, address: str | None, *, look_seconds: float = LOOK_SECONDS) -> None:
        self._storage = open_storage(address) if address else None
        self._look_seconds = look_seconds
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="market-data")
        self._benchmarks: Mapping[str, Benchmark] = {}
        self._signatures: Mapping[str, tuple[Any, ...]] | None = None
        self._failure: Callable[[], ApiError] | None = None
        self._reason: str | None = None
        self._next = float("-inf")
        self._look: asyncio.Task[None] | None = None

    @property
    def configured(self) -> bool:
        """Whether the deployment has market data."""
        return self._storage is not None

    @property
    def healthy(self) -> bool:
        """Whether the last look worked; true before the first, and when no market data is configured."""
        return self._failure is None

    def start(self) -> None:
        """Begin the first look, so that the log tells early what is wrong; to be called on the event loop."""
        if self._storage is not None:
            self._looking()

    def look_when_due(self) -> None:
        """Look again behind the answers when it is time to; to be called on the event loop.

        What nobody asks for is otherwise not checked, and :attr:`healthy` would stay what it was.
        """
        if self._storage is not None and time.monotonic() >= self._next:
            self._looking()

    async def close(self) -> None:
        """Let the thread go; a look under way is not waited for."""
        if self._look is not None:
            self._look.cancel()
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def benchmark(self, symbol: str) -> Benchmark:
        """Return the cached series of a symbol; symbols are in upper case and compared exactly.

        Raises
        ------
        ApiError
            ``bad_request`` for a symbol that is not there, with those that are; ``benchmark_not_configured`` when there
            is no market data or it breaks a rule; ``benchmark_unavailable`` when its store does not answer.
        """
        cached = await self._current()
        refused = _refused(symbol, cached)
        if refused is not None:
            raise refused
        return cached[symbol]

    async def available(self) -> Mapping[str, Benchmark]:
        """Return every cached series by its symbol; none when there is no market data or it breaks a rule.

        Raises
        ------
        ApiError
            ``benchmark_unavailable`` when its store does not answer.
        """
        try:
            return await self._current()
        except ApiError as error:
            if error.code != _NOT_CONFIGURED:
                raise
            return {}

    def refusal(self, symbol: str) -> ApiError | None:
        """Return the ``bad_request`` for a symbol that is not there; None when nothing is cached, so that nobody can tell."""
        return _refused(symbol, self._benchmarks) if self._benchmarks else None

    async def _current(self) -> Mapping[str, Benchmark]:
        if self._storage is None:
            raise _not_configured()
        if time.monotonic() >= self._next or self._look is not None:
            looking = self._looking()
            # Cached series are answered at once; only the first request of all waits for the files to be read.
            if not self._benchmarks:
                await asyncio.wait({looking}, timeout=WAIT_SECONDS)
        if self._benchmarks:
            return self._benchmarks
        error = _unavailable() if self._failure is None else self._failure()
        raise error

    def _looking(self) -> asyncio.Task[None]:
        """Return the look under way, or begin one: however many requests wait, there is one."""
        if self._look is None:
            self._look = asyncio.create_task(self._look_now())
        return self._look

    async def _look_now(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            changed = await loop.run_in_executor(self._thread, self._read_if_changed)
        except (SettingsError, SnapshotCorrupt, StorageUnavailable, OSError) as error:
            self._failed(error)
        except Exception as error:  # noqa: BLE001 - logged whole; a look must not end the looking
            _log.exception("market_data_unforeseen_failure")
            self._failed(error)
        else:
            if changed is not None:
                self._signatures, self._benchmarks = changed
                _log.info(
                    "market_data_read", symbols=list(self._benchmarks), files=len(self._signatures or ())
                )
            if self._failure is not None:
                _log.info("market_data_usable_again")
            self._failure = self._reason = None
            self._next = time.monotonic() + self._look_seconds
        finally:
            self._look = None

    def _failed(self, error: Exception) -> None:
        misconfigured = (
            isinstance(error, SettingsError | PermissionError)
            or is_refusal(error)
            or names_missing_bucket(error)
        )
        pause = self._look_seconds if self._benchmarks else min(RETRY_SECONDS, self._look_seconds)
        self._next = time.monotonic() + pause
        self._failure = _not_configured if misconfigured else _unavailable
        if str(error) != self._reason:
            self._reason = str(error)
            _log.error(
                "market_data_unusable" if misconfigured else "market_data_unreachable",
                reason=self._reason,
                still_served=list(self._benchmarks),
            )

    def _read_if_changed(
        self,
    ) -> tuple[Mapping[str, tuple[Any, ...]], Mapping[str, Benchmark]] | None:
        """Read the files when any differs from what is cached; None when none does. Runs on the thread."""
        assert self._storage is not None
        signatures = _files(self._storage)
        if signatures == self._signatures:
            return None
        try:
            content = {name: self._storage.read(name, _MAX_BYTES) for name in signatures}
        except FileNotFoundError as error:
            raise StorageUnavailable(f"{self._storage.address} changed while it was read") from error
        shown = {f"{self._storage.address}/{name}".rstrip("/"): data for name, data in content.items()}
        return signatures, read_benchmarks(shown)


def _files(storage: Storage) -> dict[str, tuple[Any, ...]]:
    """Return the signature of every file; the empty name stands for an address that is a file itself."""
    alone = storage.signature()
    if alone is not None:
        return {"": alone}
    entries = storage.entries("")
    files = {
        name: entries[name] for name in sorted(entries) if name.endswith(_SUFFIX) and name[0] not in "._"
    }
    if not files:
        raise SettingsError(
            f"{storage.address} is not a file, nor a folder with a {_SUFFIX} file: correct ALPHA_RESULTS_MARKET_DATA"
        )
    return files


def _refused(symbol: str, cached: Mapping[str, Benchmark]) -> ApiError | None:
    if symbol in cached:
        return None
    available = list(cached)
    constraint = f"one of {', '.join(available)}"
    details = {"parameters": [{"name": "symbol", "constraint": constraint}], "available": available}
    return ApiError("bad_request", "There is no such benchmark.", details)


def _not_configured() -> ApiError:
    return ApiError(_NOT_CONFIGURED, "This deployment has no market data that can be used.")


def _unavailable() -> ApiError:
    return ApiError(
        "benchmark_unavailable",
        "The market data cannot be read for now; try again later.",
        headers={"Retry-After": str(math.ceil(RETRY_SECONDS))},
    )
