"""The rule on the trials of a run."""

from __future__ import annotations

import polars as pl

from pipeline.rule import Finding, rule
from pipeline.rules.examples import pick_examples
from pipeline.rules.tables import Tables


@rule(
    "trials.days",
    "Every trial has a return on the same days.",
    "Seal the returns of all trials over one span, 0 on a session on which a trial held nothing.",
    needs={"trials": ("trial", "date")},
    unique=("trials",),
)
def trials_days(tables: Tables) -> Finding | None:
    """Report the rows of days on which some trial has no return."""
    rows = tables["trials"]
    trials = rows["trial"].n_unique()
    lacking = rows.group_by("date").len().filter(pl.col("len") != trials)
    if not lacking.height:
        return None
    broken = rows.join(lacking, on="date", how="semi").sort("trial", "date")
    return Finding(
        "trials",
        broken.height,
        pick_examples(broken, ("trial", "date")),
        f"{lacking.height} days lack the return of some of the {trials} trials",
        ("date",),
    )
