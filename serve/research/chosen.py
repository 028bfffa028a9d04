"""The alphas that a request lists; each must exist and be readable by the key."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from datasets.snapshot import Snapshot
from schemas.errors import ApiError
from schemas.tables.books import book_order
from serve.auth.caller import Caller
from serve.catalog import Catalog
from serve.pages.books import visible_books


def chosen_runs(catalog: Catalog, caller: Caller, names: Sequence[str]) -> tuple[Snapshot, ...]:
    """Return the served snapshots of the alphas that a request lists, without I/O.

    Parameters
    ----------
    catalog : Catalog
        The served alphas.
    caller : Caller
        Who asks.
    names : sequence of str
        Ids of the alphas.

    Returns
    -------
    tuple of Snapshot
        In the order of `names`.

    Raises
    ------
    ApiError
        ``run_not_allowed`` when the key may not read one of them, whether or not it exists; ``run_not_found`` when one does not
        exist.
    """
    for name in names:
        if not caller.may_read_run(name):
            raise ApiError(
                "run_not_allowed", f"This key may not read the data of {name}.", headers=caller.headers
            )
    snapshots = []
    for name in names:
        snapshot = catalog.resolve(name)
        if snapshot is None:
            catalog.require_known(name)
            raise ApiError("run_not_found", f"There is no alpha {name}.")
        snapshots.append(snapshot)
    return tuple(snapshots)


def require_book(snapshots: Iterable[Snapshot], book: str, *, raw: bool) -> None:
    """Refuse a book that none of the runs has, if any run has books; reads manifests.

    Parameters
    ----------
    snapshots : iterable of Snapshot
        Snapshots of the runs.
    book : str
        Name of the book.
    raw : bool
        Whether the key has raw-book access.

    Raises
    ------
    ApiError
        ``unknown_book``, with the books of the runs that the key can read.
    """
    available = {name for snapshot in snapshots for name in visible_books(snapshot, raw=raw)}
    if available and book not in available:
        raise ApiError(
            "unknown_book",
            "None of the runs has such a book among those this key can read.",
            {"available": sorted(available, key=book_order)},
        )
