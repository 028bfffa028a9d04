"""Reasons why figures and blocks are withheld, and the warnings of an answer."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, ParamSpec, TypeAlias, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
_log = logging.getLogger("datasets.figures")


@dataclass(frozen=True, slots=True)
class Unavailable:
    """The reason why a figure, a block or its data are unavailable.

    Attributes
    ----------
    code : str
        One of :data:`schemas.warning_codes.CODES`.
    text : str
        One clause without a full stop, served as ``withheld_reason``.
    kind : str or None
        The kind of data concerned, when data are missing, closed or unreadable.
    """

    code: str
    text: str
    kind: str | None = None


Figure: TypeAlias = float | Unavailable
"""A figure, or the reason why it is withheld."""


def too_few(observed: int, needed: int, what: str) -> Unavailable:
    """Return the reason for a figure with too few observations.

    Parameters
    ----------
    observed, needed : int
        Observations in the window, and the minimum for the figure.
    what : str
        Name of the observations in the plural, such as ``weekly ICs``.

    Returns
    -------
    Unavailable
        With code ``insufficient_data``.
    """
    return Unavailable(
        "insufficient_data", f"{what} in the window: {observed}; the figure needs at least {needed}"
    )


def no_variation(what: str) -> Unavailable:
    """Return the reason for a ratio whose denominator is zero because all observations are equal.

    Parameters
    ----------
    what : str
        Name of the observations in the plural, such as ``weekly ICs``.

    Returns
    -------
    Unavailable
        With code ``nonpositive_variance``.
    """
    return Unavailable("nonpositive_variance", f"the {what} of the window do not vary")


def nonpositive_equity(sessions: int, of: int) -> Unavailable:
    """Return the reason for a ratio of a book that has no return on some sessions.

    Parameters
    ----------
    sessions, of : int
        Number of sessions that open with equity at or below 0, and of all sessions of the window.

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
FAILED: Final = Unavailable(BLOCK_ERROR, "its computation failed; the log has the reason")
"""Reason without details, because the caller could not act on them."""


def unreadable(kind: str) -> Unavailable:
    """Return the reason for published data that cannot be read; the log names the file.

    Parameters
    ----------
    kind : str
        The kind of data.

    Returns
    -------
    Unavailable
        With code ``block_error``.
    """
    return Unavailable(
        BLOCK_ERROR, f"the published data of {kind} cannot be read at present; the log has the reason", kind
    )


def guarded(block: str, compute: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | Unavailable:
    """Compute a block so that its failure does not affect the others.

    Parameters
    ----------
    block : str
        Name of the block, for the log.
    compute : Callable
        Computes the block.
    *args : Any
        Positional arguments of `compute`.
    **kwargs : Any
        Keyword arguments of `compute`.

    Returns
    -------
    object or Unavailable
        The result of `compute`; :data:`FAILED` if it raises, after logging the exception.
    """
    try:
        return compute(*args, **kwargs)
    except Exception:  # noqa: BLE001 - the other blocks are still served
        return failed(block)


def failed(block: str) -> Unavailable:
    """Log the current exception, and return the reason to withhold the block.

    Parameters
    ----------
    block : str
        Name of the block.

    Returns
    -------
    Unavailable
        :data:`FAILED`.
    """
    _log.exception("metrics_block_failed", extra={"block": block})
    return FAILED


class Warnings:
    """The warnings of one answer, in order, unique by block, code and kind."""

    def __init__(self) -> None:
        self._messages: dict[tuple[str, str, str | None, str | None], str] = {}

    def add(
        self, block: str, code: str, message: str, kind: str | None = None, *, of: str | None = None
    ) -> None:
        """Add a warning about a block.

        Parameters
        ----------
        block : str
            Dotted path of the block.
        code : str
            One of :data:`schemas.warning_codes.CODES`.
        message : str
            One or more sentences.
        kind : str or None
            The kind of data concerned.
        of : str or None
            Distinguishes several warnings of the same block, code and kind. Of identical ones, only the first is kept.
        """
        self._messages.setdefault((block, code, kind, of), message)

    def computed(
        self, block: str, compute: Callable[P, T | Unavailable], *args: P.args, **kwargs: P.kwargs
    ) -> T | None:
        """Compute a block, adding a warning if it fails or is withheld.

        Parameters
        ----------
        block : str
            Dotted path of the block.
        compute : Callable
            Computes the block.
        *args : Any
            Positional arguments of `compute`.
        **kwargs : Any
            Keyword arguments of `compute`.

        Returns
        -------
        object or None
            The result of `compute`; None if it raises or is Unavailable.
        """
        return self.or_null(block, guarded(block, compute, *args, **kwargs))

    def or_null(self, block: str, result: T | Unavailable) -> T | None:
        """Return a block, or None with a warning if it is withheld.

        Parameters
        ----------
        block : str
            Dotted path of the block.
        result : object or Unavailable
            The computed block.

        Returns
        -------
        object or None
            `result`; None when it is Unavailable.
        """
        if not isinstance(result, Unavailable):
            return result
        self.add(block, result.code, f"{block} is null: {result.text}.", result.kind)
        return None

    def withheld(self, block: str, reason: Unavailable) -> None:
        """Add a warning about withheld statistics of a block.

        Parameters
        ----------
        block : str
            Dotted path of the block.
        reason : Unavailable
            Why they are withheld.
        """
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
