"""Refused seals, stored in the datasets root, so that a search does not check them again without a change.

One file each, ``refused/<digest of the seal.json>.json``. It names the version of the rules that refused the seal;
another version checks it again. A refusal for the seal's files (one is missing, or differs from its declaration) holds
while the listing of its files is the same: a seal whose files arrive late is checked again.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, TypedDict

import msgspec
import orjson

from datasets.layout import REFUSED
from datasets.storage import Storage, open_storage
from pipeline.batch.discover import DiscoveredSeal
from pipeline.batch.result import SealResult
from pipeline.release import rules_version
from pipeline.seal.store import without_secrets
from schemas.errors import AlphaResultsError
from schemas.exit_codes import ExitCode
from schemas.terminal import echo

_FILE_RULES: Final = frozenset({"seal.digest", "seal.path", "seal.size"})
"""Rules that depend on the files, and not on the manifest alone."""
_CLOCK_RULES: Final = frozenset({"seal.clock"})
"""Rules that depend on the time of the check, whose refusals are not stored."""


class Refusal(TypedDict):
    """A stored refusal: the listing of the seal's files if they were the reason, else None."""

    seal: str
    searched: str
    alpha_id: str | None
    rules: str
    refused_at: str
    files: str | None
    violations: list[dict[str, Any]]


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
    """Stored refusals.

    Parameters
    ----------
    root
        The datasets root.
    searched
        Where seals are searched; refusals of seals that are not there any more are forgotten.
    recheck
        Whether what earlier commands remembered is checked again.
    """

    def __init__(self, root: Storage, searched: str, *, recheck: bool) -> None:
        self._root = root
        self._searched = without_secrets(searched)
        self._recheck = recheck
        self._known: dict[str, Refusal] = {}
        self._is_read = False
        self._warned = False

    def refresh(self, seen: Iterable[DiscoveredSeal]) -> None:
        """Read the refusals of earlier commands once, and forget removed ones.

        Raises
        ------
        StorageUnavailable
            When the store does not answer.
        """
        if self._is_read:
            return
        recorded = read_refusals(self._root)
        digests = {one.digest for one in seen}
        gone = [
            digest
            for digest, entry in recorded.items()
            if digest not in digests and entry["searched"] == self._searched
        ]
        with contextlib.suppress(AlphaResultsError, OSError):
            self._root.remove_files([_path(digest) for digest in gone])
        if not self._recheck:
            self._known = {digest: entry for digest, entry in recorded.items() if digest not in gone}
        self._is_read = True

    def known(self, one: DiscoveredSeal) -> SealResult | None:
        """Return the result of a seal that need not be checked again; None if it must be."""
        entry = self._known.get(one.digest)
        if entry is None or entry["rules"] != rules_version():
            return None
        if entry["files"] is not None and entry["files"] != file_digests_at(one.address):
            return None
        rules = ", ".join(dict.fromkeys(violation["rule"] for violation in entry["violations"]))
        return SealResult(
            {
                "seal": without_secrets(one.address),
                "outcome": "still refused",
                "alpha_id": one.alpha_id,
                "refused_at": entry["refused_at"],
                "message": f"still refused ({rules}), as on {entry['refused_at']}; --recheck checks it again",
                "violations": entry["violations"],
            },
            ExitCode.STILL_REFUSED,
        )

    def record(self, one: DiscoveredSeal, result: SealResult) -> None:
        """Store a refusal, and remove an obsolete one."""
        if result.outcome != "refused":
            if result.exit_code == 0 and self._known.pop(one.digest, None) is not None:
                with contextlib.suppress(AlphaResultsError, OSError):
                    self._root.remove_files([_path(one.digest)])
            return
        violations = result.entry["violations"]
        if any(violation.get("strict") for violation in violations):
            return  # refused for a warning: a build without --strict would publish it
        rules = {violation["rule"] for violation in violations}
        if rules & _CLOCK_RULES or (rules & _FILE_RULES and not result.files):
            return
        entry: Refusal = {
            "seal": without_secrets(one.address),
            "searched": self._searched,
            "alpha_id": one.alpha_id,
            "rules": rules_version(),
            "refused_at": datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
            "files": result.files if rules & _FILE_RULES else None,
            "violations": violations,
        }
        self._known[one.digest] = entry
        try:
            self._root.put(_path(one.digest), orjson.dumps(entry))
        except (AlphaResultsError, OSError) as error:
            if not self._warned:
                echo(f"a refusal could not be remembered, it will be checked again: {error}", err=True)
            self._warned = True


def file_digests_at(address: str) -> str:
    """Digest the listing of a seal's files, which changes when a file is written; empty if unknown."""
    try:
        listed = open_storage(address).files_below("")
    except (AlphaResultsError, OSError, ValueError):
        return ""
    state: Mapping[str, tuple[int, str]] = {
        path: (entry.size, str(entry.modified)) for path, entry in listed.items()
    }
    return hashlib.sha256(repr(sorted(state.items())).encode("utf-8", "replace")).hexdigest()


def _path(digest: str) -> str:
    return f"{REFUSED}/{digest}.json"
