"""A reference engine: it runs alphas on a simulated market and writes their seals.

An engine is upstream of the pipeline, which checks and publishes its seals. This one shows what an engine delivers, and
generates the data of the demo, the benchmarks and the tests. It shares no code with the checks of its seals. Start at
:func:`simulate`; `docs/writing-a-seal.md` describes the format.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from examples.reference_engine.alpha import DEFAULT_ALPHAS, AlphaSpec
    from examples.reference_engine.market import Market, simulate_market
    from examples.reference_engine.run import already_simulated, run_alpha, simulate
    from examples.reference_engine.write import RunRecord, write_seal

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
    "RunRecord": "write",
    "already_simulated": "run",
    "run_alpha": "run",
    "simulate": "run",
    "write_seal": "write",
}


def __getattr__(name: str) -> Any:
    """Import a public name on first use, so that `--help` of the command loads neither NumPy nor Polars."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
