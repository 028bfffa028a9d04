"""Which seals are due: found by listing, compared with what is served by digest, without opening any table."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from datasets.archives import DELIVERED, ArchiveState, archive_state_path
from datasets.catalogue import Catalogue
from datasets.pointer import Pointer
from datasets.publication.pointers import is_current
from datasets.regular_file import NotRegular, TooLarge, read_regular
from datasets.storage import Signature, Storage, open_storage
from pipeline.batch.request import Outcome, Request, skipped
from pipeline.folder import require_folder
from pipeline.seal.manifest import FOLDER_KIND, MANIFEST_FILE, parse_manifest
from pipeline.seal.store import SealStore
from schemas.errors import AlphaResultsError, SettingsError, SnapshotCorrupt, StorageUnavailable
from schemas.kinds import MAX_BYTES
from schemas.version import schema_version


@dataclass(frozen=True, slots=True)
class DiscoveredSeal:
    """A finished seal that was seen.

    Attributes
    ----------
    address
        Where it is.
    digest
        Of its manifest, which stands for all of it.
    alpha_id, sealed_at
        What the manifest says; None when it says nothing usable, which the build will report.
    has_source
        Whether the run sealed its source.
    nested
        Address -> digest of its source files that are called as a manifest is: they are no seals of their own.
    unread
        Address and listing of a manifest that cannot be read, whose digest is empty.
    """

    address: str
    digest: str
    alpha_id: str | None = None
    sealed_at: datetime | None = None
    has_source: bool = False
    nested: Mapping[str, str] = field(default_factory=dict)
    unread: str = ""

    @property
    def mark(self) -> str:
        """What it is remembered by: the digest, or, of a manifest that cannot be read, its address and listing."""
        return self.digest or hashlib.sha256(self.unread.encode("utf-8", "replace")).hexdigest()


@dataclass(slots=True)
class WorkPlan:
    """Seals that are due, and the outcome of those that need no work.

    Attributes
    ----------
    due
        In the order seen.
    skipped
        Every other seal with its outcome.
    """

    due: list[DiscoveredSeal] = field(default_factory=list)
    skipped: list[tuple[DiscoveredSeal, Outcome]] = field(default_factory=list)


class Seals:
    """The finished seals below a folder or prefix; a manifest is read again only when its listing changed.

    Parameters
    ----------
    address
        A folder or the URL of a supported store. Seals may lie at any depth, below another one too; a file that a seal
        declares as its own source is none.

    Raises
    ------
    SettingsError
        When it is a file, or a folder that does not exist.
    """

    def __init__(self, address: str) -> None:
        self._storage = require_folder(
            open_storage(address), "--from", "give the folder that seals are written to"
        )
        self._address = address.rstrip("/")
        self._known: dict[str, tuple[tuple[Any, ...], DiscoveredSeal]] = {}
        self._scanned = False

    def scan(self) -> list[DiscoveredSeal]:
        """Return every finished seal, by address.

        Raises
        ------
        SettingsError
            At the first look, when its bucket is not there, or nothing lies below its prefix.
        StorageUnavailable
            When the store does not answer.
        """
        try:
            listed = self._storage.find_named(MANIFEST_FILE)
            if not listed and not self._scanned:
                self._require_prefix()
        except StorageUnavailable as error:
            # A bucket that is not there is away for ever: whoever follows it would wait in vain.
            if self._scanned or not isinstance(error.__cause__, FileNotFoundError):
                raise
            raise SettingsError(f"--from: {error}") from error
        self._scanned = True
        changed = [
            path for path, signature in listed.items() if self._known.get(path, (None,))[0] != signature
        ]
        self._known = {path: known for path, known in self._known.items() if path in listed}
        for path, raw in self._read(changed, listed).items():
            if raw is not None:  # else it was taken away since the listing
                folder = path.removesuffix(MANIFEST_FILE).rstrip("/")
                address = f"{self._address}/{folder}".rstrip("/")
                found = (
                    sighting(address, raw)
                    if raw
                    else DiscoveredSeal(address, "", unread=f"{address} {listed[path]}")
                )
                self._known[path] = listed[path], found
        seen = [self._known[path][1] for path in sorted(listed) if path in self._known]
        nested = {address: digest for one in seen for address, digest in one.nested.items()}
        return [one for one in seen if nested.get(one.address) != one.digest]

    def _require_prefix(self) -> None:
        """Refuse a prefix below which nothing is: it is to a bucket what a folder that is not there is to a disk."""
        if self._storage.folder is None and "/" in self._storage.base and not self._storage.exists(""):
            raise SettingsError(
                f"--from: nothing lies below {self._storage.address}; correct it, or make it with an empty object "
                f"{self._storage.address.rstrip('/')}/"
            )

    def _read(self, paths: list[str], listed: Mapping[str, Signature]) -> dict[str, bytes | None]:
        """Read manifests; one that cannot be read is empty here, which is not a manifest either: its build says why."""
        limit = MAX_BYTES["seal"]
        if self._storage.folder is None:
            small = [path for path in paths if listed[path][1] <= limit]
            return dict.fromkeys(paths, b"") | self._storage.read_many(small)
        found: dict[str, bytes | None] = {}
        for path in paths:
            try:
                found[path] = read_regular(self._storage.full(path), limit)
            except FileNotFoundError:
                found[path] = None
            except (OSError, ValueError, NotRegular, TooLarge, StorageUnavailable):
                found[path] = b""
        return found


def sighting(address: str, raw: bytes) -> DiscoveredSeal:
    """Describe a seal by the bytes of its manifest. Pure."""
    digest = hashlib.sha256(raw).hexdigest()
    manifest, _ = parse_manifest(raw)
    if manifest is None:
        return DiscoveredSeal(address, digest)
    source = manifest.kinds.get(FOLDER_KIND)
    nested = {}
    if source is not None and source.files is not None:
        folder = f"{address}/{source.path.rstrip('/')}"
        nested = {
            f"{folder}/{name}".removesuffix(f"/{MANIFEST_FILE}"): sha256
            for name, sha256 in source.files.items()
            if name.rsplit("/", 1)[-1] == MANIFEST_FILE
        }
    return DiscoveredSeal(address, digest, manifest.alpha_id, manifest.sealed_at, source is not None, nested)


def named(addresses: Iterable[str]) -> list[DiscoveredSeal]:
    """Look at seals that were named; one that cannot be read is due all the same, for its build says why."""
    found = []
    for address in addresses:
        try:
            raw = SealStore(address).read(MANIFEST_FILE, MAX_BYTES["seal"])
        except (AlphaResultsError, NotRegular, TooLarge):
            raw = None
        found.append(DiscoveredSeal(address, "") if raw is None else sighting(address, raw))
    return found


def choose(
    seen: list[DiscoveredSeal],
    catalogue: Catalogue,
    request: Request,
    *,
    searched: bool,
    delivered: Delivered | None = None,
    refused: Callable[[DiscoveredSeal], Outcome | None] | None = None,
    failed: Collection[str] = (),
) -> WorkPlan:
    """Separate the seals that are due from those that need no work.

    Parameters
    ----------
    catalogue
        Of the datasets root, refreshed.
    request
        A request for any seal, for what all have in common.
    searched
        Whether they were found rather than named: then only the latest seal of an alpha is built, and neither an
        older one than is served nor one that was rolled back is a failure. A named seal is only left out when it is
        served already.
    delivered
        Says which source archives are delivered; None when archives are switched off.
    refused
        Tells of a seal that is known to be refused what to report; None when nothing is known.
    failed
        Addresses of seals that were tried in this search and cannot be published: they are left out, and the latest
        of the others is built in their place.
    """
    found = WorkPlan()
    left: list[tuple[DiscoveredSeal, str | None, str]] = []
    for one in seen:
        if one.address in failed:
            continue
        pointer = _pointer(catalogue, one)
        reason = None
        if searched and one.alpha_id in catalogue.withdrawn:
            reason = "withdrawn"
        elif one.alpha_id is not None and not request.force:
            reason = _skip_reason(one, pointer, searched=searched)
        refusal = refused(one) if refused is not None and reason is None else None
        if refusal is None:
            left.append((one, reason, pointer.snapshot if pointer else ""))
        else:
            found.skipped.append((one, refusal))
    latest = _latest(one for one, *_ in left)
    for one, state, snapshot in left:
        reason = state
        if reason is None and searched and one.alpha_id is not None and latest[one.alpha_id] is not one:
            reason = "superseded"
        if reason is None or (reason == "unchanged" and delivered is not None and not delivered(one)):
            found.due.append(one)
        else:
            shown = Request(one.address, "").shown
            found.skipped.append((one, skipped(shown, reason, str(one.alpha_id), snapshot)))
    return found


def _pointer(catalogue: Catalogue, one: DiscoveredSeal) -> Pointer | None:
    if one.alpha_id is None or one.alpha_id in catalogue.broken:
        return None
    snapshot = catalogue.resolve(one.alpha_id)
    return snapshot.pointer if snapshot else None


def _latest(seen: Iterable[DiscoveredSeal]) -> dict[str, DiscoveredSeal]:
    """Return the seal of each alpha that was sealed last; of several that were sealed at once the first."""
    latest: dict[str, DiscoveredSeal] = {}
    for one in seen:
        if one.alpha_id is not None and one.sealed_at is not None:
            best = latest.get(one.alpha_id)
            if best is None or best.sealed_at is None or one.sealed_at > best.sealed_at:
                latest[one.alpha_id] = one
    return latest


def _skip_reason(one: DiscoveredSeal, pointer: Pointer | None, *, searched: bool) -> str | None:
    if pointer is None:
        return None
    if is_current(pointer, one.digest):
        return "unchanged"
    if not searched:
        return None
    if pointer.was_rolled_back(one.digest, schema_version()):
        return "rolled back"
    later = one.sealed_at is not None and datetime.fromisoformat(pointer.sealed_at) > one.sealed_at
    return "superseded" if later else None


class Delivered:
    """Says which seals need nothing for their source archive any more; asked of the root once for many.

    Parameters
    ----------
    storage
        The datasets root, which holds the states.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._known: set[str] = set()

    def refresh(self, seen: Iterable[DiscoveredSeal]) -> None:
        """Read the states of seals whose archives are not known to be delivered."""
        paths = {
            archive_state_path(one.alpha_id, one.digest): one.digest
            for one in seen
            if one.alpha_id is not None and one.has_source and one.digest not in self._known
        }
        for path, raw in self._storage.read_many(list(paths)).items():
            try:
                if raw is not None and ArchiveState.decode(raw, path).status == DELIVERED:
                    self._known.add(paths[path])
            except SnapshotCorrupt:
                continue  # due: the build writes it anew

    def __call__(self, one: DiscoveredSeal) -> bool:
        """Return whether a seal's archive is delivered, or there is nothing to deliver."""
        return not one.has_source or one.digest in self._known
