"""Reasons why figures and blocks are withheld, and the warnings of an answer."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
_log = logging.getLogger("serve.run_metrics")


@dataclass(frozen=True, slots=True)
class Unavailable:
    """The reason why a figure, a block or its data are unavailable.

    Parameters
    ----------
    code
        For programs; a code of :data:`schemas.warning_codes.CODES`.
    text
        For readers; one clause without a full stop, fit to be served as ``withheld_reason``.
    kind
        The kind of data concerned, where it is the data that cannot be read.
    """

    code: str
    text: str
    kind: str | None = None


def too_few(observed: int, needed: int, what: str) -> Unavailable:
    """Withhold a figure with too few observations.

    Parameters
    ----------
    observed, needed : int
        Observations in the window, and the least the definition works with.
    what : str
        The observations in the plural, such as ``weekly ICs``.

    Returns
    -------
    Unavailable
        With code ``insufficient_data``.
    """
    return Unavailable(
        "insufficient_data", f"{what} in the window: {observed}; the figure needs at least {needed}"
    )


def no_variation(what: str) -> Unavailable:
    """Withhold a ratio whose denominator is zero because all observations are equal.

    Parameters
    ----------
    what : str
        The observations in the plural, such as ``weekly ICs``.

    Returns
    -------
    Unavailable
        With code ``nonpositive_variance``.
    """
    return Unavailable("nonpositive_variance", f"the {what} of the window do not vary")


def nonpositive_equity(sessions: int, of: int) -> Unavailable:
    """Withhold a ratio because the book has no return on some sessions.

    Parameters
    ----------
    sessions, of : int
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


MISSING_KIND: Final = "missing_kind"
ACCESS_LIMITED: Final = "access_limited"
BLOCK_ERROR: Final = "block_error"
FAILED: Final = Unavailable(BLOCK_ERROR, "an unforeseen failure while it was computed, which was logged")
"""Message without details, on which the caller could not act."""


def unreadable(kind: str) -> Unavailable:
    """Return the reason for unreadable published data; the log has the file."""
    return Unavailable(
        BLOCK_ERROR, f"the published data of {kind} cannot be read for now, which was logged", kind
    )


def guarded(block: str, compute: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | Unavailable:
    """Compute one part of the answer, so that a failure does not affect the others."""
    try:
        return compute(*args, **kwargs)
    except Exception:  # noqa: BLE001 - the other blocks are still answered
        return failed(block)


def failed(block: str) -> Unavailable:
    """Log the current exception, and withhold its block."""
    _log.exception("metrics_block_failed", extra={"block": block})
    return FAILED


class Warnings:
    """The warnings of one answer, in order, unique by block, code and kind."""

    def __init__(self) -> None:
        self._messages: dict[tuple[str, str, str | None, str | None], str] = {}

    def add(
        self, block: str, code: str, message: str, kind: str | None = None, *, of: str | None = None
    ) -> None:
        """Add a warning about a block; `of` distinguishes several of the same code."""
        self._messages.setdefault((block, code, kind, of), message)

    def computed(
        self, block: str, compute: Callable[P, T | Unavailable], *args: P.args, **kwargs: P.kwargs
    ) -> T | None:
        """Compute a block; null with a warning if it fails or is withheld."""
        return self.or_null(block, guarded(block, compute, *args, **kwargs))

    def or_null(self, block: str, result: T | Unavailable) -> T | None:
        """Return a computed block, or null with a warning."""
        if not isinstance(result, Unavailable):
            return result
        self.add(block, result.code, f"{block} is null: {result.text}.", result.kind)
        return None

    def withheld(self, block: str, reason: Unavailable) -> None:
        """Add a warning on withheld statistics of a block."""
        self.add(
            block,
            reason.code,
            f"Statistics of {block} that were not sealed are withheld: {reason.text}.",
            reason.kind,
        )

    @property
    def entries(self) -> tuple[dict[str, str], ...]:
        """The entries of `meta.warnings` and `meta.notices`."""
        return tuple(
            {"code": code, "message": message, **({} if kind is None else {"kind": kind}), "block": block}
            for (block, code, kind, _), message in self._messages.items()
        )
