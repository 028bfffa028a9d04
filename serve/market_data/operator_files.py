"""An operator's Parquet files of benchmarks and factors, reread when they change."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Final, Generic, TypeVar

import structlog

from datasets.figures.exposures import Factors
from datasets.figures.price import Benchmark
from datasets.market_data.factors import read_factors
from datasets.market_data.operator_files import find_files, read_files
from datasets.market_data.prices import read_benchmarks
from datasets.storage import Signature, open_storage
from datasets.storage.failures import is_refusal, names_missing_bucket
from schemas.errors import ApiError, SettingsError, StorageUnavailable
from schemas.parameters import BENCHMARKS, MAX_BENCHMARKS, SYMBOL_PATH, Parameter
from schemas.settings import setting_named_in_errors

_log = structlog.get_logger("serve.market_data")
T = TypeVar("T")

CHECK_SECONDS: Final = 15.0
"""Seconds between two checks of the files, one listing each."""
RETRY_SECONDS: Final = 2.0
"""Seconds between two checks until the files have been read once."""
WAIT_SECONDS: Final = 5.0
"""Maximum seconds that a request waits for the first check."""


class OperatorFiles(Generic[T]):
    """One Parquet file or a folder of them, reread when one changes; the result is kept in memory.

    Files are read on a separate thread, never on the event loop. A result stays until newer files have been read
    completely, even while the store is unavailable or a file breaks a rule.

    Parameters
    ----------
    name
        Name of the setting, and of the files in the log and in the health of the service.
    address
        A path or URL; None if the deployment has no such files.
    read
        Parses the content of the files, given as name -> bytes.

    Raises
    ------
    SettingsError
        If no file system supports the address.
    """

    def __init__(self, name: str, address: str | None, read: Callable[[Mapping[str, bytes]], T]) -> None:
        self.name: Final = name
        self._decode = read
        with setting_named_in_errors(name):
            self._storage = open_storage(address) if address else None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._signatures: Mapping[str, Signature] | None = None
        self._checked = asyncio.Event()
        self._watcher: asyncio.Task[None] | None = None
        self.result: T | None = None
        """The last result; None before the first."""
        self.failure: Exception | None = None
        """Reason why the last check failed; None if it succeeded."""

    @property
    def configured(self) -> bool:
        """Whether the deployment has such files."""
        return self._storage is not None

    @property
    def healthy(self) -> bool:
        """Whether the last check succeeded; true before the first, and without files."""
        return self.failure is None

    @property
    def misconfigured(self) -> bool:
        """Whether an operator has to correct the setting or the files before data can be read."""
        return self._storage is None or (
            isinstance(self.failure, SettingsError)
            or is_refusal(self.failure)
            or names_missing_bucket(self.failure)
        )

    def start(self) -> None:
        """Start checking, so that the log reports errors early; call it on the event loop."""
        if self._storage is not None:
            self._watcher = asyncio.create_task(self._watch())

    async def close(self) -> None:
        """End the thread, without waiting for a running check."""
        if self._watcher is not None:
            self._watcher.cancel()
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def current(self) -> T | None:
        """Return the last result; before the end of the first check, wait for it."""
        if self.result is None and self._storage is not None:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._checked.wait(), WAIT_SECONDS)
        return self.result

    def check(self) -> None:
        """Read the files if any has changed.

        Raises
        ------
        SettingsError
            If there is no file, or one breaks a rule.
        StorageUnavailable
            If the store does not answer.
        """
        assert self._storage is not None
        with setting_named_in_errors(self.name):
            signatures = find_files(self._storage)
            if signatures == self._signatures:
                return
            try:
                content = dict(read_files(self._storage, signatures))
            except FileNotFoundError as error:
                raise StorageUnavailable(f"{self._storage.address} changed while it was read") from error
            self.result = self._decode(content)
        self._signatures = signatures
        _log.info(f"{self.name}_read", files=len(signatures))

    async def _watch(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                await loop.run_in_executor(self._thread, self.check)
            except Exception as error:  # noqa: BLE001 - logged; the next check follows
                self._record_failure(error)
            else:
                if self.failure is not None:
                    _log.info(f"{self.name}_usable_again")
                self.failure = None
            self._checked.set()
            must_retry = self.failure is not None and self.result is None
            await asyncio.sleep(RETRY_SECONDS if must_retry else CHECK_SECONDS)

    def _record_failure(self, error: Exception) -> None:
        previous, self.failure = self.failure, error
        if previous is None or str(previous) != str(error):
            event = "unusable" if self.misconfigured else "unreachable"
            expected = isinstance(error, SettingsError | StorageUnavailable | OSError)
            _log.error(
                f"{self.name}_{event}",
                reason=str(error),
                still_served=self.result is not None,
                exc_info=None if expected else error,
            )


def factor_files(address: str | None) -> OperatorFiles[Factors]:
    """Return the operator's file of factors."""
    return OperatorFiles("factors", address, read_factors)


class MarketData(OperatorFiles[Mapping[str, Benchmark]]):
    """Benchmarks from one Parquet file or a folder of them, by symbol.

    Parameters
    ----------
    address
        A path or URL; None if the deployment has no market data.

    Raises
    ------
    SettingsError
        If no file system supports the address.
    """

    def __init__(self, address: str | None) -> None:
        super().__init__("market_data", address, read_benchmarks)

    async def benchmark(self, symbol: str) -> Benchmark:
        """Return the cached series of a symbol; symbols are in upper case and compared exactly.

        Raises
        ------
        ApiError
            ``bad_request`` for an unknown symbol, with the known ones; ``benchmark_not_configured`` if there is no market
            data or it breaks a rule; ``benchmark_unavailable`` if its store does not answer.
        """
        available = await self.available()
        if not available:
            raise ApiError("benchmark_not_configured", "This deployment has no usable market data.")
        require_known((symbol,), available, SYMBOL_PATH)
        return available[symbol]

    async def available(self) -> Mapping[str, Benchmark]:
        """Return all cached series by symbol; empty without market data, or if it breaks a rule.

        Raises
        ------
        ApiError
            ``benchmark_unavailable`` if its store does not answer.
        """
        cached = await self.current()
        if cached is None and not self.misconfigured:
            raise ApiError(
                "benchmark_unavailable", "The market data cannot be read at present; try again later."
            )
        return cached or {}


def require_known(symbols: Collection[str], available: Collection[str], parameter: Parameter) -> None:
    """Raise ``bad_request``, with the known benchmarks, for a parameter that names an unknown one or too many."""
    if len(symbols) <= MAX_BENCHMARKS and all(symbol in available for symbol in symbols):
        return
    known = sorted(available)
    number = f"at most {MAX_BENCHMARKS}" if parameter is BENCHMARKS else "one"
    constraint = f"{number} of {', '.join(known)}"
    raise ApiError(
        "bad_request",
        f"Invalid parameter: {parameter.name}.",
        {"parameters": [{"name": parameter.name, "constraint": constraint}], "available": known},
    )
