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
        Id of the alpha, and name of its seal's folder.
    signal
        Signal that scores the names.
    half_life_weeks
        Half-life of the exponential smoothing; None leaves the signal unsmoothed.
    started_at, sealed_at
        Timestamps of the manifest, ISO 8601 in UTC. They are arguments, not the current time, so that a seal is
        reproducible byte for byte.
    source_alpha_id
        Research id in the manifest; None means `alpha_id`.
    equity_basis
        Opening equity of every book, above zero.
    raw
        Whether the run records the signal before smoothing and its books.
    ranks
        Whether the run seals its own ranks; otherwise they are derived at publication.
    tried
        Half-lives in weeks that were tried before the chosen one: each is run, and its returns are sealed as a trial.
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
