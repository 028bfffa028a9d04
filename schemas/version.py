"""The version of what the pipeline publishes, and how a snapshot is named."""

from __future__ import annotations

import hashlib
from functools import cache
from typing import Any, Final

from schemas.table import Column
from schemas.tables import PUBLISHED_TABLES

BUILD_REVISION: Final = 1
"""Raised by hand when the builders write other files from the same declarations; for other values see `formula`."""
FIRST_RELEASE: Final = "485a7520c81b"
"""Version of the declarations in release 0.1.0, which digested their wording as well."""
AS_THE_FIRST: Final = "a49c37fcdfd8"
"""What :func:`schema_version` gives for the declarations of release 0.1.0."""


@cache
def schema_version() -> str:
    """Digest of what decides the published figures: types, units, keys, formulas and their versions, no wording."""
    text = [f"revision {BUILD_REVISION}"]
    for table in PUBLISHED_TABLES.values():
        text.append(f"{table.name} {table.key} {table.sort} {table.partition} {table.formula}")
        text.extend(
            f"{c.name} {c.type} {c.unit.name} {c.nullable} {c.needs} {c.formula}"
            for c in table.published_columns
        )
    return hashlib.sha256("\n".join(text).encode()).hexdigest()[:12]


def snapshot_id(seal_digest: str, version: str) -> str:
    """Name the snapshot of a seal; `version` is that of the declarations and, but for the first release, the content's."""
    return hashlib.sha256(f"{seal_digest} {version}".encode()).hexdigest()[:20]


def same_declarations(one: str, other: str) -> bool:
    """Whether two versions declare the same figures."""
    return _in_todays_terms(one) == _in_todays_terms(other)


def declarations() -> dict[str, dict[str, Any]]:
    """Describe the published tables as they are declared now: what a manifest records, for whoever reads it later.

    Returns
    -------
    dict
        Table -> ``key``, ``sort``, ``partition``, ``formula`` and ``columns``; column -> ``type`` and ``unit``, and
        where there is something to say ``nullable`` (true), ``formula`` (above 1) and ``vocabulary``.
    """
    return {
        table.name: {
            "key": list(table.key),
            "sort": list(table.sort),
            "partition": list(table.partition),
            "formula": table.formula,
            "columns": {column.name: _column(column) for column in table.published_columns},
        }
        for table in PUBLISHED_TABLES.values()
    }


def _column(column: Column) -> dict[str, Any]:
    described: dict[str, Any] = {"type": column.type.value, "unit": column.unit.value}
    if column.nullable:
        described["nullable"] = True
    if column.formula != 1:
        described["formula"] = column.formula
    if column.vocabulary:
        described["vocabulary"] = list(column.vocabulary)
    return described


def _in_todays_terms(version: str) -> str:
    return AS_THE_FIRST if version == FIRST_RELEASE else version
