"""Parts of answers with bootstrapped bands."""

from __future__ import annotations

from typing import Final

from schemas.field import Field, count, figure, fraction, integer, number
from schemas.units import Unit

SAMPLES: Final = count("samples", "Bootstrap samples of each series.", minimum=1)
SEED: Final = integer(
    "seed",
    "seed",
    "Seed of the random numbers, which depends only on the ids of the alphas, `book`, `from` and `to`.",
)


def band(unit: Unit) -> tuple[Field, ...]:
    """Declare the ends and the level of a band."""
    return (
        number("lower", unit, "Lower end of the band."),
        number("upper", unit, "Upper end of the band."),
        fraction("level", "Share of the samples inside the band."),
    )


def mean_block(meaning: str, name: str = "mean_block") -> Field:
    """Declare the mean block length of the stationary bootstrap."""
    return figure(name, meaning, unit=Unit.COUNT, minimum=1)
