"""Summary of a run's checks, small enough to store in the pointer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from schemas.metrics.checked import FORWARD_RETURN_RULE

MayRead = Callable[[str], bool]
"""Whether a caller may read the data of an alpha, by its id."""


@dataclass(frozen=True, slots=True)
class CheckSummary:
    """Summary of one run's checks.

    Attributes
    ----------
    reproduced, stated, contradicted : int
        Numbers of sealed statistics, by :class:`schemas.metrics.statistic.Checked`.
    forward_returns_proven : tuple of float or None, length 2
        Share of forward returns proven by fills, with all books and with those that every key may see; None if no forward
        return could be compared.
    notices : int
        Number of notices that every key may see.
    limited : tuple of (bool, tuple of str)
        For every other notice: whether it requires raw-book access, and the other alphas that it names.
    """

    reproduced: int
    stated: int
    contradicted: int
    forward_returns_proven: tuple[float | None, float | None]
    notices: int
    limited: tuple[tuple[bool, tuple[str, ...]], ...] = ()

    def for_reader(self, *, raw: bool, may_read: MayRead) -> dict[str, Any]:
        """Return the served object `checked` for a caller.

        Parameters
        ----------
        raw : bool
            Whether the caller has raw-book access.
        may_read : MayRead
            Whether the caller may read another alpha.

        Returns
        -------
        dict
            JSON-ready; counts only the notices that the caller may see.
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


def forward_returns_proven(checks: Sequence[Mapping[str, Any]]) -> tuple[float | None, float | None]:
    """Return the share of forward returns proven by fills.

    Parameters
    ----------
    checks : sequence of Mapping[str, Any]
        Records of the rules in the manifest.

    Returns
    -------
    with_raw, without_raw : float or None
        Shares with all books, and without the raw ones; None if no forward return could be compared.
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
        Whether to count rows that can be compared only with the raw books.

    Returns
    -------
    float or None
        Above 0, at most 1; None if the rule always compares all rows, or could compare none.
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
        Whether to count rows that can be compared only with the raw books.

    Returns
    -------
    int or None
        None if the rule always compares all rows.
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
