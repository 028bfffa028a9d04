"""The rules on the trials of a run."""

from __future__ import annotations

from typing import Final

import polars as pl

from pipeline.reconciliation.tables import SESSION, Tables
from pipeline.rule import Coverage, Finding, rule
from pipeline.rules.findings import broken_rows
from pipeline.rules.tolerance import differ
from schemas.plurals import counted

_BOOK: Final = "long_short"


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
    incomplete = rows.group_by("date").len().filter(pl.col("len") != trials)
    broken = rows.join(incomplete, on="date", how="semi").sort("trial", "date")
    message = f"{counted(incomplete.height, 'day')} without the return of some of the {trials} trials"
    return broken_rows("trials", broken, ("trial", "date"), message)


@rule(
    "trials.own",
    f"One trial is the run itself: each of its days is a session of the {_BOOK} book, and its period_return of that day is the "
    "book's ending_equity / starting_equity - 1, to 1e-9. Returns of sessions that open without equity are not compared.",
    "Seal the daily returns of the selected run, from its own ledger, along with those of the other variants.",
    needs={
        "trials": ("trial", "date", "period_return"),
        "portfolio": (*SESSION, "starting_equity", "ending_equity"),
    },
    unique=("trials", "portfolio"),
)
def trials_own(tables: Tables) -> Finding | Coverage | None:
    """Report a run that is not among its own trials, with the most similar trial."""
    ledger = tables["portfolio"].filter(pl.col("book") == _BOOK)
    rows = tables["trials"]
    if not rows.height:
        return Coverage(0, 0, 0, reason="trials has no rows")
    if not ledger.height:
        return Coverage(0, rows.height, 0, reason=f"the run sealed no ledger of {_BOOK}")
    own = ledger.select(
        "date",
        own=pl.when(pl.col("starting_equity") > 0).then(
            pl.col("ending_equity") / pl.col("starting_equity") - 1.0
        ),
    )
    compared = rows.join(own, on="date", how="left").with_columns(
        wrong=pl.col("date").is_in(ledger["date"].implode()).not_()
        | differ(pl.col("period_return"), pl.col("own")).fill_null(value=False)
    )
    by_trial = compared.group_by("trial").agg(days=pl.col("wrong").sum()).sort("days", "trial")
    best, days = by_trial.row(0)
    if not days:
        return None
    broken = compared.filter((pl.col("trial") == best) & pl.col("wrong")).sort("date")
    message = (
        f"none of {by_trial.height} trials has the returns of the {_BOOK} book; the nearest, {best}, differs in "
        f"{counted(days, 'session')}, first on {broken['date'][0]}"
    )
    shown = broken.with_columns(expected="own", actual="period_return")
    return broken_rows("trials", shown, ("trial", "date", "expected", "actual"), message)
