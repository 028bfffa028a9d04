"""A datasets root, opened for analysis."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

import numpy as np
import polars as pl

from datasets.analysis.alpha import Alpha
from datasets.analysis.comparison import (
    ComparisonQuery,
    correlate,
    measure_contribution,
    neighbours,
    others_in,
)
from datasets.analysis.window import require_window
from datasets.catalogue.live import Catalogue
from datasets.disk import reading
from datasets.figures.series import FULL_HISTORY, Window
from datasets.layout import ALPHAS, CATALOG, REFUSED
from datasets.publication.pointers import not_published
from datasets.storage import Storage, open_storage
from datasets.storage.cache import DEFAULT_BYTES, Cache
from schemas.errors import SettingsError, SnapshotCorrupt
from schemas.parameters import NAMED_WEIGHTS
from schemas.plurals import counted


class Root:
    """The alphas published under one address, as a read-only mapping from alpha id to snapshot.

    Parameters
    ----------
    storage : Storage
        The datasets root.
    """

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self.catalogue = Catalogue(storage)
        self.catalogue.refresh()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.storage.address!r}, {counted(len(self), 'alpha')})"

    def __getitem__(self, alpha_id: str) -> Alpha:
        """Return the served snapshot of an alpha.

        Raises
        ------
        AlphaNotPublished
            When there is no such alpha; suggests similar names.
        SnapshotCorrupt
            When its pointer is damaged or has another format.
        TypeError
            When the id is not a string.
        """
        if not isinstance(alpha_id, str):
            raise TypeError(f"an alpha is named by its id, a string, not by {alpha_id!r}")
        served = self.catalogue.resolve(alpha_id)
        if served is None:
            if alpha_id in self.catalogue.broken:
                raise SnapshotCorrupt(self.catalogue.broken[alpha_id])
            raise not_published(self.storage, alpha_id, list(self))
        return Alpha(self.storage, served.pointer)

    def __contains__(self, alpha_id: object) -> bool:
        """Whether an alpha is published."""
        return isinstance(alpha_id, str) and self.catalogue.resolve(alpha_id) is not None

    def __iter__(self) -> Iterator[str]:
        """Iterate over the alphas, latest started first."""
        return (pointer.alpha_id for pointer in self.catalogue.listing.pointers)

    def __len__(self) -> int:
        """Return the number of published alphas."""
        return len(self.catalogue.listing.pointers)

    def list(self) -> pl.DataFrame:
        """Return one row per alpha, latest started first.

        Returns
        -------
        polars.DataFrame
            ``alpha_id``, ``name``, ``tldr`` (null without a summary), ``snapshot``, ``complete`` (whether all required kinds are
            present), and the times ``started_at``, ``sealed_at`` and ``published_at`` in UTC.
        """
        texts, times = ("alpha_id", "name", "tldr", "snapshot"), ("started_at", "sealed_at", "published_at")
        types: dict[str, pl.DataType] = {
            **dict.fromkeys(texts, pl.String()),
            "complete": pl.Boolean(),
            **dict.fromkeys(times, pl.Datetime("us", "UTC")),
        }
        pointers = self.catalogue.listing.pointers
        columns = {name: [getattr(pointer, name) for pointer in pointers] for name in types}
        for name in times:
            columns[name] = [datetime.fromisoformat(text) for text in columns[name]]
        return pl.DataFrame(columns, schema=types)

    def correlations(
        self,
        alphas: Sequence[str],
        *,
        by: str = "returns",
        book: str = "long_short",
        window: Window = FULL_HISTORY,
    ) -> pl.DataFrame:
        """Return the similarity of all pairs of alphas, as `/v1/correlations` returns it.

        Parameters
        ----------
        alphas : sequence of str
            Ids of the alphas; repetitions are ignored.
        by : str
            ``returns``, ``scores`` or ``holdings``.
        book : str
            Book of the returns or holdings.
        window : Window
            Days to compare.

        Returns
        -------
        polars.DataFrame
            ``alpha_id`` and a column for each alpha: correlations between -1 and 1, or overlaps of holdings between 0 and 1;
            null where a pair cannot be compared.

        Raises
        ------
        AlphaNotPublished
            When an alpha is not published.
        KindNotPublished
            When the alphas have other books, but not this one.
        SettingsError
            When `by` is unknown, `alphas` is not a list, or the window is not one of days.
        """
        window = require_window(window)
        names = list(dict.fromkeys(_listed("alphas", alphas)))
        runs = [self[name] for name in names]
        if not any(book in run.books("portfolio") for run in runs) and by != "scores":
            for run in runs:
                run.require_book(book)
        matrix = correlate(runs, ComparisonQuery(by, book, window))
        rows = [(name, *row) for name, row in zip(names, matrix.values, strict=True)]
        schema = {"alpha_id": pl.String, **dict.fromkeys(names, pl.Float64)}
        return pl.DataFrame(rows, schema=schema, orient="row")

    def neighbours(
        self,
        alpha: str,
        *,
        among: Sequence[str] | None = None,
        by: str = "returns",
        book: str = "long_short",
        window: Window = FULL_HISTORY,
        order: str = "nearest",
        limit: int = 10,
    ) -> pl.DataFrame:
        """Return the most or least similar alphas, as `/v1/alphas/{alpha}/neighbours` lists them.

        Parameters
        ----------
        alpha : str
            Id of the alpha.
        among : sequence of str, or None
            Ids of the alphas to compare with; None for all. The files of each are read.
        by, book, window
            As in :meth:`correlations`.
        order : str
            ``nearest``, ``farthest``, or ``strongest`` (largest absolute value).
        limit : int
            Maximum number of rows.

        Returns
        -------
        polars.DataFrame
            ``alpha_id``, ``name``, ``correlation`` (``overlap`` for holdings) and ``observations`` (common sessions, or weeks of
            scores), rows in the requested order; an alpha that cannot be compared has none.

        Raises
        ------
        AlphaNotPublished, KindNotPublished, SettingsError
            As in :meth:`correlations`; SettingsError also when `order` is unknown, or `limit` below 1.
        """
        if not isinstance(limit, int | np.integer) or limit < 1:
            raise SettingsError(f"limit={limit!r}: give a whole number of rows, at least 1")
        window = require_window(window)
        listed = self if among is None else _listed("among", among)
        run = self[alpha]
        if by != "scores":
            run.require_book(book)
        others = [self[name] for name in others_in(listed, alpha)]
        ranked = neighbours(run, others, ComparisonQuery(by, book, window), order).ranked
        names = {other.alpha_id: other.pointer.name for other in others}
        figure = "overlap" if by == "holdings" else "correlation"
        return pl.DataFrame(
            [(x.alpha_id, names[x.alpha_id], x.figure, x.observations) for x in ranked[:limit]],
            schema={"alpha_id": pl.String, "name": pl.String, figure: pl.Float64, "observations": pl.Int64},
            orient="row",
        )

    def contribution(
        self,
        alpha: str,
        others: Sequence[str],
        *,
        weights: str | Sequence[float] = "equal",
        book: str = "long_short",
        window: Window = FULL_HISTORY,
    ) -> dict[str, Any]:
        """Return the contribution of an alpha to a book of others, as `/v1/alphas/{alpha}/contribution` returns it.

        Parameters
        ----------
        alpha : str
            Id of the alpha.
        others : sequence of str
            Ids of the other alphas in the book, at least one; repetitions and `alpha` itself are ignored.
        weights : str, or sequence of float
            ``equal``, ``volatility``, or one number per alpha, `alpha` first: none below 0, those of the others not all 0.
        book : str
            Book of the returns.
        window : Window
            Days to measure.

        Returns
        -------
        dict
            The ``data`` of the answer; a withheld figure is null, with its reason in ``withheld``.

        Raises
        ------
        AlphaNotPublished
            When an alpha is not published.
        KindNotPublished
            When `alpha` has other books, but not this one.
        SettingsError
            When `others` is not a list, `weights` has another name, another number of weights than of alphas, or weights that
            break the rule, or the window is not one of days.
        """
        window = require_window(window)
        names = others_in(_listed("others", others), alpha)
        wrong = f"weights={weights!r}: give {' or '.join(NAMED_WEIGHTS)}, or a number for each alpha"
        if isinstance(weights, str):
            if weights not in NAMED_WEIGHTS:
                raise SettingsError(wrong)
        else:
            try:
                weights = [float(x) for x in weights]
            except (TypeError, ValueError) as error:
                raise SettingsError(wrong) from error
            if len(weights) != len(names) + 1:
                raise SettingsError(f"weights: give {len(names) + 1} numbers, that of {alpha} first")
            scalable = all(x >= 0 for x in weights) and math.isfinite(sum(weights))
            if not scalable or (names and not any(weights[1:])):
                raise SettingsError("weights: give numbers, none below 0, and those of the others not all 0")
        run, runs = self[alpha], [self[name] for name in names]
        run.require_book(book)
        return measure_contribution(run, runs, weights, ComparisonQuery("returns", book, window))


def _listed(name: str, alphas: Sequence[str]) -> Sequence[str]:
    """Return a list of ids; refuses a single id in its place, whose letters would be looked up."""
    if isinstance(alphas, str):
        raise SettingsError(f"{name}={alphas!r}: give a list of alphas, such as [{alphas!r}]")
    listed = list(alphas) if isinstance(alphas, Iterable) else [alphas]
    for alpha in listed:
        if not isinstance(alpha, str):
            raise SettingsError(f"{name}: {alpha!r} is not the id of an alpha; give a list of ids")
    return listed


def is_root(storage: Storage) -> bool:
    """Whether a seal was ever published or refused under an address; needs one listing.

    Raises
    ------
    StorageUnavailable
        When the store does not answer.
    """
    return not {CATALOG, ALPHAS, REFUSED}.isdisjoint(storage.folders(""))


def open_root(
    address: str | os.PathLike[str],
    *,
    cache: str | os.PathLike[str] | None = None,
    cache_bytes: int = DEFAULT_BYTES,
) -> Root:
    """Open a datasets root for reading.

    An empty folder is a root without alphas.

    Parameters
    ----------
    address : str or os.PathLike
        A local folder or the URL of a supported store.
    cache : str, os.PathLike or None
        Folder for copies of a remote root's files, reused by later sessions; None for a temporary folder. Ignored for a local
        root.
    cache_bytes : int
        Maximum size of the cache in bytes.

    Returns
    -------
    Root
        The alphas that are served now; later publications are not followed.

    Raises
    ------
    SettingsError
        When the address is not supported, the folder does not exist or contains something else, or the cache folder cannot
        be used.
    StorageUnavailable
        When a remote store does not answer.
    """
    storage = open_storage(address)
    if cache is not None and storage.folder is None:
        storage = open_storage(address, cache=Cache(cache, cache_bytes))
    if storage.missing:
        raise SettingsError(
            f"{storage.address}: there is no such folder; give the one that `build --datasets` wrote to"
        )
    folder = storage.folder
    with reading(storage.address):
        is_other = folder is not None and not (folder / CATALOG).is_dir() and any(folder.iterdir())
    if is_other:
        raise SettingsError(f"{storage.address} holds no {CATALOG}/, so it is not a root of published alphas")
    return Root(storage)


def open_published(address: str) -> Root:
    """Open a root with publications, so that a misspelt address is an error, not an empty root.

    Raises
    ------
    SettingsError, StorageUnavailable
        As in :func:`open_root`; SettingsError also when no alpha was ever published there.
    """
    root = open_root(address)
    if not len(root) and not is_root(root.storage):
        raise SettingsError(
            f"{root.storage.address} is not a root of published alphas; give the one that `build --datasets` wrote to"
        )
    return root
