"""Forward returns against the prices at which the books of the run traded."""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

from pipeline.reconciliation.corporate_actions import CorporateActions, Holding
from pipeline.reconciliation.fills import fill_instants, single_mids
from pipeline.reconciliation.row_ranges import day_numbers
from pipeline.reconciliation.tables import CELL, SESSION, Tables
from pipeline.rule import Coverage, rule
from pipeline.rules.findings import broken_rows
from pipeline.rules.tolerance import ABSOLUTE, differing
from pipeline.seal.tables import empty_table
from schemas.plurals import counted
from schemas.tables import SEALED_TABLES
from schemas.tables.books import RAW_PREFIX, SETTLEMENTS
from schemas.tables.pnl import ADJUSTMENTS

_INSTANTS: Final = ("entry_at", "maturity_at")


@rule(
    "decisions.forward_return",
    "A forward return is the mid_price at maturity_at divided by the mid_price at entry_at, less 1, to 1e-9, if books of the run "
    "filled the name at both instants. Fills of all books count, including raw books and adjustments variants; settlements have "
    "no market and are not used. An instant that is not sealed is the instant of the week's fills, if they all share one "
    "instant in the first session after the decision. If the pnl seals adjustments, shares and cash received between "
    "the two instants count, and only names held throughout are compared. The report states how many returns were "
    "compared.",
    "Compute the return from the opens at which the books were filled; where prices are not adjusted for splits and "
    "dividends, seal these in quantity_adjustment and cash_adjustment of the pnl.",
    needs={"decisions": ("date", "symbol"), "trades": ("book", "timestamp", "decision_at", "symbol", "mid_price")},
    uses={
        "decisions": ("forward_return", *_INSTANTS),
        "pnl": (*CELL, *ADJUSTMENTS),
    },
    unique=("decisions",),
)  # fmt: skip
def decisions_forward_return(tables: Tables) -> Coverage:
    """Report forward returns that the fills contradict."""
    if not tables.has("decisions", "forward_return"):
        return Coverage(0, 0, 0)
    spans = _spans(tables)
    fills = (
        tables["trades"]
        .select("book", "timestamp", tables.symbols("trades").column.alias("code"), "mid_price")
        .filter(~pl.col("book").str.ends_with(SETTLEMENTS))
    )
    raw = pl.col("book").str.starts_with(RAW_PREFIX)
    # Public books first: their coverage is counted separately, for readers without raw access.
    public = single_mids(fills.filter(~raw))
    mids = single_mids(pl.concat([public, fills.filter(raw).select(public.columns)]))
    visible, proven = _priced(spans, public), _priced(spans, mids)
    actions = _corporate_actions(tables)
    if actions is not None:
        proven = proven.filter(actions.declared(_holding(proven)))
        visible = visible.join(proven, on=("date", "symbol"), how="semi")
    entry, maturity, sealed = (
        proven[name].to_numpy() for name in ("mid_at_entry", "mid_at_maturity", "actual")
    )
    expected = maturity / entry - 1.0
    if actions is not None:
        expected = actions.nearest(entry, maturity, sealed, _holding(proven))
    wrong = differing(expected, sealed, ABSOLUTE)
    rows = proven.with_columns(expected=expected).filter(wrong).sort("date", "symbol")
    message = (
        f"forward_return contradicts the name's fills in {rows.height:,} of {proven.height:,} rows that fills "
        f"determine, in {counted(rows['date'].n_unique(), 'week')}"
    )
    shown = ("date", "symbol", *_INSTANTS, "mid_at_entry", "mid_at_maturity", "expected", "actual")
    finding = broken_rows("decisions", rows, shown, message)
    none_filled = "no name was filled both at entry_at and at maturity_at of a week"
    reason = none_filled if spans.height and not proven.height else None
    return Coverage(proven.height, spans.height, visible.height, finding, reason)


def _spans(tables: Tables) -> pl.DataFrame:
    """Return ``date``, ``symbol``, its ``code``, the instants and the ``actual`` return of each decision with a return."""
    returns = (
        tables["decisions"]
        .select(
            "date",
            "symbol",
            *tables.present("decisions", _INSTANTS),
            code=tables.symbols("decisions").column,
            actual="forward_return",
        )
        .filter(pl.col("actual").is_not_null())
        .join(_weekly_instants(tables), on="date", how="left")
    )
    return returns.with_columns(
        pl.coalesce(*tables.present("decisions", (name,)), f"weekly_{name}").alias(name) for name in _INSTANTS
    )


def _priced(spans: pl.DataFrame, mids: pl.DataFrame) -> pl.DataFrame:
    """Add the mids at both instants, and keep the returns that have both."""
    for instant, name in zip(_INSTANTS, ("mid_at_entry", "mid_at_maturity"), strict=True):
        ends = mids.rename({"timestamp": instant, "mid_price": name})
        spans = spans.join(ends, on=(instant, "code"))
    return spans.filter(pl.col("entry_at") < pl.col("maturity_at"))


def _holding(spans: pl.DataFrame) -> Holding:
    """Return the symbol and the first and last day of each return."""
    entry, maturity = (day_numbers(spans[name].dt.date()) for name in _INSTANTS)
    return spans["code"].to_numpy().astype(np.int64), entry, maturity


def _weekly_instants(tables: Tables) -> pl.DataFrame:
    """Return, by ``date`` of the decision, the instants at which the books filled it and the next week."""
    names = {name: f"weekly_{name}" for name in _INSTANTS}
    if not (tables.has("rebalances", "date") and tables.has("portfolio", "date")):
        return pl.DataFrame(
            schema={"date": pl.Date, **dict.fromkeys(names.values(), pl.Datetime("us", "UTC"))}
        )
    calendar = tables["rebalances"].select(pl.col("date").unique().sort())
    filled = calendar.join(
        fill_instants(tables.moments, tables["portfolio"]["date"]),
        on="date",
        how="left",
        maintain_order="left",
    )
    return filled.select("date", weekly_entry_at="at", weekly_maturity_at=pl.col("at").shift(-1))


def _corporate_actions(tables: Tables) -> CorporateActions | None:
    """Read the splits and dividends that the pnl seals; None if it seals none."""
    sealed = tables.present("pnl", ADJUSTMENTS)
    if not (sealed and tables.has("pnl", *CELL)):
        return None
    # Without positions or sessions no holdings are known, so no return is compared.
    positions, sessions = (
        (tables[kind] if tables.has(kind, *columns) else empty_table(SEALED_TABLES[kind])).select(columns)
        for kind, columns in (("positions", (*CELL, "quantity", "mark_price")), ("portfolio", SESSION))
    )
    pnl = tables["pnl"].select(*CELL, *sealed)
    return CorporateActions.of(pnl, positions, sessions, tables.symbols("decisions").names)
