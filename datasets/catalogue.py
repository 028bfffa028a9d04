"""The live list of what is served: pointers cached in memory, refreshed by one listing."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Final

from datasets.alpha_columns import Rows
from datasets.cache.saved_catalogue import SavedCatalogue
from datasets.change_hints import Hints
from datasets.layout import CATALOG, by_alpha, is_snapshot_id, pointer_path
from datasets.listing import Listing
from datasets.pointer import Pointer
from datasets.snapshot import Snapshot
from datasets.storage import Signature, Storage
from schemas.errors import SnapshotCorrupt, StorageUnavailable
from schemas.kinds import REQUIRED_KINDS

_SHA256: Final = re.compile(r"[0-9a-f]{64}\Z")


class Catalogue:
    """Resolves an alpha to the snapshot that is served, and follows new pointers.

    Reading never blocks on a refresh: both views are replaced whole, so a request that resolved a snapshot keeps
    it while another one is published.

    A refresh reads the pointers that changed, many at once; :mod:`datasets.change_hints` says how it finds them. With a
    cache of a remote root the pointers are cached too, so that a restart reads only what changed meanwhile, and has
    something to serve although the store is away.

    Parameters
    ----------
    storage
        The datasets root.
    list_seconds
        How long looks may go by what is cheaper than a listing; 0 lists every time.
    """

    def __init__(self, storage: Storage, list_seconds: float = 0.0) -> None:
        self._storage = storage
        self._signatures: dict[str, Signature] = {}
        self._entries_seen: dict[str, Signature] = {}
        self._snapshots: dict[str, Snapshot] = {}
        self.listing = Listing(())
        """Every pointer, as of the last refresh."""
        self._lock = threading.Lock()
        self._refreshed = float("-inf")
        self.listed_at = datetime.min.replace(tzinfo=UTC)
        """When the last look began that listed every pointer: nothing that was replaced before is served any more."""
        self._hints = Hints(storage, list_seconds)
        self.broken: dict[str, str] = {}
        """Alpha id -> why its pointer could not be read; what was served before stays served."""
        self._unserved: dict[str, Pointer] = {}
        self._rows: Rows = {}
        self._saved = None
        if storage.cache is not None:
            self._saved = SavedCatalogue(storage.cache.folder / storage.identity)
            self._signatures, pointers = self._saved.load()
            self._show({alpha: Snapshot(storage, pointer) for alpha, pointer in pointers.items()})

    def refresh(self, wanted: Collection[str] = ()) -> bool:
        """Find out what changed, and read the pointers that did.

        All pointers are listed when they were not for `list_seconds`, and whenever nothing cheaper can tell: on a folder of
        this machine its time, one stat; on an object store the index, one conditional read.

        Parameters
        ----------
        wanted
            Alphas that are looked for by themselves, although nothing says that they are there.

        Returns
        -------
        bool
            Whether anything that is served changed.

        Raises
        ------
        StorageUnavailable
            When the store does not answer, or lists nothing where there was something before: an unmounted disk leaves
            an empty folder. Everything known stays as it was.
        """
        with self._lock:
            try:
                told = self._hints.told()
                changed = self._list() if told is None else self._follow(told, wanted)
            except BaseException:
                self._hints.list_next()  # what was told already is not told again
                raise
            self._refreshed = time.monotonic()
            if self._saved is not None:
                pointers = {alpha: s.pointer for alpha, s in self._snapshots.items()}
                self._saved.keep(self._signatures, pointers, changed)
            return changed

    def _follow(self, told: Mapping[str, Signature], wanted: Collection[str]) -> bool:
        found = {**told, **self._hints.look_for(alpha for alpha in wanted if alpha not in self._signatures)}
        changed = [alpha for alpha, signature in found.items() if self._signatures.get(alpha) != signature]
        if changed:
            self._apply({**self._signatures, **found}, changed, set())
        return bool(changed)

    def _list(self) -> bool:
        began = datetime.now(UTC)
        self._hints.before_listing()
        listed = self._storage.entries(CATALOG)
        known = self._signatures
        # Most looks find what the last one found: with many alphas, comparing is all there is time for.
        found = known if listed == self._entries_seen else by_alpha(listed, known)
        if known and not found:
            raise StorageUnavailable(
                f"{self._storage.url(CATALOG)} lists no alpha any more where there were {len(known)}, which is not "
                f"believed: mount its disk or restore that folder. If it was emptied on purpose, start anew"
            )
        same = found is known
        changed = (
            [] if same else [alpha for alpha, signature in found.items() if known.get(alpha) != signature]
        )
        gone = set() if same else known.keys() - found.keys()
        texts = self._hints.after_listing(found, changed)
        if changed or gone:
            self._apply(found, changed, gone, texts)
        # A pointer that went away between the listing and its reading is looked for once more.
        self._entries_seen = listed if self._signatures == found else {}
        if self._signatures != found:
            self._hints.list_next()
        self.listed_at = began
        return bool(changed or gone)

    def _apply(
        self,
        found: dict[str, Signature],
        changed: list[str],
        gone: set[str],
        texts: Mapping[str, bytes] = MappingProxyType({}),
    ) -> None:
        snapshots = {alpha: snapshot for alpha, snapshot in self._snapshots.items() if alpha not in gone}
        signatures = {alpha: signature for alpha, signature in self._signatures.items() if alpha not in gone}
        broken = {alpha: reason for alpha, reason in self.broken.items() if alpha not in gone}
        unserved = {alpha: pointer for alpha, pointer in self._unserved.items() if alpha in found}
        paths = {alpha: pointer_path(alpha) for alpha in changed}
        read = self._storage.read_many([path for alpha, path in paths.items() if alpha not in texts])
        for alpha, path in paths.items():
            data = texts[alpha] if alpha in texts else read[path]
            if data is None:
                continue  # removed since the listing: the next refresh sees it gone
            try:
                pointer = _decoded(alpha, path, data)
            except SnapshotCorrupt as error:
                broken[alpha] = str(error)
            else:
                broken.pop(alpha, None)
                served = snapshots.get(alpha)
                unserved.pop(alpha, None)
                if pointer.is_withdrawn:
                    snapshots.pop(alpha, None)
                    unserved[alpha] = pointer
                elif served is None or served.pointer != pointer:
                    snapshots[alpha] = Snapshot(self._storage, pointer)
            signatures[alpha] = found[alpha]
        self._signatures, self.broken, self._unserved = signatures, broken, unserved
        self._show(snapshots)

    def _show(self, snapshots: dict[str, Snapshot]) -> None:
        # Latest started first, the address as tiebreak: two stable sorts.
        pointers = sorted((s.pointer for s in snapshots.values()), key=lambda x: x.alpha_id)
        pointers.sort(key=lambda x: datetime.fromisoformat(x.started_at), reverse=True)
        self._snapshots = snapshots
        self._rows = {alpha: row for alpha, row in self._rows.items() if alpha in snapshots}
        self.listing = Listing(tuple(pointers), tuple(self._unserved.values()), self._rows)

    @property
    def withdrawn(self) -> Mapping[str, Pointer]:
        """Alpha id -> pointer of what operators withdrew: it is not served, but not lost either."""
        return {alpha: pointer for alpha, pointer in self._unserved.items() if pointer.withdrawn}

    def resolve(self, alpha_id: str) -> Snapshot | None:
        """Return the snapshot served under an address, None when there is none."""
        return self._snapshots.get(alpha_id)

    def pointers(self) -> tuple[Pointer, ...]:
        """Return every pointer, latest started first, the address as tiebreak."""
        return self.listing.pointers

    @property
    def index_fault(self) -> str | None:
        """Why looks cannot go by the index of an object store; None when they do, and on a folder."""
        return self._hints.fault

    @property
    def age(self) -> float:
        """Seconds since the last refresh that worked; infinite before the first."""
        return time.monotonic() - self._refreshed


def _decoded(alpha: str, path: str, data: bytes) -> Pointer:
    pointer = Pointer.decode(data, path)
    if pointer.alpha_id != alpha:
        raise SnapshotCorrupt(f"{path} points at the alpha {pointer.alpha_id!r}")
    wrong = [name for name, right in _FORMS.items() if not right(getattr(pointer, name))]
    if wrong:
        raise SnapshotCorrupt(f"{path} is not a pointer: {', '.join(wrong)} cannot be what was written")
    return pointer


def _is_moment(value: Any) -> bool:
    try:
        return datetime.fromisoformat(value).tzinfo is not None
    except (TypeError, ValueError):
        return False


_FORMS: Final[dict[str, Callable[[Any], bool]]] = {
    "snapshot": lambda value: isinstance(value, str) and is_snapshot_id(value),
    "manifest_sha256": lambda value: isinstance(value, str) and _SHA256.match(value) is not None,
    "name": lambda value: isinstance(value, str),
    "tldr": lambda value: value is None or isinstance(value, str),
    "complete": lambda value: isinstance(value, bool),
    "missing": lambda value: all(kind in REQUIRED_KINDS for kind in value),
    "started_at": _is_moment,
    "sealed_at": _is_moment,
    "published_at": _is_moment,
    "first_published_at": _is_moment,
}
"""What every field that a reader relies on looks like: one damaged pointer must not keep the others from being read."""
