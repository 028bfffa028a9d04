"""The benchmarks of a serving process."""

from __future__ import annotations

import math
from collections.abc import Mapping

from datasets.figures.price import Benchmark
from datasets.market_data import read_benchmarks
from schemas.errors import ApiError
from serve.market_data.operator_files import CHECK_SECONDS, RETRY_SECONDS, OperatorFiles


class MarketData(OperatorFiles[Mapping[str, Benchmark]]):
    """Benchmarks from one Parquet file or a folder of them, by symbol.

    Parameters
    ----------
    address
        A path or URL; None when the deployment has no market data.
    check_seconds
        Pause between two looks for changed files.

    Raises
    ------
    SettingsError
        When no file system answers to the address.
    """

    def __init__(self, address: str | None, *, check_seconds: float = CHECK_SECONDS) -> None:
        super().__init__(
            "market_data", "ALPHA_RESULTS_MARKET_DATA", address, read_benchmarks, check_seconds=check_seconds
        )

    async def benchmark(self, symbol: str) -> Benchmark:
        """Return the cached series of a symbol; symbols are in upper case and compared exactly.

        Raises
        ------
        ApiError
            ``bad_request`` for a symbol that is not there, with those that are; ``benchmark_not_configured`` when there
            is no market data or it breaks a rule; ``benchmark_unavailable`` when its store does not answer.
        """
        cached = await self.current()
        if cached is None:
            if self.misconfigured:
                raise ApiError(
                    "benchmark_not_configured", "This deployment has no market data that can be used."
                )
            raise _unavailable()
        if symbol not in cached:
            raise _unknown(cached)
        return cached[symbol]

    async def available(self) -> Mapping[str, Benchmark]:
        """Return all cached series by symbol; none without market data, or if it breaks a rule.

        Raises
        ------
        ApiError
            ``benchmark_unavailable`` when its store does not answer.
        """
        cached = await self.current()
        if cached is None and not self.misconfigured:
            raise _unavailable()
        return cached or {}

    def refusal(self, symbol: str) -> ApiError | None:
        """Return the ``bad_request`` for an unknown symbol; None before the files were read."""
        return _unknown(self.result) if self.result and symbol not in self.result else None


def _unknown(cached: Mapping[str, Benchmark]) -> ApiError:
    available = list(cached)
    constraint = f"one of {', '.join(available)}"
    details = {"parameters": [{"name": "symbol", "constraint": constraint}], "available": available}
    return ApiError("bad_request", "There is no such benchmark.", details)


def _unavailable() -> ApiError:
    return ApiError(
        "benchmark_unavailable",
        "The market data cannot be read for now; try again later.",
        headers={"Retry-After": str(math.ceil(RETRY_SECONDS))},
    )
