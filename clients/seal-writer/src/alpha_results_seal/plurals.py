"""Numbers with their nouns in messages."""

from __future__ import annotations


def counted(number: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun in the singular or plural; by default the plural has an s.

    Examples
    --------
    >>> counted(1, "week"), counted(2, "week has", "weeks have")
    ('1 week', '2 weeks have')
    """
    return f"{number} {one if number == 1 else many or f'{one}s'}"
