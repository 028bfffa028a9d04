"""Paths of a datasets root.

::

    <root>/catalog/<alpha_id>.json                                  the pointer to the served snapshot
    <root>/alphas/alpha_id=<id>/snapshot=<id>/manifest.json         the list of the snapshot's files
    <root>/alphas/alpha_id=<id>/snapshot=<id>/description.json      the written description, if sealed
    <root>/alphas/alpha_id=<id>/snapshot=<id>/figures/<family>.json research figures, by book if the family has one object per book
    <root>/alphas/alpha_id=<id>/snapshot=<id>/figures/luck.json     luck figures of the complete run, by book
    <root>/alphas/alpha_id=<id>/snapshot=<id>/probe.json            a sample for comparing runs at publication
    <root>/alphas/alpha_id=<id>/snapshot=<id>/<dataset>/[book=<book>/]part-0.parquet
    <root>/alphas/alpha_id=<id>/sealed_weeks.json                   weekly digests of every seal; gc keeps it
    <root>/index/                                                   on an object store: all pointers in one object, and a marker of the last move
    <root>/refused/<digest of a seal.json>.json                     refusals, so that `build --from` skips refused seals
    <root>/archives/alpha_id=<id>/seal=<digest>.json                state of a source archive
    <root>/leases/<reader>.json                                     protects replaced snapshots from gc while a reader may need them
    <root>/.staging/                                                builds in progress; never read by readers

All paths here are relative to the root, with forward slashes, in folders and buckets alike.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, TypeVar

from schemas.errors import AlphaNotPublished, KindNotPublished
from schemas.kinds import ALPHA_ID
from schemas.table import PATTERNS, Bound
from schemas.tables import PUBLISHED_TABLES

CATALOG: Final = "catalog"
ALPHAS: Final = "alphas"
STAGING: Final = ".staging"
REFUSED: Final = "refused"
INDEX: Final = "index"
MANIFEST: Final = "manifest.json"
SEALED_WEEKS: Final = "sealed_weeks.json"
DESCRIPTION: Final = "description.json"
PROBE: Final = "probe.json"
FIGURES: Final = "figures"
POINTER_SUFFIX: Final = ".json"
SAVED_CATALOGUE: Final = "catalogue.json"
"""File in the cache of a remote root with the last known pointers."""

SNAPSHOT_ID: Final = r"^[0-9a-f]{20}\Z"
"""Pattern of the id of a snapshot."""
_SNAPSHOT: Final = re.compile(SNAPSHOT_ID)
_Entry = TypeVar("_Entry")
BOOK_NAME: Final = re.compile(rf"{PATTERNS[Bound.BOOK]}\Z")
"""Pattern of a book's name, which is part of paths."""


def pointer_path(alpha_id: str) -> str:
    """Return the path of an alpha's pointer.

    Raises
    ------
    AlphaNotPublished
        When the text is not a valid alpha address.
    """
    return f"{CATALOG}/{valid_address(alpha_id)}{POINTER_SUFFIX}"


def by_alpha(entries: Mapping[str, _Entry]) -> dict[str, _Entry]:
    """Return the entries of a listing of :data:`CATALOG` by alpha, without other files."""
    return {
        alpha: entry
        for name, entry in entries.items()
        if name.endswith(POINTER_SUFFIX) and ALPHA_ID.match(alpha := name.removesuffix(POINTER_SUFFIX))
    }


def alpha_path(alpha_id: str) -> str:
    """Return the path of the folder with all snapshots of an alpha."""
    return f"{ALPHAS}/alpha_id={valid_address(alpha_id)}"


def sealed_weeks_path(alpha_id: str) -> str:
    """Return the path of an alpha's weekly digests (:mod:`datasets.provenance.sealed_weeks`)."""
    return f"{alpha_path(alpha_id)}/{SEALED_WEEKS}"


def snapshot_path(alpha_id: str, snapshot: str) -> str:
    """Return the path of a snapshot's folder."""
    if not is_snapshot_id(snapshot):
        raise AlphaNotPublished(
            f"{snapshot!r} is not a valid snapshot id: 20 hexadecimal digits are expected"
        )
    return f"{alpha_path(alpha_id)}/snapshot={snapshot}"


def is_snapshot_id(text: str) -> bool:
    """Whether a text may be the id of a snapshot."""
    return _SNAPSHOT.match(text) is not None


def table_path(dataset: str, book: str | None = None) -> str:
    """Return the path of a published table inside its snapshot.

    Raises
    ------
    KindNotPublished
        When the dataset is unknown or the book's name is not valid in a path.
    """
    if dataset not in PUBLISHED_TABLES:
        raise KindNotPublished(
            f"{dataset!r} is not a published dataset; there are {', '.join(PUBLISHED_TABLES)}"
        )
    if book is None:
        return f"{dataset}/part-0.parquet"
    if not BOOK_NAME.match(book):
        raise KindNotPublished(
            f"{book!r} is not a valid book name: letters, digits, '_', '-' and '.' are allowed"
        )
    return f"{dataset}/book={book}/part-0.parquet"


def figures_path(family: str) -> str:
    """Return the path of a family of research figures inside its snapshot."""
    return f"{FIGURES}/{family}.json"


def valid_address(alpha_id: str) -> str:
    """Return an alpha's address, which is part of paths; raises AlphaNotPublished if it is not valid."""
    if not ALPHA_ID.match(alpha_id):
        raise AlphaNotPublished(f"{alpha_id!r} is not a valid alpha address")
    return alpha_id
