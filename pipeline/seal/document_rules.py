"""The rules on the two JSON documents of a seal."""

from __future__ import annotations

import polars as pl

from pipeline.rule import MAX_EXAMPLES, Finding, Level, rule
from pipeline.seal.records import METRICS, RecordProblem, SealedRecords
from pipeline.seal.strict_json import NotJson


@rule(
    "metrics.record",
    "Each record of metrics.json has its fields with their types, its period fits its scope, "
    "and (name, scope, period) is unique.",
    "Seal every figure once, with all seven fields; overall figures have period null, others a year or a month.",
    level=Level.FILE,
    needs={"metrics": ()},
)
def metrics_record(records: SealedRecords) -> Finding | None:
    """Report records with a bad field, and records that share their name, scope and period."""
    examples = [
        {
            "record": problem.index,
            "field": problem.field,
            "found": _text(problem),
            "expected": problem.expected,
        }
        for problem in records.problems
    ]
    key = list(METRICS.key)
    twice = records.frame.filter(pl.struct(key).is_duplicated()) if records.frame.height else records.frame
    examples += [{"found": "more than once"} | row for row in twice.head(MAX_EXAMPLES).select(key).to_dicts()]
    if not examples:
        return None
    rows = len({problem.index for problem in records.problems}) + twice.height
    reasons = []
    if records.problems:
        first = records.problems[0]
        reasons.append(f"{first.field} must be {first.expected}")
    if twice.height:
        reasons.append(f"{twice.height} records share their name, scope and period")
    return Finding("metrics", rows, tuple(examples[:MAX_EXAMPLES]), "; ".join(reasons))


@rule(
    "description.object",
    "description.json is one JSON object, in UTF-8, without NaN, Infinity or a key given twice.",
    "Write the description as a plain JSON object, or leave the kind out of the seal.",
    level=Level.FILE,
    needs={"description": ()},
)
def description_object(problem: NotJson | None) -> Finding | None:
    """Report a description that is not a JSON object."""
    if problem is None:
        return None
    return Finding("description", 1, ({"found": str(problem)},), f"it cannot be read: {problem}")


def _text(problem: RecordProblem) -> str:
    text = "null" if problem.value is None else str(problem.value)
    return text if len(text) <= 80 else f"{text[:77]}..."
