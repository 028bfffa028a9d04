"""A reference engine: complete run seals of alphas on a simulated market.

An engine is upstream of the pipeline: it runs an alpha and writes the seal that the pipeline checks and publishes. This one
shows what an engine hands over, feeds the demonstration, the benchmarks and the tests, and never reads real data. No
command that builds or checks uses it, and it shares no code with what checks its seals. Start at :func:`simulate`; the documentation is `docs/writing-a-seal.md`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from examples.reference_engine.alpha import DEFAULT_ALPHAS, AlphaSpec
    from examples.reference_engine.market import Market, simulate_market
    from examples.reference_engine.record import RunRecord
    from examples.reference_engine.run import already_simulated, run_alpha, simulate
    from examples.reference_engine.write import write_seal

__all__ = [
    "DEFAULT_ALPHAS",
    "AlphaSpec",
    "Market",
    "RunRecord",
    "already_simulated",
    "run_alpha",
    "simulate",
    "simulate_market",
    "write_seal",
]

_MODULES = {
    "DEFAULT_ALPHAS": "alpha",
    "AlphaSpec": "alpha",
    "Market": "market",
    "simulate_market": "market",
    "RunRecord": "record",
    "already_simulated": "run",
    "run_alpha": "run",
    "simulate": "run",
    "write_seal": "write",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is used: `--help` of the command loads neither NumPy nor Polars."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
