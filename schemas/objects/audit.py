"""Audit of one run: checks and outcomes."""

from __future__ import annotations

from typing import Final

from schemas.field import anything, count, figure, mapping, record, series, text
from schemas.metrics.checked import CHECKED
from schemas.units import Unit

STATUSES: Final = ("withheld", "notice", "not_checked", "pass")
"""Outcomes of a check, most urgent first."""
ENTRY_KINDS: Final = ("notice", "history", "figure", "rule")
"""Kinds of checks, in the order of entries with the same status."""

AUDIT: Final = record(
    "audit",
    "Checks of a run: every notice, earlier seal, sealed figure and rule.",
    record(
        "summary",
        "Summary of the audit.",
        text(
            "verdict",
            "One line for people: notices, share of forward returns proven, figures reproduced, stated and contradicted.",
        ),
        *(count(status, f"Entries with the status `{status}`.") for status in STATUSES),
        CHECKED,
        model="AuditSummary",
    ),
    series(
        "entries",
        "One entry for each check, by status: `withheld`, `notice`, `not_checked`, `pass`; within a status notices first, then "
        "earlier seals, figures and rules.",
        text("kind", "What was checked.", vocabulary=ENTRY_KINDS),
        text(
            "id",
            "Id of the notice or rule; sealed name of the figure, followed by a full stop and its year or month; or snapshot of the "
            "earlier seal.",
        ),
        text(
            "status",
            "`pass`: the check passed. `notice`: it did not, and the data are served nevertheless. `not_checked`: it could not be "
            "checked, for the reason given. `withheld`: the figure is not served.",
            vocabulary=STATUSES,
        ),
        text("figure", "Name of the figure checked; null without one.", nullable=True),
        figure(
            "value",
            "The measured figure; for a sealed figure its sealed value, for a rule the share of rows that it could compare; null without "
            "one.",
            unit=Unit.MIXED,
        ),
        figure(
            "threshold",
            "The threshold of a notice, or the recomputed value of a sealed figure; null without one.",
            unit=Unit.MIXED,
        ),
        text(
            "unit",
            "Unit of value and threshold; null without a value, and for a sealed figure, whose unit is in the metrics.",
            nullable=True,
        ),
        text(
            "reason",
            "Finding and its meaning, or why the check was not made or the figure is withheld; null if it passed.",
            nullable=True,
        ),
        mapping("details", "Details by name; empty without any.", anything("", "One detail.")),
        one="One check and its outcome.",
        model="AuditEntry",
    ),
    model="Audit",
)
