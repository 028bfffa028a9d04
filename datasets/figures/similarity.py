"""Similarity of several alphas' cross-sections by day: rank correlation of scores, overlap of holdings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from datasets.figures.rank_correlation import centred_ranks, order_codes
from datasets.figures.series import ROUNDING, Flags, Floats

ORDERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "nearest": np.positive,
    "farthest": np.negative,
    "strongest": np.abs,
}
"""Order -> sort key, descending. `strongest` ranks an inverse alpha as high as a copy."""


_RELATIVE_ROUNDING: Final = 2.0**-50
"""Share of a sum of squares below which a variance is rounding error; distinct ranks of up to 9,000 names vary more."""


def rank_correlations(scores: Floats, *, first_only: bool = False) -> Floats:
    """Rank-correlate the scores of all pairs of alphas.

    Each alpha ranks the names that it scores; the ranks of a pair are correlated over the names that both score. This is
    Spearman's correlation if both score the same names. Otherwise the common names are not ranked again for each pair, so
    that a few matrix products suffice for all pairs of a day.

    Parameters
    ----------
    scores : Floats, shape (n_days, n_alphas, n_symbols)
        NaN where an alpha does not score a name; at least one alpha.
    first_only : bool
        Whether to compare only the first alpha with all.

    Returns
    -------
    Floats, shape (n_days, n_alphas, n_alphas) or (n_days, 1, n_alphas)
        Pearson's correlation of the ranks of each day, ties averaged, between -1 and 1; one row with `first_only`, else
        symmetric. NaN with fewer than two common names or when either side is constant over them.

    References
    ----------
    Spearman (1904), "The Proof and Measurement of Association between Two Things", American Journal of Psychology 15.
    """
    known = ~np.isnan(scores)
    ranks, scored = _ranks(scores, known), known.astype(np.float64)
    squares = np.square(ranks)
    rows = slice(0, 1) if first_only else slice(None)

    def over_common_names(left: Floats, right: Floats) -> Floats:
        sums: Floats = left[:, rows] @ right.swapaxes(1, 2)
        return sums

    # Ranks are whole numbers, so the sums are exact.
    names = over_common_names(scored, scored)
    own, others = over_common_names(ranks, scored), over_common_names(scored, ranks)
    own_squares = names * over_common_names(squares, scored)
    other_squares = names * over_common_names(scored, squares)
    own_variance, other_variance = own_squares - np.square(own), other_squares - np.square(others)
    varies = own_variance > _RELATIVE_ROUNDING * own_squares
    varies &= other_variance > _RELATIVE_ROUNDING * other_squares
    covariance = names * over_common_names(ranks, ranks) - own * others
    correlations = np.full(covariance.shape, np.nan)
    np.divide(covariance, np.sqrt(own_variance * other_variance), out=correlations, where=varies)
    clipped: Floats = np.clip(correlations, -1.0, 1.0)
    return clipped


def _ranks(scores: Floats, known: Flags) -> Floats:
    """Twice the average rank minus the mean, by day and alpha; 0 where an alpha does not score a name."""
    count, names = known.shape[0] * known.shape[1], known.shape[2]
    group = np.repeat(np.arange(count), names)[known.ravel()]
    ranks = np.zeros(known.shape)
    ranks[known] = centred_ranks(order_codes(scores[known], group), group, count)
    return ranks


def overlaps(weights: Floats, *, first_only: bool = False) -> Floats:
    """Overlap of the holdings of all pairs of books: one minus the active share of the books scaled to a gross of 1.

    With the scaled weights ``a`` and ``b`` of two books, the overlap is the sum of ``min(|a|, |b|)`` over the names held on the
    same side, which equals ``1 - sum |a - b| / 2``.

    Parameters
    ----------
    weights : Floats, shape (n_days, n_books, n_symbols)
        Signed, fractions of equity; 0 where a book does not hold a name.
    first_only : bool
        Whether to compare only the first book with all.

    Returns
    -------
    Floats, shape (n_days, n_books, n_books) or (n_days, 1, n_books)
        Overlap by day, between 0 and 1; 1 for equal proportions. One row with `first_only`, else symmetric. NaN if either book
        has no positions.

    References
    ----------
    Cremers and Petajisto (2009), "How Active Is Your Fund Manager?", Review of Financial Studies 22, for the active share.

    Examples
    --------
    >>> overlaps(np.array([[[0.5, -0.5, 0.0], [0.5, 0.0, -0.5]]]), first_only=True)
    array([[[1. , 0.5]]])
    """
    gross = np.abs(weights).sum(axis=2)
    holds = (gross > 0) & np.isfinite(gross)
    shares = np.zeros_like(weights)
    np.divide(weights, gross[..., np.newaxis], out=shares, where=holds[..., np.newaxis])
    days, books, _ = weights.shape
    overlap = np.full((days, 1 if first_only else books, books), np.nan)
    for row in range(overlap.shape[1]):
        distance = np.abs(shares[:, row:] - shares[:, row, np.newaxis]).sum(axis=2)
        both = holds[:, row:] & holds[:, row, np.newaxis]
        overlap[:, row, row:] = np.where(both, 1.0 - distance / 2.0, np.nan)
        if not first_only:
            overlap[:, row:, row] = overlap[:, row, row:]
    overlap[overlap <= ROUNDING] = 0.0  # books without a common name on one side
    clipped: Floats = np.minimum(overlap, 1.0)
    return clipped
