"""``seal.json``: what the engine declares about the run and its files."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final

from pipeline.seal.declared_differences import DeclaredDifferences, read_declared
from pipeline.seal.strict_json import NotJson, parse_json
from schemas.kinds import ALPHA_ID, KINDS, MAX_KINDS, SEAL_VERSION, SOURCE_ALPHA_ID, TABLE_KINDS
from schemas.table import Bound

MANIFEST_FILE: Final = "seal.json"
FOLDER_KIND: Final = "source"

KEYS: Final = (
    "seal_version",
    "alpha_id",
    "source_alpha_id",
    "started_at",
    "sealed_at",
    "engine",
    "equity_basis",
    "smoothing",
    "reconciliation",
    "kinds",
)
"""What a manifest may hold."""
INSTANT: Final = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,6})?Z", re.ASCII)
SHA256: Final = re.compile(r"[0-9a-fA-F]{64}")
"""Forms of an instant in UTC and of a digest."""


@dataclass(frozen=True, slots=True)
class KindEntry:
    """What the manifest says of one kind.

    Attributes
    ----------
    path
        Relative to the seal; a folder for ``source``.
    sha256, bytes
        Digest (lower-case hex) and size of the file; None for a folder.
    rows
        Number of rows of a table; None otherwise.
    files
        Relative path -> digest of the files of a folder; None for a file.
    """

    path: str
    sha256: str | None
    bytes: int | None
    rows: int | None
    files: Mapping[str, str] | None


@dataclass(frozen=True, slots=True)
class Manifest:
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


@dataclass(frozen=True, slots=True)
class KeyProblem:
    """One invalid key of the manifest."""

    key: str
    value: Any
    expected: str


@dataclass(slots=True)
class _Reader:
    """Collects all problems of one manifest, so that they are reported together."""

    document: Mapping[str, Any]
    problems: list[KeyProblem] = field(default_factory=list)

    def expect(self, ok: bool, key: str, value: Any, expected: str) -> bool:
        if not ok:
            self.problems.append(KeyProblem(key, value, expected))
        return ok

    def take(self, key: str, test: Callable[[Any], bool], expected: str, default: Any) -> Any:
        value = self.document.get(key)
        if key not in self.document:
            self.problems.append(KeyProblem(key, "(absent)", expected))
            return default
        return value if self.expect(test(value), key, value, expected) else default


def parse_manifest(raw: bytes) -> tuple[Manifest | None, tuple[KeyProblem, ...]]:
    """Read the bytes of a ``seal.json``.

    Parameters
    ----------
    raw
        The bytes of the file.

    Returns
    -------
    tuple
        The manifest, or None beside all problems. Paths are only known to be strings here: whether
        they stay inside the seal is the rule ``seal.path``. The keys that may be null may also be left out.
    """
    try:
        document = parse_json(raw, "seal")
    except NotJson as error:
        return None, (KeyProblem("(file)", str(error), "a JSON object in UTF-8"),)
    if not isinstance(document, dict):
        return None, (KeyProblem("(file)", type(document).__name__, "a JSON object in UTF-8"),)
    reader = _Reader(document)
    version = reader.take(
        "seal_version", lambda v: type(v) is int and v == SEAL_VERSION, f"{SEAL_VERSION}", None
    )
    if version is None and type(document.get("seal_version")) is int:
        # Another version may give every other key another meaning, so that no other key is checked.
        return None, tuple(reader.problems)
    alpha_id = reader.take(
        "alpha_id",
        lambda v: isinstance(v, str) and ALPHA_ID.fullmatch(v) is not None,
        "1 to 128 letters, digits, '_', '.', '-', the first a letter or digit, without '..'",
        "",
    )
    source = document.get("source_alpha_id")
    reader.expect(
        source is None or (isinstance(source, str) and SOURCE_ALPHA_ID.match(source) is not None),
        "source_alpha_id",
        source,
        f"{Bound.NAME.value}, or null",
    )
    started_at = _instant(reader, "started_at")
    sealed_at = _instant(reader, "sealed_at")
    engine = reader.take("engine", lambda v: isinstance(v, dict), "an object {name, version}", {})
    basis = reader.take(
        "equity_basis", lambda v: is_finite_number(v) and v > 0, "a finite number above 0", 1.0
    )
    smoothing = _smoothing(reader)
    declared = _declared(reader)
    kinds = _kinds(reader)
    if reader.problems or started_at is None or sealed_at is None:
        return None, tuple(reader.problems)
    manifest = Manifest(
        alpha_id=alpha_id,
        source_alpha_id=alpha_id if source is None else source,
        started_at=started_at,
        sealed_at=sealed_at,
        equity_basis=float(basis),
        smoothing=smoothing,
        engine=engine,
        kinds=MappingProxyType(kinds),
        unknown_keys=tuple(key for key in document if key not in KEYS),
        declared=declared,
    )
    return manifest, ()


def is_finite_number(value: Any) -> bool:
    """Return whether a JSON value is a number a double can hold; true and false are none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(float(value))
    except OverflowError:
        return False


