"""The answer of a figure that the window does not determine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

ReasonCode: TypeAlias = Literal["insufficient_data", "nonpositive_variance", "forward_returns_absent"]
"""Why a figure is withheld; each is a code of :data:`schemas.warning_codes.WARNING_CODES`."""


@dataclass(frozen=True, slots=True)
class Withheld:
    """A figure that cannot be measured, with the reason.

    Parameters
    ----------
    reason_code
        For programs; a code of :data:`schemas.warning_codes.WARNING_CODES`.
    text
        For readers; one clause without a full stop, fit to be served as ``withheld_reason``.
    """

    reason_code: ReasonCode
    text: str


def too_few(found: int, needed: int, what: str) -> Withheld:
    """Withhold a figure for want of observations.

    Parameters
    ----------
    found, needed
        Observations in the window, and the least the definition works with.
    what
        The observations in the plural, such as ``weekly ICs``.

    Returns
    -------
    Withheld
        With code ``insufficient_data``.
    """
    return Withheld("insufficient_data", f"{what} in the window: {found}; the figure needs at least {needed}")


def no_variation(what: str) -> Withheld:
    """Withhold a ratio whose denominator is zero because every observation is the same.

    Parameters
    ----------
    what
        The observations in the plural, such as ``weekly ICs``.

    Returns
    -------
    Withheld
        With code ``nonpositive_variance``.
    """
    return Withheld("nonpositive_variance", f"the {what} of the window do not vary")
