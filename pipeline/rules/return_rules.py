"""Forward returns against the prices at which the books of the run traded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from pipeline.reconciliation.corporate_actions import CorporateActions, Holding
from pipeline.reconciliation.fills import FILLS, fill_instants
from pipeline.reconciliation.grid import Codes, Floats
from pipeline.reconciliation.tables import CELL, SESSION, Tables
from pipeline.rule import Coverage, Finding, examples_wanted, rule
from pipeline.rules.findings import pick_examples
from pipeline.rules.tolerance import ABSOLUTE, RELATIVE, differing
from schemas.plurals import counted
from schemas.tables.books import SETTLEMENTS, is_raw_book
from schemas.tables.pnl import ADJUSTMENTS

_INSTANTS: Final = ("entry_at", "maturity_at")
_NO_INSTANT: Final = np.iinfo(np.int64).min
_DAY: Final = 86_400_000_000
"""Microseconds."""


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
        "pnl": ADJUSTMENTS,
    },
    unique=("decisions",),
)  # fmt: skip
def decisions_forward_return(tables: Tables) -> Coverage:
    """Report forward returns that the fills contradict."""
    if not tables.has("decisions", "forward_return"):
        return Coverage(0, 0, 0)
    actual = tables["decisions"]["forward_return"].to_numpy()
    stated = int(actual.size - np.isnan(actual).sum())
    spans = _Spans.of(tables)
    # Public books first: their coverage is counted separately, for readers without raw access.
    prices = spans.prices(tables)
    proven = visible = spans.compared(prices, actual)
    if spans.fill(tables, prices, raw=True):
        proven = spans.compared(prices, actual)
    actions = _corporate_actions(tables)
    if actions is not None:
        declared = actions.declared(spans.holding(proven))
        visible, proven = visible[np.isin(visible, proven[declared])], proven[declared]
    entry, maturity = (prices[code[proven], spans.symbol[proven]] for code in (spans.entry, spans.maturity))
    sealed = actual[proven]
    if actions is None:
        expected = maturity / entry - 1.0
    else:
        expected = actions.nearest(entry, maturity, sealed, spans.holding(proven))
    reason = (
        None
        if proven.size or not stated
        else "no name was filled both at entry_at and at maturity_at of a week"
    )
    wrong = differing(expected, sealed, ABSOLUTE)
    finding = None
    if wrong.any():
        rows = tables["decisions"][proven[wrong]].select("date", "symbol").with_columns(
            entry_at=spans.instant(spans.entry[proven[wrong]]),
            maturity_at=spans.instant(spans.maturity[proven[wrong]]),
            mid_at_entry=entry[wrong],
            mid_at_maturity=maturity[wrong],
            expected=expected[wrong],
            actual=sealed[wrong],
        )  # fmt: skip
        shown = rows.sort("date", "symbol").head(examples_wanted(rows.height))
        finding = Finding(
            "decisions",
            rows.height,
            pick_examples(shown, shown.columns),
            f"forward_return contradicts the name's fills in {rows.height:,} of {proven.size:,} rows that fills "
            f"determine, in {counted(rows['date'].n_unique(), 'week')}",
        )
    return Coverage(proven.size, stated, visible.size, finding, reason)


@dataclass(frozen=True, slots=True)
class _Spans:
    """Start and end of each decision's return.

    Attributes
    ----------
    instants
        Microseconds since 1970, ascending; a code equal to their number stands for none.
    entry, maturity
        Code of the instant of each row of the decisions.
    symbol
        Symbol code of each row.
    width
        Number of symbol codes.
    """

    instants: Codes
    entry: Codes
    maturity: Codes
    symbol: Codes
    width: int

    @classmethod
    def of(cls, tables: Tables) -> _Spans:
        ranges = tables.row_ranges("decisions", ("date", *tables.present("decisions", _INSTANTS)))
        weekly: Mapping[str, Codes] | None = None
        ends = {}
        for name in _INSTANTS:
            sealed = np.full(ranges.starts.size, _NO_INSTANT)
            if name in ranges.heads.columns:
                sealed = ranges.heads[name].to_physical().fill_null(_NO_INSTANT).to_numpy().astype(np.int64)
            if (sealed == _NO_INSTANT).any():
                weekly = weekly or _weekly_instants(tables, ranges.heads["date"])
                sealed = np.where(sealed == _NO_INSTANT, weekly[name], sealed)
            ends[name] = sealed
        instants = np.unique(np.concatenate(list(ends.values())))
        instants = instants[instants != _NO_INSTANT]
        entry, maturity = (
            np.repeat(
                np.where(of == _NO_INSTANT, instants.size, np.searchsorted(instants, of)), ranges.lengths
            )
            for of in ends.values()
        )
        grid = tables.alignment
        return cls(instants, entry, maturity, grid.codes("decisions").astype(np.int64), max(1, grid.width))

    def prices(self, tables: Tables) -> Floats:
        """Return the mids of books that are not raw, shape (instants + 1, symbols); NaN if there is no mid, or more than one."""
        prices = np.full((self.instants.size + 1, self.width), np.nan)
        self.fill(tables, prices, raw=False)
        return prices

    def fill(self, tables: Tables, prices: Floats, *, raw: bool) -> bool:
        """Add the mids of the raw books, or of the other books; return whether there are any."""
        ranges = tables.row_ranges("trades", FILLS)
        selected = {
            book: is_raw_book(book) == raw and not book.endswith(SETTLEMENTS)
            for book in ranges.heads["book"].unique()
        }
        at = ranges.heads["timestamp"].to_physical().to_numpy().astype(np.int64)
        code = np.searchsorted(self.instants, at)
        known = np.append(self.instants, _NO_INSTANT)[code] == at
        known &= np.array([selected[book] for book in ranges.heads["book"]], np.bool_)
        rows = np.flatnonzero(np.repeat(known, ranges.lengths))
        if not rows.size:
            return False
        place = np.repeat(code, ranges.lengths)[rows], tables.alignment.codes("trades")[rows]
        mids = tables["trades"]["mid_price"].to_numpy()[rows]
        before = prices[place]
        prices[place] = mids
        # A name with two prices at an instant counts as having none; another rule reports it.
        for other in (prices[place], before):
            conflicting = np.abs(other - mids) > RELATIVE * mids
            if conflicting.any():
                prices[place[0][conflicting], place[1][conflicting]] = np.nan
        return True

    def compared(self, prices: Floats, actual: Floats) -> Codes:
        """Return the rows with a return and a price at both instants."""
        both = prices[self.entry, self.symbol] + prices[self.maturity, self.symbol]
        return np.flatnonzero((self.entry < self.maturity) & ~np.isnan(both + actual))

    def instant(self, codes: Codes) -> pl.Series:
        """Return instants by code."""
        return pl.Series(self.instants[codes], dtype=pl.Int64).cast(pl.Datetime("us", "UTC"))

    def holding(self, rows: Codes) -> Holding:
        """Return the symbol and the first and last day of the return of some rows."""
        return (
            self.symbol[rows],
            self.instants[self.entry[rows]] // _DAY,
            self.instants[self.maturity[rows]] // _DAY,
        )


def _weekly_instants(tables: Tables, weeks: pl.Series) -> Mapping[str, Codes]:
    """Return, by week, the instants at which the books filled it and the next week."""
    no_instants = np.full(weeks.len(), _NO_INSTANT)
    if not (tables.has("rebalances", "date") and tables.has("portfolio", "date")):
        return dict.fromkeys(_INSTANTS, no_instants)
    moments = tables.part.moments
    if moments is None:
        moments = tables.row_ranges("trades", FILLS).heads
    calendar = (
        tables["rebalances"]
        .select(pl.col("date").unique().sort())
        .join(
            fill_instants(moments, tables["portfolio"]["date"]), on="date", how="left", maintain_order="left"
        )
        .select("date", entry_at="at", maturity_at=pl.col("at").shift(-1))
    )
    instants = weeks.to_frame("date").join(calendar, on="date", how="left", maintain_order="left")
    return {
        name: instants[name].to_physical().fill_null(_NO_INSTANT).to_numpy().astype(np.int64)
        for name in _INSTANTS
    }


def _corporate_actions(tables: Tables) -> CorporateActions | None:
    """Read the splits and dividends that the pnl seals; None if it seals none."""
    sealed = tables.present("pnl", ADJUSTMENTS)
    if not (sealed and tables.has("pnl", *CELL)):
        return None
    columns = (*CELL, "quantity", "mark_price")
    # Without positions or sessions no holdings are known, so no return is compared.
    empty = pl.DataFrame(
        schema=dict(zip(columns, (pl.String, pl.Date, pl.String, pl.Float64, pl.Float64), strict=True))
    )
    return CorporateActions.of(
        tables["pnl"].select(*CELL, *sealed),
        tables["positions"].select(columns) if tables.has("positions", *columns) else empty,
        tables["portfolio"].select(SESSION) if tables.has("portfolio", *SESSION) else empty.select(SESSION),
        tables.symbols("decisions").names,
    )
