"""The version of what the pipeline publishes: part of every snapshot id."""

from __future__ import annotations

import hashlib
from functools import cache
from typing import Final

from schemas.tables import PUBLISHED_TABLES

BUILD_REVISION: Final = 1
"""Raised by hand when the builders write other values or other files from the same declarations."""


@cache
def schema_version() -> str:
    """Digest of the published tables and the build revision: it changes when a snapshot would differ."""
    text = [f"revision {BUILD_REVISION}"]
    for table in PUBLISHED_TABLES.values():
        text.append(f"{table.name} {table.key} {table.sort} {table.partition}")
        text.extend(f"{c.name} {c.type} {c.unit} {c.nullable} {c.meaning}" for c in table.published_columns)
    return hashlib.sha256("\n".join(text).encode()).hexdigest()[:12]


def snapshot_id(seal_digest: str, version: str | None = None) -> str:
    """Name the snapshot that a version of the pipeline, by default this one, makes of a seal."""
    return hashlib.sha256(f"{seal_digest} {version or schema_version()}".encode()).hexdigest()[:20]


FIRST_RELEASE: Final = "485a7520c81b"
"""Version of the declarations in release 0.1.0, which digested their wording as well."""


def same_declarations(one: str, other: str) -> bool:
    """Tell whether two versions declare the same figures."""
    return one == other
