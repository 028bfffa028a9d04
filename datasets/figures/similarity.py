"""Similarity of several alphas' cross-sections on one day: rank correlation of scores, overlap of holdings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from datasets.figures.rank_correlation import Integers, centred_ranks, spearman_by_group
from datasets.figures.series import Floats

ORDERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "nearest": np.positive,
    "farthest": np.negative,
    "strongest": np.abs,
}
"""Order -> sort key, descending. `strongest` ranks an inverse like a copy."""


def rank_correlations(scores: Floats, *, first_only: bool = False) -> Floats:
    """Rank-correlate the scores of all pairs of alphas over the names that both score.

    Parameters
    ----------
    scores : Floats, shape (n_alphas, n_symbols)
        NaN where an alpha does not score a name.
    first_only : bool
        Compare the first alpha alone with each.

    Returns
    -------
    Floats, shape (n_alphas, n_alphas) or (1, n_alphas)
        Of shape (alphas, alphas), symmetric, of shape (1, alphas) with `first_only`: Spearman's correlation with ties
        averaged; NaN with fewer than two common names or when either side is constant over them.
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
        clipped: Floats = np.clip(correlations, -1.0, 1.0)
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


def _ranks(scores: Floats) -> Floats:
    """Twice the average rank minus the mean, by row."""
    count, names = scores.shape
    group = np.repeat(np.arange(count), names)
    codes = _codes(scores).ravel() + group * names
    return centred_ranks(codes, group, count).reshape(scores.shape).astype(np.float64)


def _codes(scores: Floats) -> Integers:
    """Ordinal codes of the values of each row, below the number of names."""
    order = np.argsort(scores, axis=1)
    ascending = np.take_along_axis(scores, order, axis=1)
    steps = np.zeros(scores.shape, np.int64)
    steps[:, 1:] = ascending[:, 1:] != ascending[:, :-1]
    codes = np.empty(scores.shape, np.int64)
    np.put_along_axis(codes, order, np.cumsum(steps, axis=1), axis=1)
    return codes


def overlaps(weights: Floats, *, first_only: bool = False) -> Floats:
    """Overlap of the holdings of all pairs of books: one minus their active share, each over its gross.

    Where ``a`` and ``b`` are the weights of two books over their gross, the overlap is the sum over the names held on the same
    side of ``min(|a|, |b|)``, which is ``1 - sum |a - b| / 2``.

    Parameters
    ----------
    weights : Floats, shape (n_books, n_symbols)
        Signed; 0 where a book does not hold a name.
    first_only : bool
        Compare the first book alone with each.

    Returns
    -------
    Floats, shape (n_books, n_books) or (1, n_books)
        Of shape (books, books), symmetric, of shape (1, books) with `first_only`: between 0 and 1, 1 for equal proportions;
        NaN if either book has no positions.

    References
    ----------
    Cremers and Petajisto (2009), "How Active Is Your Fund Manager?", Review of Financial Studies 22, for the active share.
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
    clipped: Floats = np.clip(overlap, 0.0, 1.0)
    return clipped
