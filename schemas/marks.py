"""Parts of documents that are derived from declarations, each between two marks."""

from __future__ import annotations


def with_part(document: str, begin: str, end: str, part: str) -> str:
    """Return a document with the part between two marks put anew.

    Raises
    ------
    ValueError
        When it has no such marks.
    """
    before, first, rest = document.partition(begin)
    _, last, after = rest.partition(end)
    if not first or not last:
        raise ValueError(f"the document has no part between {begin} and {end}")
    return f"{before}{begin}\n\n{part}\n{end}{after}"
