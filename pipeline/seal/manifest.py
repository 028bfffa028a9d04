"""``seal.json``, the manifest of a run and its files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final

from pipeline.seal.declared_differences import DeclaredDifferences
from pipeline.seal.shape import ShapeProblem, compare, expectation
from pipeline.seal.strict_json import NotJson, parse_json
from schemas.documents.openapi.json_schema import make_schema
from schemas.kinds import KINDS, SEAL_VERSION
from schemas.objects.seal import FOLDER_KIND, INSTANT_EXPECTED, SEAL

MANIFEST_FILE: Final = "seal.json"


@dataclass(frozen=True, slots=True)
class KindEntry:
    """The manifest's entry of one kind.

    Attributes
    ----------
    path
        Relative to the seal.
    is_folder
        Whether the path names a folder; ``source`` is one.
    files
        Name of each file, relative to a folder, or else empty -> its digest (lower-case hex).
    bytes
        Size of the file; None for a folder.
    rows
        Number of rows of a table; None otherwise.
    """

    path: str
    is_folder: bool
    files: Mapping[str, str]
    bytes: int | None = None
    rows: int | None = None

    @property
    def paths(self) -> dict[str, str]:
        """Name of each file -> its path in the seal."""
        folder = f"{self.path.rstrip('/')}/"
        return {name: f"{folder}{name}" if self.is_folder else self.path for name in self.files}


@dataclass(frozen=True, slots=True)
class SealManifest:
    """A valid ``seal.json``."""

    alpha_id: str
    source_alpha_id: str
    started_at: datetime
    sealed_at: datetime
    equity_basis: float
    smoothing: Mapping[str, Any] | None
    engine: Mapping[str, Any]
    kinds: Mapping[str, KindEntry]
    unknown_keys: tuple[str, ...] = ()
    declared: DeclaredDifferences = field(default_factory=DeclaredDifferences)


def parse_manifest(raw: bytes) -> tuple[SealManifest | None, tuple[ShapeProblem, ...]]:
    """Read the bytes of a ``seal.json``.

    Returns
    -------
    tuple
        The manifest, or None with all problems. Paths are only checked to be strings: the rule ``seal.path`` checks that they
        stay inside the seal. Keys that may be null may also be left out.
    """
    try:
        document = parse_json(raw, "seal")
    except NotJson as error:
        return None, (ShapeProblem("(file)", str(error), "a JSON object in UTF-8"),)
    if not isinstance(document, dict):
        return None, (ShapeProblem("(file)", type(document).__name__, "a JSON object in UTF-8"),)
    version = document.get("seal_version")
    if type(version) is int and version != SEAL_VERSION:
        # In another version any other key may have another meaning, so no other key is checked.
        return None, (ShapeProblem("seal_version", version, expectation(SEAL["seal_version"])),)
    shape = compare(SEAL, document)
    known = f"one of {', '.join(member.name for member in SEAL['reconciliation'].fields)}"
    problems = [*shape.problems, *(ShapeProblem(key, "(undeclared)", known) for key in shape.extra)]
    times: dict[str, datetime] = {}
    for key in ("started_at", "sealed_at") if not problems else ():
        try:
            times[key] = datetime.fromisoformat(document[key])
        except ValueError:
            problems.append(ShapeProblem(key, document[key], INSTANT_EXPECTED))
    if problems:
        return None, tuple(problems)
    smoothing = document.get("smoothing")
    if smoothing is not None:
        smoothing = {member.name: smoothing.get(member.name) for member in SEAL["smoothing"].fields}
    alpha_id, source = document["alpha_id"], document.get("source_alpha_id")
    manifest = SealManifest(
        alpha_id=alpha_id,
        source_alpha_id=alpha_id if source is None else source,
        **times,
        equity_basis=float(document["equity_basis"]),
        smoothing=smoothing,
        engine=document["engine"],
        kinds=MappingProxyType({kind: _entry(kind, entry) for kind, entry in document["kinds"].items()}),
        unknown_keys=tuple(key for key in document if key not in {member.name for member in SEAL.fields}),
        declared=DeclaredDifferences.read(document.get("reconciliation") or {}),
    )
    return manifest, ()


def manifest_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of ``seal.json``, equivalent to the rule ``seal.manifest``.

    Unknown keys are allowed, because they only cause a warning. Other rules check that paths stay inside the seal and that
    digests match the files.
    """
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"seal.json, version {SEAL_VERSION}",
    }
    return head | make_schema(SEAL)


def _entry(kind: str, value: Mapping[str, Any]) -> KindEntry:
    if kind == FOLDER_KIND or (kind not in KINDS and "files" in value):
        files = {name: digest.lower() for name, digest in value["files"].items()}
        return KindEntry(value["path"], is_folder=True, files=files)
    files = {"": value.get("sha256", "").lower()}
    return KindEntry(
        value["path"], is_folder=False, files=files, bytes=value.get("bytes"), rows=value.get("rows")
    )
