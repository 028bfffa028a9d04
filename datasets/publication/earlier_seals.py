"""Compare a seal, at its publication, with all earlier seals of its alpha."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from datasets.layout import sealed_weeks_path
from datasets.manifest import Manifest
from datasets.provenance.sealed_weeks import (
    SealedWeek,
    SealEntry,
    compare_with_earlier,
    decode_seals,
    encode_seals,
)
from datasets.storage import Storage
from schemas.errors import PublicationContended

_MAX_ATTEMPTS: Final = 50
"""Lost races in a row before giving up; in each, another seal of the alpha was built."""
_MAX_BYTES: Final = 1 << 30
"""Maximum bytes of the record of earlier seals, which grows with each seal."""


def earlier_seals(storage: Storage, alpha_id: str) -> list[SealEntry]:
    """Return the weekly digests of the seals of an alpha, in the order in which they were built.

    Raises
    ------
    SnapshotCorrupt
        When the record of the seals cannot be read.
    StorageUnavailable
        When the store does not answer.
    """
    path = sealed_weeks_path(alpha_id)
    try:
        return decode_seals(storage.read(path, _MAX_BYTES), path)
    except FileNotFoundError:
        return []


def with_history(
    storage: Storage,
    manifest: Manifest,
    weeks: Mapping[str, SealedWeek],
    judge: Callable[[Sequence[Mapping[str, Any]]], Mapping[str, Any]],
) -> Manifest:
    """Record the weekly digests of a seal, and in its manifest the comparison with every seal built before it.

    Called before the snapshot becomes visible. A seal that is already recorded is compared with the seals before it, as at
    its first build, and nothing is written.

    Parameters
    ----------
    manifest
        Manifest of the snapshot being published.
    weeks
        Week (YYYY-MM-DD) -> digests and IC in the seal.
    judge
        Returns the notice on a history, which replaces the notice of the same name in the manifest.

    Returns
    -------
    Manifest
        The manifest with `history`, its notice, the weekly digests, and a new id.

    Raises
    ------
    PublicationContended
        After too many races with other builds of the alpha.
    SnapshotCorrupt
        When the record cannot be read.
    StorageUnavailable
        When the store does not answer.
    """
    path = sealed_weeks_path(manifest.alpha_id)
    digests = {week: sealed_week.digests for week, sealed_week in weeks.items()}
    manifest = replace(manifest, weekly_digests=digests)
    for _ in range(_MAX_ATTEMPTS):
        version = storage.read_version(path, _MAX_BYTES)
        seals = [] if version.data is None else decode_seals(version.data, path)
        places = {entry.seal_digest: place for place, entry in enumerate(seals)}
        place = places.get(manifest.seal_digest, len(seals))
        history = compare_with_earlier(seals[:place], weeks)
        judged = judge(history)
        notices = tuple(judged if x["notice"] == judged["notice"] else x for x in manifest.notices)
        built = replace(manifest, history=history, notices=notices).with_id()
        if place < len(seals):
            return built
        entry = SealEntry(manifest.seal_digest, manifest.sealed_at, built.snapshot, weeks)
        if storage.put_if(path, encode_seals([*seals, entry]), version.tag):
            return built
    raise PublicationContended(
        f"{manifest.alpha_id}: other seals of it were built {_MAX_ATTEMPTS} times meanwhile; try again"
    )
