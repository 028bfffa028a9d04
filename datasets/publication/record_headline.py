"""Recording the figures of what is served already, published by a release that recorded none."""

from __future__ import annotations

from datasets.headline.make import stored_headline
from datasets.headline.record import has_headline, with_headline
from datasets.manifest import Manifest, Pointer
from datasets.publication.pointers import compare_and_swap
from datasets.storage import Storage


def record_headline(storage: Storage, pointer: Pointer, manifest: Manifest) -> bool:
    """Add the figures of the served snapshot to its pointer, unless they are there; nothing else of it changes.

    Parameters
    ----------
    pointer
        As it was read last.
    manifest
        Of the snapshot it names.

    Returns
    -------
    bool
        Whether the pointer was written.

    Raises
    ------
    PublicationRefused
        When others moved the pointer too many times meanwhile.
    StorageUnavailable
        When the store does not answer.
    """
    if has_headline(pointer):
        return False
    headline = stored_headline(storage, manifest)

    def decide(current: Pointer | None) -> Pointer | None:
        if not headline or current is None or current.snapshot != manifest.snapshot or has_headline(current):
            return None
        return with_headline(current, headline)

    return compare_and_swap(storage, pointer.alpha_id, decide) is not None
