"""What was checked of a run, in five numbers: beside its metrics, in its row of a list and above its audit."""

from __future__ import annotations

from typing import Final

from schemas.metrics.field import block, count, number
from schemas.units import Unit

FORWARD_RETURN_RULE: Final = "decisions.forward_return"
"""Id of the rule that compares forward returns with the fills, and records the share that it proved."""

CHECKED: Final = block(
    "checked",
    "What was checked of the run's figures, always of the whole run; null where the snapshot records no checks.",
    count("reproduced", "Figures that the run sealed and its tables give, by the interface's definition."),
    count("stated", "Figures that the run sealed and no table supports."),
    count(
        "contradicted",
        "Figures that the run sealed and its tables contradict: the recomputed value is served, or none.",
    ),
    number(
        "forward_returns_proven",
        Unit.RATIO,
        "Share of the forward returns that the run's own fills prove; null where none could be compared.",
        "forward returns equal to those of the fills' mids / forward returns sealed",
        nullable=True,
        minimum=0,
        maximum=1,
    ),
    count("notices", "Notices about the run that this key may see; its audit lists them."),
    formula="counted",
    horizon="the whole run",
    granularity="one value for the whole run",
    source="the manifest of the snapshot, made when it was built",
    nullable=True,
    model="Checked",
)
