"""Prices of fills, and the tape that records the fills of a run."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import polars as pl

from examples.reference_engine.market import Market
from examples.reference_engine.sessions import Floats, Indices, opening_instants

FEE_PER_SHARE = 0.001
IMPACT_PER_WEIGHT = 2.0
"""Half spreads added for every unit of book weight traded at once."""

VARIANTS = ("", "_adjustments", "_settlements")
PHASES = ("open", "rebalance", "close")
CHANGES = ("entry", "weight_increase", "weight_decrease", "exit")
EXITS = (None, "signal_exit", "risk_exit")


def execution_price(mid: Floats, shares: Floats, half_spread: Floats, weight_traded: Floats) -> Floats:
    """Return the fill price: the mid moved against the trade by spread and impact.

    Parameters
    ----------
    mid
        Reference mid, currency per share.
    shares
        Signed shares traded.
    half_spread
        Ratio of the mid.
    weight_traded
        Absolute traded notional over the book's equity.

    Returns
    -------
    numpy.ndarray
        Above the mid for a purchase and below it for a sale; same shape as the arguments broadcast.
    """
    return mid * (1.0 + np.sign(shares) * half_spread * (1.0 + IMPACT_PER_WEIGHT * weight_traded))


@dataclass(eq=False)
class Tape:
    """Fills in order of execution, as columns of codes and numbers."""

    columns: dict[str, list[npt.NDArray[np.generic]]] = field(default_factory=dict)

    def add(self, books: Indices, names: Indices, **values: npt.NDArray[np.generic] | int) -> None:
        """Append one fill per (book, name) pair; a single number is repeated for every pair."""
        every = {"book": books, "name": names, **values}
        for column, value in every.items():
            self.columns.setdefault(column, []).append(np.broadcast_to(np.asarray(value), books.shape))

    def frame(self, market: Market, books: tuple[str, ...]) -> pl.DataFrame:
        """Return the `trades` table, sorted by book, instant and symbol; fills of one name keep their order."""
        tape = {column: np.concatenate(parts) for column, parts in self.columns.items()}
        labels = [book + variant for book in books for variant in VARIANTS]
        return pl.DataFrame(
            {
                "book": _labels(labels, tape["book"] * len(VARIANTS) + tape["variant"]),
                "timestamp": opening_instants(market.schedule[tape["session"]]),
                "decision_at": market.schedule[tape["decided"]],
                "symbol": _labels(market.symbols, tape["name"]),
                "phase": _labels(PHASES, tape["phase"]),
                "quantity": tape["shares"],
                "mid_price": tape["mid"],
                "fill_price": tape["price"],
                "fee": tape["fee"],
                "execution_cost": tape["cost"],
                "rebalance_adjustment_reason": _labels(CHANGES, tape["change"]),
                "exit_reason": _labels(EXITS, tape["exit"]),
            }
        ).sort("book", "timestamp", "symbol", maintain_order=True)


def _labels(words: tuple[str | None, ...] | list[str], codes: npt.NDArray[np.generic]) -> pl.Series:
    return pl.Series(words, dtype=pl.String).gather(codes.astype(np.int64))
