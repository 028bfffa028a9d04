"""The audit of one run: its checks and their outcomes."""

from __future__ import annotations

from typing import Final

from schemas.field import anything, array, integer, mapping, number, record, text
from schemas.metrics.checked import CHECKED
from schemas.units import Unit

STATUSES: Final = ("withheld", "notice", "not_checked", "pass")
"""Outcomes of a check, most urgent first."""
ENTRY_KINDS: Final = ("notice", "history", "figure", "rule")
"""What was checked, in the order of entries of one status."""

AUDIT: Final = record(
    "audit",
    "What was checked of a run: every notice, every earlier seal, every sealed figure and every rule.",
    record(
        "summary",
        "The audit in short.",
        text(
            "verdict",
            "One line for people: notices, share of forward returns proven, figures reproduced, stated and contradicted.",
        ),
        *(integer(status, Unit.COUNT, f"Entries with the status `{status}`.") for status in STATUSES),
        CHECKED,
        model="AuditSummary",
    ),
    array(
        "entries",
        "One entry for each check: those with the status `withheld` first, then `notice`, `not_checked` and `pass`; of one "
        "status notices first, then earlier seals, figures and rules.",
        record(
            "",
            "One check and its outcome.",
            text("kind", "What was checked.", vocabulary=ENTRY_KINDS),
            text(
                "id",
                "Which: the id of the notice or of the rule, the name under which the run sealed the figure with its year or "
                "month behind a full stop, the snapshot of the earlier seal.",
            ),
            text(
                "status",
                "`pass`: it holds. `notice`: it does not, and what follows is served all the same. `not_checked`: nothing can "
                "be said, for the reason given. `withheld`: the figure is not served.",
                vocabulary=STATUSES,
            ),
            text("figure", "Name of the figure it is about; null where it is about none.", nullable=True),
            number(
                "value",
                Unit.MIXED,
                "The figure as measured; of a sealed figure its sealed value, of a rule the share of rows it could compare; "
                "null where there is none.",
                nullable=True,
            ),
            number(
                "threshold",
                Unit.MIXED,
                "What the value is held against: the bound of a notice, the recomputed value of a sealed figure; null where "
                "there is none.",
                nullable=True,
            ),
            text(
                "unit",
                "Unit of both; null where there is no value, and of a sealed figure, whose metrics say it.",
                nullable=True,
            ),
            text(
                "reason",
                "What was noticed and what it means, or why it was not checked or is withheld; null where it holds.",
                nullable=True,
            ),
            mapping(
                "details", "More of it, by name; empty where there is no more.", anything("", "One detail.")
            ),
            model="AuditEntry",
        ),
    ),
    model="Audit",
)
