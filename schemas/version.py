"""The schema version: the version of published files."""

from __future__ import annotations

import hashlib
from functools import cache
from typing import Final

from schemas.tables import PUBLISHED_TABLES

BUILD_REVISION: Final = 18
"""Bump when the builders write different files from the same declarations; for different values, bump `formula`."""


@cache
def schema_version() -> str:
    """Return a digest of the declarations that determine published figures: types, units, keys, formula versions; not wording."""
    text = [f"revision {BUILD_REVISION}"]
    for table in PUBLISHED_TABLES.values():
        text.append(f"{table.name} {table.key} {table.sort} {table.partition} {table.formula}")
        text.extend(
            f"{c.name} {c.type} {c.unit.name} {c.nullable} {c.needs} {c.formula}"
            for c in table.published_columns
        )
    return hashlib.sha256("\n".join(text).encode()).hexdigest()[:12]
