"""Tolerance of comparisons."""

from __future__ import annotations

from functools import reduce
from typing import Final

import numpy as np
import polars as pl

from pipeline.reconciliation.grid import Flags, Floats

RELATIVE: Final = 1e-9
"""Relative to the larger magnitude."""
ABSOLUTE: Final = 1e-9
"""Floor, as a fraction of the scale of the comparison."""


def differ(a: pl.Expr, b: pl.Expr, scale: float = 1.0) -> pl.Expr:
    """Return where two figures differ by more than the tolerance.

    Parameters
    ----------
    a, b
        Figures of one unit.
    scale
        Scale of the absolute floor: `equity_basis` for money, 1 (the equity of a book) for ratios.

    Returns
    -------
    polars.Expr
        True where ``|a - b| > max(1e-9 max(|a|, |b|), 1e-9 scale)``, and where the difference is not a finite
        number, as when a product overflows; null where either is null.
    """
    gap = (a - b).abs()
    # gap > max(x, y, z) without computing the maximum.
    beyond = (gap > ABSOLUTE * scale) & (gap > RELATIVE * a.abs()) & (gap > RELATIVE * b.abs())
    return beyond | gap.is_finite().not_()


def differing(expected: Floats, actual: Floats, floor: float, *magnitudes: Floats) -> Flags:
    """Return where two figures differ by more than ``max(floor, 1e-9 of the largest magnitude)``.

    A difference that is not a finite number, as when a product overflows, differs.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        gap = np.abs(actual - expected)
        largest = reduce(np.maximum, map(np.abs, (expected, actual, *magnitudes)))
        wrong: Flags = ~(gap <= np.maximum(floor, RELATIVE * largest)) | np.isinf(gap)
    return wrong
