"""The part of a manifest that may be served.

A manifest is written for the run's own team. It names sealed columns, including those that are never published, and quotes
rows of them. The declarations determine what a caller may see: unpublished columns are hidden from everybody, and raw
columns from keys without raw-book access.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from schemas.tables import TABLES
from schemas.tables.books import RAW_PREFIX
from schemas.tables.decisions import PUBLISHED_AS

_UNPUBLISHED: Final = frozenset(
    column.name for table in TABLES.values() for column in table if not column.published
)
_HIDDEN_WORDS: Final = re.compile(rf"\w*(?:{'|'.join(sorted(_UNPUBLISHED))})\w*")
_RAW_WORDS: Final = re.compile(rf"(?<![A-Za-z0-9]){RAW_PREFIX}\w*")
_REDACTED: Final = "a column that is not shown"
_REMOVED: Final = object()


def visible(content: Any, *, raw: bool) -> Any:
    """Return the part of a manifest's content that a caller may see.

    Parameters
    ----------
    content
        JSON-ready: an object, a list or a value.
    raw
        Whether the caller has raw-book access.

    Returns
    -------
    Any
        The content without hidden columns and books. A list entry with a hidden name, as key or value, is omitted, because
        its other figures may describe the hidden data; in text, the name is replaced.
    """
    if isinstance(content, Mapping):
        return {key: visible(value, raw=raw) for key, value in content.items() if _name(key, raw=raw) == key}
    if isinstance(content, list | tuple):
        shown = (_entry(entry, raw=raw) for entry in content)
        return [entry for entry in shown if entry is not _REMOVED]
    return _text(content, raw=raw) if isinstance(content, str) else content


def _entry(entry: Any, *, raw: bool) -> Any:
    """Return the visible part of a list entry; `_REMOVED` if it must be omitted."""
    if isinstance(entry, Mapping) and _is_row(entry):
        shown = {}
        for key, value in entry.items():
            name, text = _name(key, raw=raw), value
            if isinstance(value, str):
                text = _name(value, raw=raw)
            if name is None or (text is None and value is not None):
                return _REMOVED
            shown[name] = text
        return shown
    return visible(entry, raw=raw)


def _is_row(entry: Mapping[str, Any]) -> bool:
    """Whether an object is a row of plain values, without prose."""
    plain = all(value is None or isinstance(value, str | int | float | bool) for value in entry.values())
    return plain and "message" not in entry


def _name(name: str, *, raw: bool) -> str | None:
    """Return the published name; None if it is hidden."""
    name = PUBLISHED_AS.get(name, name)
    if _HIDDEN_WORDS.search(name) or (not raw and _RAW_WORDS.search(name)):
        return None
    return name


def _text(text: str, *, raw: bool) -> str:
    for sealed, published in PUBLISHED_AS.items():
        text = re.sub(rf"\b{sealed}\b", published, text)
    text = _HIDDEN_WORDS.sub(_REDACTED, text)
    return text if raw else _RAW_WORDS.sub(_REDACTED, text)
