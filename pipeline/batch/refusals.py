"""Store of refused seals in the datasets root: a search skips a refused seal until it or the program changes.

Each refusal is one file, ``refused/<digest of the seal.json>.json``, with a digest of the code that refused the seal; other
code checks the seal again. If the files of the seal were at fault (one is missing, or differs from its
declaration), the refusal is valid until their listing changes, so a seal whose files arrive late is checked again; that of an
unsigned seal also until the keys of the teams change.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TypedDict

import msgspec
import orjson

from datasets.layout import REFUSED
from datasets.storage import Storage, open_storage
from datasets.storage.file_digests import file_digest
from pipeline.batch.discover import DiscoveredSeal
from pipeline.batch.result import STILL_REFUSED, SealResult
from pipeline.release import release
from pipeline.seal.store import shown_address
from schemas.console.terminal import echo
from schemas.errors import AlphaResultsError, SealRefused
from schemas.instants import utc_text

_SIGNATURE: Final = "seal.signature"
_FILE_RULES: Final = frozenset({"seal.digest", "seal.path", "seal.size", _SIGNATURE})
"""Rules that depend on the files, and not on the manifest alone."""


class Refusal(TypedDict):
    """A stored refusal.

    ``rules`` is the digest of the code that applied the rules; ``files`` is the digest of the file listing if the files were at
    fault, else None.
    """

    seal: str
    searched: str
    alpha_id: str | None
    rules: str
    refused_at: str
    files: str | None
    violations: list[Mapping[str, Any]]


def read_refusals(root: Storage) -> dict[str, Refusal]:
    """Read the refusals of a root: digest of the ``seal.json`` -> entry. Damaged entries are skipped.

    Raises
    ------
    StorageUnavailable
        When the store does not answer.
    """
    refusals: dict[str, Refusal] = {}
    names = [name.removesuffix(".json") for name in root.entries(REFUSED) if name.endswith(".json")]
    digests = {_path(digest): digest for digest in names}
    for path, raw in root.read_many(list(digests)).items():
        with contextlib.suppress(ValueError):
            refusals[digests[path]] = msgspec.json.decode(raw or b"", type=Refusal)
    return refusals


class Refusals:
    """Refusals of seals below one folder or prefix, which are not checked again unless `recheck`.

    `seal_keys` is the file with the public keys of the teams; None if no signature is required.
    """

    def __init__(self, root: Storage, searched: str, *, recheck: bool, seal_keys: str | None) -> None:
        self._root = root
        self._searched = shown_address(searched)
        self._recheck = recheck
        self._seal_keys = seal_keys
        self._keys_digest = ""
        self._known: dict[str, Refusal] = {}
        self._is_read = self._warned = False

    def refresh(self, seen: Iterable[DiscoveredSeal]) -> None:
        """Read the refusals of earlier commands once, and remove those of seals that no longer exist.

        Raises
        ------
        StorageUnavailable
            When the store does not answer.
        """
        self._keys_digest = "" if self._seal_keys is None else _digest_of_keys(self._seal_keys)
        if self._is_read:
            return
        self._known = read_refusals(self._root)
        removed = self._known.keys() - {seal.digest for seal in seen}
        self._forget([digest for digest in removed if self._known[digest]["searched"] == self._searched])
        if self._recheck:
            self._known = {}
        self._is_read = True

    def known(self, seal: DiscoveredSeal) -> SealResult | None:
        """Return the stored refusal of a seal; None if the seal must be checked."""
        entry = self._known.get(seal.digest)
        if entry is None or entry["rules"] != self._version({x["rule"] for x in entry["violations"]}):
            return None
        if entry["files"] is not None and entry["files"] != file_digests_at(seal.address):
            return None
        rules = ", ".join(dict.fromkeys(violation["rule"] for violation in entry["violations"]))
        message = f"still refused ({rules}), as on {entry['refused_at']}; --recheck checks it again"
        return SealResult(
            shown_address(seal.address),
            STILL_REFUSED,
            SealRefused(message, entry["violations"]),
            {"alpha_id": seal.alpha_id, "refused_at": entry["refused_at"]},
        )

    def record(self, seal: DiscoveredSeal, result: SealResult, files: str) -> None:
        """Store a refusal, or remove the refusal of a published seal; `files` is the listing digest from before the build."""
        if result.error is None:
            self._forget([seal.digest])
        if not isinstance(result.error, SealRefused):
            return
        if result.lapses_at is not None:
            return
        violations = list(result.error.violations)
        rules = {violation["rule"] for violation in violations}
        if rules & _FILE_RULES and (not files or files != file_digests_at(seal.address)):
            return  # files changed during the check, or their disk was unmounted; a later change could not be detected
        entry: Refusal = {
            "seal": shown_address(seal.address),
            "searched": self._searched,
            "alpha_id": seal.alpha_id,
            "rules": self._version(rules),
            "refused_at": utc_text(datetime.now(UTC), "seconds"),
            "files": files if rules & _FILE_RULES else None,
            "violations": violations,
        }
        self._known[seal.digest] = entry
        if any(violation.get("strict") for violation in violations):
            return  # known to this command only: one without --strict would publish the seal
        try:
            self._root.put(_path(seal.digest), orjson.dumps(entry))
        except (AlphaResultsError, OSError) as error:
            if not self._warned:
                echo(f"a refusal could not be stored, so the seal will be checked again: {error}", err=True)
            self._warned = True

    def _version(self, broken: Collection[str]) -> str:
        """Return the digest of the code, with that of the teams' keys if the signature was at fault."""
        return release()["code"] + (self._keys_digest if _SIGNATURE in broken else "")

    def _forget(self, digests: list[str]) -> None:
        for digest in digests:
            self._known.pop(digest, None)
        with contextlib.suppress(AlphaResultsError, OSError):
            self._root.remove_files([_path(digest) for digest in digests])


def file_digests_at(address: str) -> str:
    """Digest the listing of a seal's files, which changes when a file is written; empty if unknown."""
    try:
        files = open_storage(address).files_below("")
    except (AlphaResultsError, OSError, ValueError):
        return ""
    state = sorted((path, (entry.size, str(entry.modified))) for path, entry in files.items())
    return hashlib.sha256(repr(state).encode("utf-8", "replace")).hexdigest()


def _digest_of_keys(path: str) -> str:
    """Digest the file of keys; empty if it cannot be read, which the build reports."""
    with contextlib.suppress(OSError):
        return file_digest(Path(path))
    return ""


def _path(digest: str) -> str:
    return f"{REFUSED}/{digest}.json"
