"""The rules on the rebalance index and the cross-sections it dates."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import polars as pl

from pipeline.reconciliation.tables import Tables
from pipeline.rule import Finding, rule
from pipeline.rules.findings import broken_rows, joined_findings
from pipeline.rules.tolerance import differ
from schemas.plurals import counted
from schemas.tables.decisions import DECISIONS
from schemas.tables.rebalances import PENDING, TRADED

_KEY: Final = ("date", "symbol")
_SNAKE_CASE: Final = r"^[a-z][a-z0-9]*(_[a-z0-9]+)*$"
_REFUSED_STATUS: Final = "skipped"
_WEIGHTS: Final = tuple(
    column.name for column in DECISIONS.sealed_columns if column.name.endswith("_target_weight")
)
_FILLS: Final = ("fill_at", "raw_fill_at")
_LONG_ONLY: Final = ("long_only_target_weight", "raw_long_only_target_weight")
_RANKS: Final = {"average_rank": "score", "raw_average_rank": "unsmoothed_score"}
"""Rank -> the score that it ranks; the cohort is the names with a valid score."""


@rule(
    "rebalances.status",
    "A week's status is traded, pending, or the engine's own skip reason in snake_case; 'skipped' gives no reason "
    "and is refused.",
    "Write why the week was skipped, such as constant_scores.",
    needs={"rebalances": ("week_status",)},
)
def rebalances_status(tables: Tables) -> Finding | None:
    """Report weeks whose status is not a code, or is `skipped`."""
    status = pl.col("week_status")
    broken = tables["rebalances"].filter(~status.str.contains(_SNAKE_CASE) | (status == _REFUSED_STATUS))
    message = f"{counted(broken.height, 'week')} with a status that is not a snake_case code, or is 'skipped'"
    return broken_rows("rebalances", broken, ("date", "week_status"), message)


@rule(
    "decisions.week",
    "Every date of the decisions is a rebalance date.",
    "Add the week to rebalances, or drop its decisions.",
    needs={"decisions": ("date",), "rebalances": ("date",)},
)
def decisions_week(tables: Tables) -> Finding | None:
    """Report decisions of weeks that are not in the rebalance index."""
    broken = tables["decisions"].join(tables["rebalances"], on="date", how="anti", maintain_order="left")
    message = f"{counted(broken['date'].n_unique(), 'date')} of the decisions without a rebalance"
    return broken_rows("decisions", broken, _KEY, message)


@rule(
    "decisions.untradeable",
    "next_open_tradeable is false exactly where unavailability_reason is set; there every target weight is 0 "
    "and no fill has a time, in the raw books too.",
    "Give the reason where a name cannot be traded, and neither weight nor fill; elsewhere leave the reason null.",
    needs={"decisions": ("next_open_tradeable", "unavailability_reason")},
    uses={"decisions": (*_WEIGHTS, *_FILLS)},
)
def decisions_untradeable(tables: Tables) -> Finding | None:
    """Report names whose tradeability, reason, weights and fills contradict each other."""
    tradeable, reason = pl.col("next_open_tradeable"), pl.col("unavailability_reason")
    weights, fills = tables.present("decisions", _WEIGHTS), tables.present("decisions", _FILLS)
    active = [pl.col(name) != 0 for name in weights] + [pl.col(name).is_not_null() for name in fills]
    broken = tables["decisions"].filter((tradeable == reason.is_not_null()) | (~tradeable & _any(active)))
    message = (
        f"tradeability, reason, weights and fills contradict each other for {counted(broken.height, 'name')}"
    )
    columns = (*_KEY, "next_open_tradeable", "unavailability_reason", *weights, *fills)
    return broken_rows("decisions", broken, columns, message)


@rule(
    "decisions.pending",
    "In a pending week no fill has a time, in the raw books either, and no forward return is known.",
    "Seal the week as traded once its open has occurred, or leave its fills and forward returns null.",
    needs={"decisions": ("date",), "rebalances": ("date", "week_status")},
    uses={"decisions": (*_FILLS, "forward_return")},
    unique=("rebalances",),
)
def decisions_pending(tables: Tables) -> Finding | None:
    """Report names of a pending week with a fill or a forward return."""
    outcomes = tables.present("decisions", (*_FILLS, "forward_return"))
    premature = _any(pl.col(name).is_not_null() for name in outcomes)
    broken = tables["decisions"].filter(_in_weeks(tables, PENDING)).filter(premature)
    message = f"{counted(broken.height, 'name')} of a pending week with a fill or a forward return already"
    return broken_rows("decisions", broken, (*_KEY, *outcomes), message)


@rule(
    "decisions.long_only",
    "Long-only target weights are 0 or above, and those of a traded week sum to 1 unless all are 0; "
    "the raw ones likewise.",
    "Scale the long-only weights of the week to the whole book.",
    needs={"decisions": ("date",)},
    uses={"decisions": _LONG_ONLY, "rebalances": ("date", "week_status")},
    unique=("decisions", "rebalances"),
)
def decisions_long_only(tables: Tables) -> Finding | None:
    """Report negative long-only weights, and the names with a weight in weeks that do not sum to 1."""
    weights = tables.present("decisions", _LONG_ONLY)
    decisions = tables["decisions"]
    broken = decisions.select(_any(pl.col(name) < 0 for name in weights)).to_series()
    negative = decisions.filter(broken)
    message = f"{counted(negative.height, 'name')} with a negative long-only weight"
    findings = [broken_rows("decisions", negative, (*_KEY, *weights), message)]
    for name in weights if tables.has("rebalances", "date", "week_status") else ():
        traded = _in_weeks(tables, TRADED) & decisions[name].ne(0)
        sums = decisions.select("date", actual=name).filter(traded).group_by("date").sum().sort("date")
        unbalanced = sums.filter(differ(pl.col("actual"), pl.lit(1.0)))
        broken = broken | (traded & decisions["date"].is_in(unbalanced["date"].implode()))
        message = f"{name} does not sum to 1 in {counted(unbalanced.height, 'traded week')}"
        rows = unbalanced.with_columns(column=pl.lit(name), expected=pl.lit(1.0))
        findings.append(broken_rows("decisions", rows, ("date", "column", "expected", "actual"), message))
    return joined_findings(findings, int(broken.sum()))


@rule(
    "decisions.rank",
    "A sealed rank lies between 1 and the size of its cohort: the names with a valid score in the week.",
    "Rank the names of a week from 1, the strongest, over those with a valid score; or leave the ranks out.",
    needs={"decisions": ("date",)},
    uses={"decisions": tuple(name for pair in _RANKS.items() for name in pair)},
    unique=("decisions",),
)
def decisions_rank(tables: Tables) -> Finding | None:
    """Report sealed ranks outside their cohort."""
    decisions = tables["decisions"]
    broken = pl.zeros(decisions.height, pl.Boolean, eager=True)
    findings = []
    for rank in tables.present("decisions", tuple(_RANKS)):
        # Without scores the cohort is unknown, but at most the cross-section.
        cohort = pl.col(_RANKS[rank]).count() if tables.has("decisions", _RANKS[rank]) else pl.len()
        ranked = decisions.with_columns(cohort_size=cohort.over("date"))
        outside = ~ranked[rank].is_between(1, ranked["cohort_size"]).fill_null(value=True)
        broken = broken | outside
        rows = ranked.filter(outside)
        message = f"{rank} is outside its cohort in {counted(rows.height, 'row')}"
        findings.append(broken_rows("decisions", rows, (*_KEY, rank, "cohort_size"), message))
    return joined_findings(findings, int(broken.sum()))


@rule(
    "decisions.rank_order",
    "A sealed rank orders the names of a week as their scores do. Engines that average the ranks of several "
    "components may deviate, so this is only a warning.",
    "None if ranks of components were averaged; otherwise omit the ranks, which are then computed.",
    needs={"decisions": ("date",)},
    uses={"decisions": tuple(name for pair in _RANKS.items() for name in pair)},
    unique=("decisions",),
    warns=True,
)
def decisions_rank_order(tables: Tables) -> Finding | None:
    """Warn of neighbours by score whose sealed ranks are in the opposite order."""
    findings = []
    for rank, score in _RANKS.items():
        if not tables.has("decisions", rank, score):
            continue
        ordered = (
            tables["decisions"]
            .select(*tables.present("decisions", _KEY), score, rank)
            .drop_nulls([score, rank])
            .sort("date", score, rank, descending=[False, True, False])
        )
        weaker = pl.col(rank).shift(1).over("date")
        broken = ordered.with_columns(rank_of_stronger=weaker).filter(pl.col(rank) < weaker)
        message = f"{rank} puts {counted(broken.height, 'name')} before a stronger one"
        findings.append(broken_rows("decisions", broken, (*_KEY, score, rank, "rank_of_stronger"), message))
    return joined_findings(findings)


def _any(conditions: Iterable[pl.Expr]) -> pl.Expr:
    return pl.any_horizontal(pl.lit(value=False), *conditions)


def _in_weeks(tables: Tables, status: str) -> pl.Series:
    """Return which decisions belong to a week with this status."""
    return tables["decisions"]["date"].is_in(tables.weeks(status).implode())
