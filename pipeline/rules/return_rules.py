"""Forward returns against the prices at which the books of the run traded."""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

from pipeline.reconciliation.corporate_actions import CorporateActions, Holding
from pipeline.reconciliation.tables import FILLS, SESSION, Tables, acted_at
from pipeline.rule import Coverage, rule
from pipeline.rules.findings import broken_rows
from pipeline.rules.tolerance import ABSOLUTE, RELATIVE, differing
from schemas.tables.books import RAW_PREFIX, SETTLEMENTS
from schemas.tables.pnl import ADJUSTMENTS

_CELL: Final = (*SESSION, "symbol")
_INSTANTS: Final = ("entry_at", "maturity_at")
_DAY: Final = 86_400_000_000
"""Microseconds."""


@rule(
    "decisions.forward_return",
    "A forward return is the mid_price at maturity_at over that at entry_at, less 1, to 1e-9, where books of the run "
    "filled the name at both instants: any books, the raw ones and the adjustments variants among them. Settlements have "
    "no market and are not used. Where an instant is not sealed, it is that of the week's fills, when all of them are of "
    "one instant of the first session after the decision. Where the pnl seals adjustments, shares and cash that came "
    "between the two count, and only names that were held all the while are compared. How many returns were compared "
    "is part of the report.",
    "Compute the return from the opens that the books were filled at; where prices are not adjusted for splits and "
    "dividends, seal these in quantity_adjustment and cash_adjustment of the pnl.",
    needs={"decisions": ("date", "symbol"), "trades": ("book", "timestamp", "decision_at", "symbol", "mid_price")},
    uses={
        "decisions": ("forward_return", *_INSTANTS),
        "pnl": ADJUSTMENTS,
    },
    unique=("decisions",),
)  # fmt: skip
def decisions_forward_return(tables: Tables) -> Coverage:
    """Report forward returns that the fills contradict."""
    if not tables.has("decisions", "forward_return"):
        return Coverage(0, 0, 0)
    proven = _proven(tables)
    actions = _corporate_actions(tables)
    if actions is not None:
        proven = proven.filter(pl.Series(actions.declared(_holding(proven))))
    entry, maturity, actual = (
        proven[name].to_numpy() for name in ("mid_at_entry", "mid_at_maturity", "actual")
    )
    expected = maturity / entry - 1.0
    if actions is not None:
        expected = actions.nearest(entry, maturity, actual, _holding(proven))
    broken = proven.with_columns(expected=expected).filter(pl.Series(differing(expected, actual, ABSOLUTE)))
    weeks = broken["date"].n_unique()
    finding = broken_rows(
        "decisions",
        broken.sort("date", "symbol"),
        ("date", "symbol", *_INSTANTS, "mid_at_entry", "mid_at_maturity", "expected", "actual"),
        f"forward_return is not what the name's fills come to in {broken.height:,} of {proven.height:,} rows that fills "
        f"prove, in {weeks} weeks",
    )
    stated = tables["decisions"]["forward_return"].count()
    unproven = "no name was filled both at entry_at and at maturity_at of a week"
    return Coverage(
        proven.height,
        stated,
        int(proven["visible"].sum()),
        finding,
        None if proven.height or not stated else unproven,
    )


