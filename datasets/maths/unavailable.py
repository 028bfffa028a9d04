"""The reason in place of a figure, or of the data for it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Unavailable:
    """A figure, a block of figures or the data for them that cannot be given, with the reason.

    Parameters
    ----------
    code
        For programs; a code of :data:`schemas.warning_codes.WARNING_CODES`.
    text
        For readers; one clause without a full stop, fit to be served as ``withheld_reason``.
    kind
        The kind of data concerned, where it is the data that cannot be read.
    """

    code: str
    text: str
    kind: str | None = None


def too_few(found: int, needed: int, what: str) -> Unavailable:
    """Withhold a figure for want of observations.

    Parameters
    ----------
    found, needed
        Observations in the window, and the least the definition works with.
    what
        The observations in the plural, such as ``weekly ICs``.

    Returns
    -------
    Unavailable
        With code ``insufficient_data``.
    """
    return Unavailable(
        "insufficient_data", f"{what} in the window: {found}; the figure needs at least {needed}"
    )


def no_variation(what: str) -> Unavailable:
    """Withhold a ratio whose denominator is zero because every observation is the same.

    Parameters
    ----------
    what
        The observations in the plural, such as ``weekly ICs``.

    Returns
    -------
    Unavailable
        With code ``nonpositive_variance``.
    """
    return Unavailable("nonpositive_variance", f"the {what} of the window do not vary")


def nonpositive_equity(sessions: int, of: int) -> Unavailable:
    """Withhold a ratio of returns because the book has no return on some sessions.

    Parameters
    ----------
    sessions, of
        Sessions that open with equity at or below 0, and all of the window.

    Returns
    -------
    Unavailable
        With code ``nonpositive_equity``.
    """
    return Unavailable(
        "nonpositive_equity",
        f"equity is not above 0 at the open of {sessions} of {of} sessions of the window, which have no return",
    )
