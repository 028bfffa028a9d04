"""Summary of a run's checks, small enough for its pointer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

from schemas.metrics.checked import FORWARD_RETURN_RULE

MayRead = Callable[[str], bool]
"""Whether a caller may read the data of an alpha, by its id."""
NOTICED: Final = "notice"
"""Outcome of a notice that applies, or of a broken warning rule."""


@dataclass(frozen=True, slots=True)
class CheckSummary:
    """Summary of one run's checks.

    Attributes
    ----------
    reproduced, stated, contradicted : int
        Statistics that the run sealed, by :class:`schemas.metrics.statistic.Checked`.
    forward_returns_proven : tuple of float or None, length 2
        Share of the forward returns that fills prove: with all books, and with those that every key sees; None when no
        forward return could be compared.
    notices : int
        Notices that every key may see.
    limited : tuple of (bool, tuple of str)
        For each other notice, whether it requires raw-book access, and the other alphas it names.
    """

    reproduced: int
    stated: int
    contradicted: int
    forward_returns_proven: tuple[float | None, float | None]
    notices: int
    limited: tuple[tuple[bool, tuple[str, ...]], ...] = ()

    def for_reader(self, *, raw: bool, may_read: MayRead) -> dict[str, Any]:
        """Return the object `checked` of the interface for a caller.

        Parameters
        ----------
        raw : bool
            Whether the caller has raw-book access.
        may_read : MayRead
            Whether the caller may read another alpha.

        Returns
        -------
        dict
            JSON-ready; the notices counted are those the caller may see.
        """
        limited = sum(
            may_see(needs_raw, names, raw=raw, may_read=may_read) for needs_raw, names in self.limited
        )
        return {
            "reproduced": self.reproduced,
            "stated": self.stated,
            "contradicted": self.contradicted,
            "forward_returns_proven": self.forward_returns_proven[0 if raw else 1],
            "notices": self.notices + limited,
        }

    def document(self) -> dict[str, Any]:
        """Return the record of the summary in the pointer.

        Returns
        -------
        dict
            JSON-ready; :meth:`from_document` reads it.
        """
        return {
            "figures": [self.reproduced, self.stated, self.contradicted],
            "forward_returns_proven": self.forward_returns_proven,
            "notices": self.notices,
            **({"limited": self.limited} if self.limited else {}),
        }

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        """Decode the record of a summary in a pointer.

        Parameters
        ----------
        document : Mapping[str, Any]
            As :meth:`document` writes it.

        Returns
        -------
        Self
            The summary.

        Raises
        ------
        KeyError, TypeError, ValueError
            When the document has another form.
        """
        reproduced, stated, contradicted = map(int, document["figures"])
        proven, without_raw = (
            None if share is None else float(share) for share in document["forward_returns_proven"]
        )
        limited = tuple((bool(raw), tuple(map(str, names))) for raw, names in document.get("limited", ()))
        return cls(
            reproduced,
            stated,
            contradicted,
            (proven, without_raw),
            int(document["notices"]),
            limited,
        )


def forward_returns_proven(checks: Sequence[Mapping[str, Any]]) -> tuple[float | None, float | None]:
    """Return the share of the forward returns that fills prove.

    Parameters
    ----------
    checks : sequence of Mapping[str, Any]
        Records of the rules in the manifest.

    Returns
    -------
    with_raw, without_raw : float or None
        With all books, and without the raw ones; None when no forward return could be compared.
    """
    for check in checks:
        if check["rule"] == FORWARD_RETURN_RULE:
            return share_checked(check, raw=True), share_checked(check, raw=False)
    return None, None


def share_checked(check: Mapping[str, Any], *, raw: bool) -> float | None:
    """Return the share of rows that a rule could compare.

    Parameters
    ----------
    check : Mapping[str, Any]
        Record of the rule in the manifest.
    raw : bool
        Whether to count rows that only the raw books allow to compare.

    Returns
    -------
    float or None
        Above 0, at most 1; None when the rule compares all rows by nature, or could compare none.
    """
    checked = rows_checked(check, raw=raw)
    return float(checked / check["of"]) if checked and check["of"] else None


def rows_checked(check: Mapping[str, Any], *, raw: bool) -> int | None:
    """Return the number of rows that a rule could compare.

    Parameters
    ----------
    check : Mapping[str, Any]
        Record of the rule in the manifest.
    raw : bool
        Whether to count rows that only the raw books allow to compare.

    Returns
    -------
    int or None
        None when the rule compares all rows by nature.
    """
    without_raw: int | None = check.get("checked_without_raw", check["checked"])
    return check["checked"] if raw else without_raw


def named_alphas(notice: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the other alphas that a notice names.

    Parameters
    ----------
    notice : Mapping[str, Any]
        Record of the notice in the manifest.

    Returns
    -------
    tuple of str
        Ids of alphas; empty when it names none.
    """
    return tuple(notice["details"].get("alphas", ()))


def may_see(needs_raw: bool, names: Sequence[str], *, raw: bool, may_read: MayRead) -> bool:
    """Whether a caller may see a notice.

    Parameters
    ----------
    needs_raw : bool
        Whether the notice requires raw-book access.
    names : sequence of str
        Other alphas that it names.
    raw : bool
        Whether the caller has raw-book access.
    may_read : MayRead
        Whether the caller may read another alpha.

    Returns
    -------
    bool
        A notice that names other alphas is visible to readers of at least one of them.
    """
    return (raw or not needs_raw) and (not names or any(map(may_read, names)))