def _proven(tables: Tables) -> pl.DataFrame:
    """Return the forward returns with a mid of the name at both ends; the public books have those of the visible ones.

    Returns run from `entry_at` to a later `maturity_at`.
    """
    sealed = tables.present("decisions", _INSTANTS)
    runs = tables.runs("decisions", ("date", *sealed))
    instants = {
        name: pl.coalesce(f"sealed_{name}", name) if name in sealed else pl.col(name) for name in _INSTANTS
    }
    spans = (
        runs.heads.rename({name: f"sealed_{name}" for name in sealed})
        .with_row_index("run")
        .join(_weekly_instants(tables), on="date", how="left")
        .select("run", **instants)
        .filter(pl.col("entry_at") < pl.col("maturity_at"))
    )
    mids = _mids(tables, pl.concat([spans[name].unique() for name in _INSTANTS]))
    entry, maturity = (
        mids.rename({"at": instant, "mid": f"mid_{end}", "visible": f"visible_{end}"})
        for instant, end in zip(_INSTANTS, ("at_entry", "at_maturity"), strict=True)
    )
    traded = spans.join(entry, on="entry_at").join(maturity, on=["maturity_at", "code"])
    decisions = tables["decisions"].select("date", "symbol", actual="forward_return")
    run = np.repeat(np.arange(runs.starts.size, dtype=np.uint32), runs.lengths)
    return (
        decisions.with_columns(code=tables.symbols("decisions").column, run=pl.Series(run))
        .join(traded, on=["run", "code"])
        .filter(pl.col("actual").is_not_null())
        .with_columns(visible=pl.col("visible_at_entry") & pl.col("visible_at_maturity"))
    )


def _mids(tables: Tables, instants: pl.Series) -> pl.DataFrame:
    """Return the mid of each name at some instants, and whether a public book has it; an instant with two prices has none."""
    runs = tables.runs("trades", FILLS)
    known = runs.heads.select(
        pl.col("timestamp").is_in(instants.implode()) & pl.col("book").str.ends_with(SETTLEMENTS).not_()
    ).to_series()
    rows = np.flatnonzero(np.repeat(known.to_numpy(), runs.lengths))
    fills = tables["trades"].select("book", "mid_price", at="timestamp")[rows]
    mid = pl.col("mid_price")
    mids = (
        fills.with_columns(
            code=tables.symbols("trades").column[rows],
            public=pl.col("book").str.starts_with(RAW_PREFIX).not_(),
        )
        .group_by("at", "code")
        .agg(mid.last().alias("mid"), low=mid.min(), high=mid.max(), visible=pl.col("public").any())
    )
    # Another rule reports two prices at one instant.
    one_price = pl.col("high") - pl.col("low") <= RELATIVE * pl.col("high")
    return mids.filter(one_price).drop("low", "high")


def _weekly_instants(tables: Tables) -> pl.DataFrame:
    """Find, by week, the instant at which the books filled it, and that at which they filled the next week."""
    if not (tables.has("rebalances", "date") and tables.has("portfolio", "date")):
        return pl.DataFrame(schema={"date": pl.Date, **dict.fromkeys(_INSTANTS, pl.Datetime("us", "UTC"))})
    moments = tables.part.moments
    if moments is None:
        moments = tables.runs("trades", FILLS).heads
    return (
        tables["rebalances"]
        .select(pl.col("date").unique().sort())
        .join(acted_at(moments, tables["portfolio"]["date"]), on="date", how="left", maintain_order="left")
        .select("date", entry_at="at", maturity_at=pl.col("at").shift(-1))
    )


def _holding(spans: pl.DataFrame) -> Holding:
    """Return the symbol of each return, and the days on which it begins and ends."""
    first, last = (spans[name].to_physical().to_numpy() // _DAY for name in _INSTANTS)
    return spans["code"].to_numpy(), first, last


def _corporate_actions(tables: Tables) -> CorporateActions | None:
    """Read the splits and dividends that the pnl seals; None if it seals none."""
    sealed = tables.present("pnl", ADJUSTMENTS)
    if not (sealed and tables.has("pnl", *_CELL)):
        return None
    columns = (*_CELL, "quantity", "mark_price")
    # Without positions or sessions no holding is known, and no return is compared.
    empty = pl.DataFrame(
        schema=dict(zip(columns, (pl.String, pl.Date, pl.String, pl.Float64, pl.Float64), strict=True))
    )
    return CorporateActions.of(
        tables["pnl"].select(*_CELL, *sealed),
        tables["positions"].select(columns) if tables.has("positions", *columns) else empty,
        tables["portfolio"].select(SESSION) if tables.has("portfolio", *SESSION) else empty.select(SESSION),
        tables.symbols("decisions").names,
    )
