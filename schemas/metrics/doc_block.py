"""The shape of the documentation block."""

from __future__ import annotations

from typing import Final

from schemas.field import mapping, record, text

_ENTRY: Final = record(
    "",
    "What one field of the payload is.",
    text("meaning", "What it says."),
    text("formula", "How it is computed."),
    text("horizon", "Span of time that one observation covers."),
    text("granularity", "What there is one value of."),
    text("source", "Where it comes from."),
    text("unit", "What a number counts; the unit on a served entry is the one that counts."),
    text("signal", "Which of the two signals is measured; on the IC family only.", optional=True),
    text("availability", "When a block is there at all; on blocks that may be missing.", optional=True),
    model="MetricsDocEntry",
)

METRICS_DOC: Final = record(
    "metrics_doc",
    "What every figure of the metrics means. The same for every alpha and every key.",
    text("schema_version", "Version of the structure of this block."),
    mapping("endpoint", "How to ask and how to read the answer, topic by topic.", text("", "Prose.")),
    mapping("fields", "Path in the payload to what stands there; `[]` marks the entries of a list.", _ENTRY),
    mapping("warnings", "Warning code to its meaning.", text("", "The meaning.")),
    model="MetricsDoc",
)
