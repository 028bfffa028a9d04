"""Report of a check, and the outcomes that a manifest records."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pipeline.notices.evidence import Evidence
from pipeline.notices.outcome import NoticeOutcome
from pipeline.reconciliation.figures import Figure
from pipeline.rule import Coverage, Finding, Level, NotChecked, Rule
from pipeline.rules.registry import RULES
from pipeline.seal.file_rules import seal_signature
from pipeline.seal.records import METRICS
from schemas.notices.notice import NOT_CHECKED, NOTICE, PASS


@dataclass(frozen=True, slots=True)
class Report:
    """The outcome of checking one seal.

    Attributes
    ----------
    address, alpha_id
        The seal; `alpha_id` is None when the manifest has none.
    violations
        Broken rules in the order checked, one entry per rule and file.
    warnings
        Broken rules that only warn.
    not_checked
        Rules, or parts of rules, that could not be checked.
    counts
        Kind -> rows read.
    declared
        The seal's declared differences.
    adjusted
        Whether the seal has adjustments of quantity or cash.
    figures
        The run's own figures and their reconciliation; empty when the seal is refused.
    coverage
        Rule -> its coverage, for rules that can compare only some rows.
    notices
        Outcome of every declared notice, in declared order; empty if the seal is refused or its weeks are not measured
        yet.
    sealed_by
        Team whose key signed the seal; None if none did or no signature is required.
    evidence
        Samples of the rows for the notices, which are judged once the weeks are measured; None if the seal is refused.
    """

    address: str
    alpha_id: str | None
    violations: tuple[Finding, ...] = ()
    warnings: tuple[Finding, ...] = ()
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
    def reconciliation(self) -> dict[str, Any]:
        """Declared differences, whether there are adjustments, and the run's own figures, JSON-ready; also for the manifest."""
        return {
            "declared": dict(self.declared),
            "adjusted": self.adjusted,
            "figures": [figure.to_dict() for figure in self.figures],
        }

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
            "reconciliation": self.reconciliation,
        }


_IN_PART: Final = "in part: "


def rule_outcomes(report: Report, kinds: Container[str]) -> tuple[dict[str, Any], ...]:
    """Return the outcome of every rule, in the order of the rules, for a manifest.

    Parameters
    ----------
    report
        Report of a seal that is not refused, with its final warnings.
    kinds
        Kinds that the run sealed.
    """
    warned = {warning.rule for warning in report.warnings}
    reasons: dict[str, list[str]] = {}
    for entry in report.not_checked:
        reasons.setdefault(entry.rule, []).append(entry.reason)
    return tuple(
        {
            **_outcome(rule, rule.id in warned, reasons.get(rule.id, []), kinds),
            **_coverage(report, rule.id),
        }
        for rule in RULES.values()
        if rule.id != seal_signature.id or report.sealed_by is not None  # omitted if no signature is required
    )


def _coverage(report: Report, rule: str) -> dict[str, int | None]:
    """Return how many rows a rule proved, of how many, and how many without the raw books; None where it proves all or none."""
    share = report.coverage.get(rule)
    if share is None:
        return {"checked": None, "of": None}
    return {"checked": share.checked, "of": share.of, "checked_without_raw": share.checked_without_raw}


def _outcome(rule: Rule[Any], warned: bool, reasons: list[str], kinds: Container[str]) -> dict[str, Any]:
    absent = [kind for kind in rule.needs if kind not in kinds and kind != METRICS.name]
    if absent and not reasons and rule.level is not Level.TABLE:
        reasons = [f"the run sealed no {' and no '.join(absent)}"]
    outcome = PASS
    if warned:
        outcome = NOTICE
    elif any(not reason.startswith(_IN_PART) for reason in reasons):
        outcome = NOT_CHECKED
    return {
        "rule": rule.id,
        "outcome": outcome,
        # For a rule that holds but was checked only in part, the reason names the unchecked part.
        "reason": "; ".join(reasons) or None,
    }
