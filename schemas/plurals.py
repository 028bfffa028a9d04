"""Numbers with their nouns in messages."""


def counted(number: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun in the singular or plural.

    Parameters
    ----------
    number
        How many.
    one, many
        The noun, also with its verb; by default the plural has an s.

    Examples
    --------
    >>> counted(1, "week"), counted(2, "week"), counted(0, "week has", "weeks have")
    ('1 week', '2 weeks', '0 weeks have')
    """
    return f"{number} {one if number == 1 else many or f'{one}s'}"
