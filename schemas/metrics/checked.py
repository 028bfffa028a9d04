"""The checks of a run in five numbers, part of its metrics, its row of the screen and its audit."""

from __future__ import annotations

from typing import Final

from schemas.field import count, fraction, record

FORWARD_RETURN_RULE: Final = "decisions.forward_return"
"""Id of the rule that compares forward returns with the fills and records the proven share."""

CHECKED: Final = record(
    "checked",
    "Checks of the run's figures, whatever the window; null where the snapshot records none.",
    count("reproduced", "Sealed figures that the tables reproduce by the API's definition."),
    count("stated", "Sealed figures that no table supports."),
    count(
        "contradicted",
        "Sealed figures that the tables contradict: the recomputed value is served, or none.",
    ),
    fraction(
        "forward_returns_proven",
        "Share of the forward returns that the run's own fills prove; null where none could be compared.",
        "forward returns equal to those of the fills' mids / forward returns sealed",
        nullable=True,
    ),
    count("notices", "Notices about the run that this key may see; its audit lists them."),
    formula="counted",
    horizon="the run",
    granularity="one value for the run",
    source="the manifest of the snapshot, written when it was built",
    nullable=True,
    model="Checked",
)
