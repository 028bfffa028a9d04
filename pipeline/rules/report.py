"""Report of a check, for programs and for people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pipeline.notices import NoticeOutcome, given
from pipeline.notices.evidence import Evidence
from pipeline.reconciliation.figures import Figure, declared_and_figures
from pipeline.rule import Coverage, Violation


@dataclass(frozen=True, slots=True)
class NotChecked:
    """A rule, or a part of one, that nothing could be said about, and why."""

    rule: str
    reason: str


@dataclass(frozen=True, slots=True)
class Report:
    """The outcome of checking one seal.

    Attributes
    ----------
    address, alpha_id
        Which seal; `alpha_id` is None when the manifest does not say.
    violations
        Broken rules in the order checked, one entry a rule and file.
    warnings
        What was noticed without refusing the seal.
    not_checked
        Rules, or parts of rules, that could not be checked.
    counts
        Kind -> rows read.
    declared
        What the seal declares of its engine's own ways.
    adjusted
        Whether the seal has adjustments of quantity or cash.
    figures
        The run's own figures and what they come to; empty when the seal is refused.
    coverage
        Rule -> how many of its rows it compared, of the rules that the tables settle only in part.
    notices
        Outcome of every declared notice, in declared order; empty when the seal is refused, and before its weeks are
        measured.
    sealed_by
        The team whose key signed the seal; None where that is not required, or none did.
    evidence
        What notices need of the rows, for whoever measures the weeks later; None when the seal is refused.
    """

    address: str
    alpha_id: str | None
    violations: tuple[Violation, ...] = ()
    warnings: tuple[Violation, ...] = ()
    not_checked: tuple[NotChecked, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    declared: Mapping[str, Any] = field(default_factory=dict)
    figures: tuple[Figure, ...] = ()
    adjusted: bool = False
    coverage: Mapping[str, Coverage] = field(default_factory=dict)
    notices: tuple[NoticeOutcome, ...] = ()
    evidence: Evidence | None = None
    sealed_by: str | None = None

    @property
    def refused(self) -> bool:
        """Whether any rule is broken."""
        return bool(self.violations)

    @property
    def given(self) -> tuple[NoticeOutcome, ...]:
        """The notices that are given."""
        return given(self.notices)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as a JSON-ready mapping."""
        return {
            "seal": self.address,
            "alpha_id": self.alpha_id,
            "refused": self.refused,
            **({"sealed_by": self.sealed_by} if self.sealed_by is not None else {}),
            "violations": [violation.to_dict() for violation in self.violations],
            "warnings": [warning.to_dict() for warning in self.warnings],
            "not_checked": [{"rule": entry.rule, "reason": entry.reason} for entry in self.not_checked],
            "coverage": {
                rule: {"checked": share.checked, "of": share.of} for rule, share in self.coverage.items()
            },
            "notices": [notice.to_dict() for notice in self.notices],
            "rows": dict(self.counts),
            "reconciliation": declared_and_figures(self.declared, self.figures, adjusted=self.adjusted),
        }
