"""Outcome of every rule for a seal that is published."""

from __future__ import annotations

from collections.abc import Container
from typing import Any, Final

from pipeline.rule import Level, Rule
from pipeline.rules.registry import RULES
from pipeline.rules.report import Report
from pipeline.seal.file_rules import seal_signature
from pipeline.seal.records import METRICS
from schemas.notices import NOT_CHECKED, NOTICE, PASS

_IN_PART: Final = "in part: "


def rule_outcomes(report: Report, kinds: Container[str]) -> tuple[dict[str, Any], ...]:
    """Return the outcome of every rule, in the order of the rules, as manifests record it.

    Parameters
    ----------
    report
        Of a seal that is not refused, with its last warnings.
    kinds
        What the run sealed.
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
        if rule.id != seal_signature.id
        or report.sealed_by is not None  # it says nothing where nobody has to sign
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
        # Of a rule that holds as far as it was checked it says what was not.
        "reason": "; ".join(reasons) or None,
    }
