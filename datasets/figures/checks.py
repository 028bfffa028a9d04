"""Summary of a run's checks, small enough for its pointer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

from schemas.metrics.checked import FORWARD_RETURN_RULE

MayRead = Callable[[str], bool]
"""Whether the data of another alpha may be read."""
NOTICED: Final = "notice"
"""Outcome of a given notice or a broken warning rule."""


@dataclass(frozen=True, slots=True)
class CheckSummary:
    """Summary of one run's checks.

    Attributes
    ----------
    reproduced, stated, contradicted
        Statistics that the run sealed, by :class:`schemas.metrics.statistic.Checked`.
    forward_returns_proven
        Share of the forward returns that fills of the run prove, those of all books first, those of the books that every key
        sees second; None where none could be compared.
    notices
        Notices that every key may see.
    limited
        Of each other notice: whether it takes raw-book access, and the other alphas it names, if any.
    """

    reproduced: int
    stated: int
    contradicted: int
    forward_returns_proven: tuple[float | None, float | None]
    notices: int
    limited: tuple[tuple[bool, tuple[str, ...]], ...] = ()

    def for_reader(self, *, raw: bool, may_read: MayRead) -> dict[str, Any]:
        """Return the object `checked` of the interface, for a caller with or without raw-book access."""
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
        """Return the summary for the pointer, for JSON."""
        return {
            "figures": [self.reproduced, self.stated, self.contradicted],
            "forward_returns_proven": self.forward_returns_proven,
            "notices": self.notices,
            **({"limited": self.limited} if self.limited else {}),
        }

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        """Decode the summary in a pointer; raises KeyError, TypeError or ValueError for other content."""
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
    """Return the proven share of the forward returns, with and without the raw books; None if none could be compared."""
    for check in checks:
        if check["rule"] == FORWARD_RETURN_RULE:
            return share_checked(check, raw=True), share_checked(check, raw=False)
    return None, None


def share_checked(check: Mapping[str, Any], *, raw: bool) -> float | None:
    """Return the share of rows that a rule could compare; None if it compares all or none of them.

    Parameters
    ----------
    check : Mapping[str, Any]
        What the manifest records of the rule.
    raw : bool
        Whether rows count that only the raw books settle.
    """
    checked = rows_checked(check, raw=raw)
    return float(checked / check["of"]) if checked and check["of"] else None


def rows_checked(check: Mapping[str, Any], *, raw: bool) -> int | None:
    """Return the rows that a rule could compare, with or without the raw books; None of a rule that compares all."""
    without_raw: int | None = check.get("checked_without_raw", check["checked"])
    return check["checked"] if raw else without_raw


def named_alphas(notice: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the other alphas that a notice names."""
    return tuple(notice["details"].get("alphas", ()))


def may_see(needs_raw: bool, names: Sequence[str], *, raw: bool, may_read: MayRead) -> bool:
    """Whether a caller may see a notice; one that names other alphas is visible to readers of at least one of them."""
    return (raw or not needs_raw) and (not names or any(map(may_read, names)))
