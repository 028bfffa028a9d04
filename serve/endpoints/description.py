"""The written description of an alpha, every documented key in its place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from schemas.field import Field, FieldType
from schemas.objects.description import DESCRIPTION

_EMPTY_WHEN_UNSEALED: Final = frozenset({"source_papers"})
"""Lists that say "none" by being empty, where others are null because nothing was said."""


def complete(sealed: Mapping[str, Any], alpha_id: str, *, raw: bool) -> dict[str, Any]:
    """Put a sealed description into the served shape.

    Parameters
    ----------
    sealed
        As the run wrote it: any key may be missing, at any depth, and others may be there.
    alpha_id
        The alpha's address.
    raw
        Whether the key sees the unconditioned signal. Without it, values of any shape lose their ``raw_`` keys.

    Returns
    -------
    dict
        Every declared key in declared order; null where nothing was sealed, but an empty list for source papers.
        Other sealed keys are not served. The name falls back to the address.
    """
    own = {"algo_id": alpha_id, "alpha_id": alpha_id, "name": sealed.get("name") or alpha_id}
    found: dict[str, Any] = _filled(DESCRIPTION, {**sealed, **own})
    return found if raw else _without_raw(found)


def _filled(field: Field, value: Any) -> Any:
    if field.type is FieldType.OBJECT:
        found = value if isinstance(value, Mapping) else {}
        return {member.name: _filled(member, found.get(member.name)) for member in field.fields}
    if value is None:
        return [] if field.name in _EMPTY_WHEN_UNSEALED else None
    entry = field.items if field.type is FieldType.ARRAY else None
    if entry is not None and entry.type is FieldType.OBJECT and isinstance(value, list):
        return [_filled(entry, item) for item in value]
    return value


def _without_raw(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_raw(entry) for key, entry in value.items() if not key.startswith("raw_")}
    return [_without_raw(entry) for entry in value] if isinstance(value, list) else value