def _instant(reader: _Reader, key: str) -> datetime | None:
    expected = "an ISO-8601 instant in UTC that ends in Z, such as 2026-01-05T06:00:00Z"
    text = reader.take(key, lambda v: isinstance(v, str) and INSTANT.fullmatch(v) is not None, expected, None)
    if text is None:
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        reader.problems.append(KeyProblem(key, text, expected))
        return None


def _smoothing(reader: _Reader) -> Mapping[str, Any] | None:
    value = reader.document.get("smoothing")
    if value is None:
        return None
    if not reader.expect(isinstance(value, dict), "smoothing", value, "an object or null"):
        return None
    applied, half_life, detail = (value.get(key) for key in ("applied", "half_life_weeks", "detail"))
    reader.expect(isinstance(applied, bool), "smoothing.applied", applied, "true or false")
    reader.expect(
        half_life is None or is_finite_number(half_life),
        "smoothing.half_life_weeks",
        half_life,
        "a finite number or null",
    )
    reader.expect(detail is None or isinstance(detail, str), "smoothing.detail", detail, "a string or null")
    return {"applied": applied, "half_life_weeks": half_life, "detail": detail}


def _declared(reader: _Reader) -> DeclaredDifferences:
    value = reader.document.get("reconciliation")
    if value is None or not reader.expect(
        isinstance(value, dict), "reconciliation", value, "an object or null"
    ):
        return DeclaredDifferences()
    declared, problems = read_declared(value)
    for key, value, expected in problems:
        reader.problems.append(KeyProblem(f"reconciliation.{key}", value, expected))
    return declared


def _kinds(reader: _Reader) -> dict[str, KindEntry]:
    declared = reader.take(
        "kinds",
        lambda v: isinstance(v, dict) and len(v) <= MAX_KINDS,
        f"an object of at most {MAX_KINDS} kinds",
        {},
    )
    return {kind: _entry(reader, kind, value) for kind, value in declared.items()}


def _entry(reader: _Reader, kind: str, value: Any) -> KindEntry:
    key = f"kinds.{kind}"
    if not reader.expect(isinstance(value, dict), key, value, "an object"):
        return KindEntry("", None, None, None, None)
    path = value.get("path")
    reader.expect(isinstance(path, str), f"{key}.path", path, "a path relative to the seal")
    if kind == FOLDER_KIND or (kind not in KINDS and "files" in value):
        files = value.get("files")
        if not reader.expect(isinstance(files, dict), f"{key}.files", files, "an object path -> sha256"):
            return KindEntry(str(path), None, None, None, {})
        for name, digest in files.items():
            reader.expect(_is_digest(digest), f"{key}.files.{name}", digest, "64 hexadecimal digits")
        return KindEntry(
            str(path), None, None, None, {name: str(digest).lower() for name, digest in files.items()}
        )
    digest, size, rows = (value.get(name) for name in ("sha256", "bytes", "rows"))
    reader.expect(_is_digest(digest), f"{key}.sha256", digest, "64 hexadecimal digits")
    reader.expect(_is_count(size), f"{key}.bytes", size, "a whole number of bytes, 0 or more")
    if kind in TABLE_KINDS or rows is not None:
        reader.expect(_is_count(rows), f"{key}.rows", rows, "a whole number of rows, 0 or more")
    return KindEntry(str(path), str(digest).lower(), size, rows, None)


def _is_digest(value: Any) -> bool:
    return isinstance(value, str) and SHA256.fullmatch(value) is not None


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0
