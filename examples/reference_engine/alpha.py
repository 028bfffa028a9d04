"""Parameters of a simulation and of each run in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

SignalName = Literal["momentum", "reversal", "low_volatility"]

ENGINE = {"name": "simulated-reference-engine", "version": "1.0"}
FEWEST_NAMES = 24
FEWEST_WEEKS = 12


@dataclass(frozen=True)
class AlphaSpec:
    """One alpha to run on the simulated market.

    Attributes
    ----------
    alpha_id
        Address of the run, and the name of the folder its seal is written to.
    signal
        Which of the reference signals scores the names.
    half_life_weeks
        Half-life of the exponential smoothing; null publishes the signal unsmoothed.
    started_at, sealed_at
        Instants written into the manifest, ISO 8601 UTC. They are given, never read from a clock, so
        that a seal has the same bytes whenever it is made.
    source_alpha_id
        Research id written into the manifest; null means the address.
    equity_basis
        Opening equity of every book, above zero.
    raw
        Whether the run records the signal before smoothing, and runs the books that follow it.
    ranks
        Whether the run seals its own ranks instead of leaving them to the reader.
    tried
        Half-lives in weeks that were tried before this one was picked: each is run, and its returns are sealed beside
        those of the run.
    """

    alpha_id: str
    signal: SignalName
    half_life_weeks: float | None = 2.0
    started_at: str = "2026-01-05T06:00:00Z"
    sealed_at: str = "2026-01-05T07:30:00Z"
    source_alpha_id: str | None = None
    equity_basis: float = 1.0
    raw: bool = True
    ranks: bool = False
    tried: tuple[float, ...] = ()


DEFAULT_ALPHAS: Sequence[AlphaSpec] = (
    AlphaSpec("Test_sim_momentum", "momentum", 2.0, source_alpha_id="simulated-momentum"),
    AlphaSpec(
        "Test_sim_reversal",
        "reversal",
        1.0,
        started_at="2026-01-12T06:00:00Z",
        sealed_at="2026-01-12T07:30:00Z",
        source_alpha_id="simulated-reversal",
        ranks=True,
    ),
    AlphaSpec(
        "sim_lowvol",
        "low_volatility",
        4.0,
        started_at="2026-01-19T06:00:00Z",
        sealed_at="2026-01-19T07:30:00Z",
        equity_basis=1_000_000.0,
    ),
)
