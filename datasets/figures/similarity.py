"""Similarity of several alphas' cross-sections on one day: rank correlation of scores, overlap of holdings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from datasets.figures.rank_correlation import Integers, centred_ranks, spearman_by_group
from datasets.figures.series import Matrix

ORDERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "nearest": np.positive,
    "farthest": np.negative,
    "strongest": np.abs,
}
"""Order -> sort key, descending; `strongest` sorts by absolute correlation."""


def rank_correlations(scores: Matrix, *, first_only: bool = False) -> Matrix:
    """Rank-correlate the scores of all pairs of alphas over the names that both score.

    Parameters
    ----------
    scores : Matrix, shape (n_alphas, n_symbols)
        NaN where an alpha does not score a name; at least one alpha.
    first_only : bool
        Whether to compare only the first alpha with each.

    Returns
    -------
    Matrix, shape (n_alphas, n_alphas) or (1, n_alphas)
        Spearman's correlation with ties averaged, between -1 and 1; one row with `first_only`, else symmetric. NaN with
        fewer than two common names or when either side is constant over them.

    References
    ----------
    Spearman (1904), "The Proof and Measurement of Association between Two Things", American Journal of Psychology 15.
    """
    count = scores.shape[0]
    known = ~np.isnan(scores)
    correlations = np.full((1 if first_only else count, count), np.nan)
    if (known == known[0]).all():
        ranks = _ranks(scores[:, known[0]])
        norms = np.sqrt(np.vecdot(ranks, ranks))
        rows = ranks[: correlations.shape[0]]
        scale = norms[: correlations.shape[0], np.newaxis] * norms
        np.divide(rows @ ranks.T, scale, out=correlations, where=scale > 0)
        clipped: Matrix = np.clip(correlations, -1.0, 1.0)
        return clipped
    codes = _codes(scores)
    for row in range(correlations.shape[0]):
        others = slice(row, count)
        both = known[others] & known[row]
        group, name = np.nonzero(both)
        # A group's codes exceed those of earlier groups.
        base = group * scores.shape[1]
        own, other = base + codes[row, name], base + codes[others][both]
        correlations[row, others] = spearman_by_group(own, other, group, count - row)[0]
        if not first_only:
            correlations[others, row] = correlations[row, others]
    return correlations


def _ranks(scores: Matrix) -> Matrix:
    """Twice the average rank minus the mean, by row."""
    count, names = scores.shape
    group = np.repeat(np.arange(count), names)
    codes = _codes(scores).ravel() + group * names
    return centred_ranks(codes, group, count).reshape(scores.shape).astype(np.float64)


def _codes(scores: Matrix) -> Integers:
    """Ordinal codes of the values of each row, below the number of names."""
    order = np.argsort(scores, axis=1)
    ascending = np.take_along_axis(scores, order, axis=1)
    steps = np.zeros(scores.shape, np.int64)
    steps[:, 1:] = ascending[:, 1:] != ascending[:, :-1]
    codes = np.empty(scores.shape, np.int64)
    np.put_along_axis(codes, order, np.cumsum(steps, axis=1), axis=1)
    return codes


def overlaps(weights: Matrix, *, first_only: bool = False) -> Matrix:
    """Overlap of the holdings of all pairs of books: one minus their active share.

    With ``a`` and ``b`` the weights of two books, each divided by its gross exposure, the overlap is the sum of
    ``min(|a|, |b|)`` over the names held on the same side, which is ``1 - sum |a - b| / 2``.

    Parameters
    ----------
    weights : Matrix, shape (n_books, n_symbols)
        Signed, fractions of equity; 0 where a book does not hold a name.
    first_only : bool
        Whether to compare only the first book with each.

    Returns
    -------
    Matrix, shape (n_books, n_books) or (1, n_books)
        Between 0 and 1, 1 for equal proportions; one row with `first_only`, else symmetric. NaN if either book has no
        positions.

    References
    ----------
    Cremers and Petajisto (2009), "How Active Is Your Fund Manager?", Review of Financial Studies 22, for the active share.

    Examples
    --------
    >>> overlaps(np.array([[0.5, -0.5, 0.0], [0.5, 0.0, -0.5]]), first_only=True)
    array([[1. , 0.5]])
    """
    gross = np.abs(weights).sum(axis=1)
    holds = (gross > 0) & np.isfinite(gross)
    shares = np.zeros_like(weights)
    np.divide(weights, gross[:, np.newaxis], out=shares, where=holds[:, np.newaxis])
    rows = 1 if first_only else weights.shape[0]
    overlap = np.full((rows, weights.shape[0]), np.nan)
    for row in range(rows):
        distance = np.abs(shares[row:] - shares[row]).sum(axis=1)
        overlap[row, row:] = np.where(holds[row:] & holds[row], 1.0 - distance / 2.0, np.nan)
        if not first_only:
            overlap[row:, row] = overlap[row, row:]
    clipped: Matrix = np.clip(overlap, 0.0, 1.0)
    return clipped
