"""Falsifications of a ledger that break no single column, each with the rule that detects it.

Everything that a falsifier would adjust too is adjusted: notionals with marks, sums with their parts, and always digests.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import polars as pl

from tests.support.seals import rewrite

Frame = pl.DataFrame
Change = Callable[[Frame], Frame]
BOOK = "long_short"


@dataclass(frozen=True)
class Falsification:
    """A name, the rule that detects it, and its change to a seal."""

    name: str
    rule: str
    alter: Callable[[Path], Any]

    def __str__(self) -> str:
        return self.name.replace(" ", "-")


def table(seal: Path, kind: str) -> Frame:
    return pl.read_parquet(io.BytesIO((seal / f"{kind}.parquet").read_bytes()))


def having(*conditions: pl.Expr, book: str = BOOK) -> pl.Expr:
    return pl.all_horizontal(pl.col("book") == book, *conditions)


def nth(where: pl.Expr, n: int = 0) -> pl.Expr:
    """Select the n-th row that satisfies a condition."""
    return where & (where.cast(pl.Int32).cum_sum() == n + 1)


def put(column: str, value: pl.Expr, where: pl.Expr) -> Change:
    def change(frame: Frame) -> Frame:
        assert frame.select(where.any()).item(), "the falsification touches no row"
        return frame.with_columns(pl.when(where).then(value).otherwise(pl.col(column)).alias(column))

    return change


def on(kind: str, *changes: Change) -> Callable[[Path], Any]:
    def alter(seal: Path) -> None:
        for change in changes:
            rewrite(seal, kind, change)

    return alter


def both(*steps: Callable[[Path], Any]) -> Callable[[Path], Any]:
    def alter(seal: Path) -> None:
        for step in steps:
            step(seal)

    return alter


def swapped(column: str) -> Change:
    """Swap the values of two names of one session, which keeps every sum."""

    def change(frame: Frame) -> Frame:
        rows = frame.with_row_index("_row").filter(pl.col("book") == BOOK)
        day = rows.filter(pl.col(column) != 0).group_by("date").len().filter(pl.col("len") > 1)["date"].max()
        pair = rows.filter((pl.col("date") == day) & (pl.col(column) != 0)).unique(
            column, keep="first", maintain_order=True
        )
        (a, b), values = pair["_row"][:2].to_list(), frame[column].to_list()
        values[a], values[b] = values[b], values[a]
        return frame.with_columns(pl.Series(column, values))

    return change


def dropped(where: pl.Expr) -> Change:
    def change(frame: Frame) -> Frame:
        kept = frame.filter(~where)
        assert 0 < kept.height < frame.height
        return kept

    return change


def doubled(where: pl.Expr) -> Change:
    return lambda frame: pl.concat([frame, frame.filter(where)]).sort(
        "book", "timestamp", maintain_order=True
    )


def next_session(seal: Path) -> None:
    """Move the fills of one session to the book's next session."""
    days = table(seal, "portfolio").filter(pl.col("book") == BOOK)["date"].sort()
    fills = table(seal, "trades").filter(pl.col("book") == BOOK)["timestamp"].dt.date().unique().sort()
    day = fills[2]
    after = days.filter(days > day)[0] - day
    rewrite(
        seal, "trades",
        put("timestamp", pl.col("timestamp") + after, having(pl.col("timestamp").dt.date() == day)),
    )  # fmt: skip


def moved_profit(seal: Path) -> None:
    """Inflate the P&L of one name, with the ledger, its cash and all later equity."""
    amount, day = 0.01, table(seal, "pnl").filter(pl.col("book") == BOOK)["date"].sort()[40]
    rewrite(seal, "pnl", put("market_pnl", pl.col("market_pnl") + amount, nth(having(pl.col("date") == day))))
    later, here = having(pl.col("date") > day), having(pl.col("date") == day)
    for columns, where in (
        (("market_pnl",), here),
        (("ending_equity", "cash_end"), later | here),
        (("starting_equity", "cash_start"), later),
    ):
        for column in columns:
            rewrite(seal, "portfolio", put(column, pl.col(column) + amount, where))
    reweighted(seal)


def reweighted(seal: Path) -> None:
    """Recompute weights and exposures from positions and equity."""
    equity = table(seal, "portfolio").select("book", "date", _equity="ending_equity")

    def weights(frame: Frame) -> Frame:
        rows = frame.join(equity, on=("book", "date"), how="left", maintain_order="left")
        return rows.with_columns(weight=pl.col("signed_notional") / pl.col("_equity")).drop("_equity")

    rewrite(seal, "positions", weights)
    held = table(seal, "positions").group_by("book", "date").agg(
        gross_notional=pl.col("signed_notional").abs().sum(),
        net_notional=pl.col("signed_notional").sum(),
        gross_exposure=pl.col("weight").abs().sum(),
        net_exposure=pl.col("weight").sum(),
        largest_abs_weight=pl.col("weight").abs().max(),
    )  # fmt: skip
    names = [name for name in held.columns if name not in {"book", "date"}]

    def exposures(frame: Frame) -> Frame:
        rows = frame.drop(names).join(held, on=("book", "date"), how="left", maintain_order="left")
        return rows.with_columns(pl.col(names).fill_null(0.0)).select(frame.columns)

    rewrite(seal, "portfolio", exposures)


def marked_up(seal: Path) -> None:
    """Mark one name 10% higher at one close, with everything derived from that mark."""
    held = table(seal, "positions").filter(pl.col("book") == BOOK)
    day = held["date"].unique().sort()[10]
    name = held.filter(pl.col("date") == day)["symbol"][0]
    cell = having(pl.col("date") == day, pl.col("symbol") == name)
    rewrite(seal, "positions", put("mark_price", pl.col("mark_price") * 1.1, cell))
    gain = 0.1 * float(
        held.filter((pl.col("date") == day) & (pl.col("symbol") == name))["signed_notional"][0]
    )
    rewrite(seal, "positions", put("signed_notional", pl.col("quantity") * pl.col("mark_price"), cell))
    here = having(pl.col("date") == day)
    for column, sign in (("position_value_end", 1), ("cash_end", -1)):
        rewrite(seal, "portfolio", put(column, pl.col(column) + sign * gain, here))
    after = having(pl.col("date") > day)
    rewrite(seal, "portfolio", put("cash_start", pl.col("cash_start") - gain, nth(after)))
    reweighted(seal)


def split(seal: Path) -> None:
    """An undeclared split: twice the shares at half the mark from some close on."""
    held = table(seal, "positions").filter(pl.col("book") == BOOK)
    name, days = held["symbol"].mode()[0], held["date"].unique().sort()
    where = having(pl.col("symbol") == name, pl.col("date") >= days[len(days) // 2])
    rewrite(seal, "positions", put("quantity", pl.col("quantity") * 2, where))
    rewrite(seal, "positions", put("mark_price", pl.col("mark_price") / 2, where))


def last_held(seal: Path) -> pl.Expr:
    """Select in every book the first name of the long-only book at its last close."""
    held = table(seal, "positions").filter(pl.col("book") == "long_only")
    row = held.filter(pl.col("date") == held["date"].max()).row(0, named=True)
    return pl.all_horizontal(pl.col("date") == row["date"], pl.col("symbol") == row["symbol"])


def split_of_the_last_evening(seal: Path) -> Callable[[], None]:
    """Split one name at the last close in every book; return the declaration."""
    cell = last_held(seal)
    shares = table(seal, "positions").filter(cell).select("book", _came="quantity")
    rewrite(seal, "positions", put("quantity", pl.col("quantity") * 2, cell))
    rewrite(seal, "positions", put("mark_price", pl.col("mark_price") / 2, cell))
    return lambda: _adjusted(seal, "quantity_adjustment", shares, cell)


def dividend_of_the_last_evening(seal: Path) -> Callable[[], None]:
    """Pay a dividend of 1% at the last close in every book; return the declaration."""
    cell = last_held(seal)
    paid = (
        table(seal, "positions").filter(cell).select("book", "date", _came=0.01 * pl.col("signed_notional"))
    )
    rewrite(seal, "positions", put("mark_price", pl.col("mark_price") * 0.99, cell))
    rewrite(seal, "positions", put("signed_notional", pl.col("quantity") * pl.col("mark_price"), cell))
    for book, day, amount in paid.iter_rows():
        evening = having(pl.col("date") == day, book=book)
        for column, change in (("position_value_end", -amount), ("cash_end", amount)):
            rewrite(seal, "portfolio", put(column, pl.col(column) + change, evening))
    reweighted(seal)
    return lambda: _adjusted(seal, "cash_adjustment", paid.drop("date"), cell)


def _adjusted(seal: Path, column: str, came: Frame, cell: pl.Expr) -> None:
    def change(frame: Frame) -> Frame:
        rows = frame.join(came, on="book", how="left", maintain_order="left")
        amount = pl.when(cell).then(pl.col("_came").fill_null(0.0)).otherwise(0.0)
        return rows.with_columns(amount.alias(column)).drop("_came")

    rewrite(seal, "pnl", change)


def carried(seal: Path) -> None:
    """Inflate interest in one session, offset by its rounding adjustment."""
    where = nth(having(), 12)
    for column, sign in (("cash_carry", 1), ("rounding_adjustment", -1)):
        rewrite(seal, "portfolio", put(column, pl.col(column) + sign * 5e-7, where))


def hidden_in_rounding(seal: Path) -> None:
    """Book half of a session's costs as rounding."""
    where = nth(having(pl.col("execution_cost") < 0), 3)
    rewrite(
        seal,
        "portfolio",
        put("rounding_adjustment", pl.col("rounding_adjustment") + pl.col("execution_cost") / 2, where),
    )
    rewrite(seal, "portfolio", put("execution_cost", pl.col("execution_cost") / 2, where))


def cheaper(seal: Path) -> None:
    """Halve the cost of every fill only."""
    rewrite(seal, "trades", put("execution_cost", pl.col("execution_cost") / 2, pl.col("execution_cost") > 0))


def cheaper_throughout(seal: Path) -> None:
    """Halve the cost of every fill, by name and in the ledger."""
    cheaper(seal)
    for kind in ("pnl", "portfolio"):
        rewrite(seal, kind, put("execution_cost", pl.col("execution_cost") / 2, pl.col("execution_cost") < 0))


def other_weights(
    change: pl.Expr, where: pl.Expr, column: str = "long_short_target_weight"
) -> Callable[[Path], Any]:
    return on("decisions", put(column, change, where))


def exchanged_targets(seal: Path) -> None:
    """Swap the long-short targets of a selected and an unselected name of one week."""
    frame = table(seal, "decisions").with_row_index("_row")
    free = pl.col("next_open_tradeable") & pl.col("fill_at").is_not_null()
    column = "long_short_target_weight"
    week = frame.filter(free & (pl.col(column) > 0))["date"].unique().sort()[-2]
    held = frame.filter((pl.col("date") == week) & free & (pl.col(column) > 0))["_row"][0]
    idle = frame.filter((pl.col("date") == week) & pl.col("next_open_tradeable") & (pl.col(column) == 0))[
        "_row"
    ][0]
    values = frame[column].to_list()
    values[held], values[idle] = values[idle], values[held]
    rewrite(seal, "decisions", lambda decisions: decisions.with_columns(pl.Series(column, values)))


def opened(seal: Path) -> Frame:
    """Return the weekly positions opened by the long-short book on sides with several names."""
    fills = table(seal, "trades").filter((pl.col("book") == BOOK) & (pl.col("phase") == "open"))
    side = pl.col("quantity").sign()
    return fills.filter(pl.len().over("decision_at", side) > 2)


def out_of_proportion(seal: Path) -> None:
    fill = opened(seal).row(0, named=True)
    cell = (pl.col("date") == fill["decision_at"]) & (pl.col("symbol") == fill["symbol"])
    rewrite(
        seal, "decisions", put("long_short_target_weight", pl.col("long_short_target_weight") * 1.01, cell)
    )


def levered_weights(seal: Path) -> None:
    day = opened(seal)["decision_at"][0]
    rewrite(
        seal,
        "decisions",
        put("long_short_target_weight", pl.col("long_short_target_weight") * 2, pl.col("date") == day),
    )


def without_memory(seal: Path) -> None:
    """Attribute fills to the previous week's decision."""
    weeks = table(seal, "trades")["decision_at"].unique().sort()
    rewrite(seal, "trades", put("decision_at", pl.lit(weeks[1]), pl.col("decision_at") == weeks[2]))


ALL: Final = pl.lit(value=True)


def dealt_out(seal: Path, where: pl.Expr = ALL) -> None:
    """Reassign each week's forward returns in the order of the scores."""
    judged = pl.col("forward_return").is_not_null() & pl.col("score").is_not_null() & where
    place = (pl.col("score").filter(judged).rank("ordinal") - 1).cast(pl.UInt32)
    best = pl.col("forward_return").filter(judged).sort().gather(place)

    def change(frame: Frame) -> Frame:
        rows = frame.with_row_index("_row")
        dealt = (
            rows.group_by("date")
            .agg(_row=pl.col("_row").filter(judged), _dealt=best)
            .explode("_row", "_dealt")
            .drop_nulls("_row")
        )
        changed = rows.join(dealt.select("_row", "_dealt"), on="_row", how="left", maintain_order="left")
        return changed.with_columns(forward_return=pl.coalesce("_dealt", "forward_return")).drop(
            "_row", "_dealt"
        )

    rewrite(seal, "decisions", change)


def without_instants(seal: Path) -> None:
    """Remove the instants of the returns."""
    rewrite(seal, "decisions", lambda frame: frame.drop("entry_at", "maturity_at"))


def turned(*scores: str, weeks: pl.Expr = ALL) -> Callable[[Path], Any]:
    return on("decisions", *(put(score, -pl.col(score), weeks) for score in scores))


def one_books_price(seal: Path) -> None:
    """Move one book's mid of a name that several books fill at the same instant."""
    fills = table(seal, "trades")
    shared = pl.struct("timestamp", "symbol").is_in(
        fills.filter(pl.col("book") == "long_only")
        .select(pl.struct("timestamp", "symbol").implode())
        .to_series()
    )
    where = nth(having(shared), 3)
    for column in ("mid_price", "fill_price"):
        rewrite(seal, "trades", put(column, pl.col(column) * 1.001, where))


def rounded_up(seal: Path) -> None:
    """One-sided rounding in every session, taken from the interest."""
    for column, sign in (("rounding_adjustment", 1), ("cash_carry", -1)):
        rewrite(seal, "portfolio", put(column, pl.col(column) + sign * 9e-7, having()))


FILL = having(pl.col("phase") == "open")
DAY = timedelta(days=1)

LEDGERS: tuple[Falsification, ...] = (
    Falsification("a fill bought instead of sold", "positions.fills", on("trades", put("quantity", -pl.col("quantity"), nth(FILL, 5)))),
    Falsification("a fill of another size", "positions.fills", on("trades", put("quantity", pl.col("quantity") * 1.001, nth(FILL, 7)))),
    Falsification("a missing fill", "positions.fills", on("trades", dropped(nth(FILL, 9)))),
    Falsification("a fill told twice", "positions.fills", on("trades", doubled(nth(FILL, 3)))),
    Falsification("every fill of a name left out", "positions.fills", on("trades", dropped(having(pl.col("symbol") == pl.col("symbol").mode().first())))),
    Falsification("fills a session late", "positions.fills", next_session),
    Falsification("a fill under another name", "positions.fills", on("trades", put("symbol", pl.lit("ZZZ"), nth(FILL, 4)))),
    Falsification("a fill in another book", "positions.fills", on("trades", put("book", pl.lit("long_only"), nth(FILL, 4)))),
    Falsification("a settlement forgotten", "positions.fills", on("trades", dropped(pl.col("book").str.ends_with("_adjustments")))),
    Falsification("a split nobody declared", "positions.fills", split),
    Falsification("a holding of another size", "positions.fills", on("positions", put("quantity", pl.col("quantity") * 2, nth(having(), 50)))),
    Falsification("profit exchanged between names", "pnl.market", on("pnl", swapped("market_pnl"))),
    Falsification("profit added and hidden in cash", "pnl.market", moved_profit),
    Falsification("a mark raised for one evening", "pnl.market", marked_up),
    Falsification("a fill's mid moved", "pnl.market", on("trades", put("mid_price", pl.col("mid_price") * 1.02, nth(FILL, 6)))),
    Falsification("profit from the fill price", "pnl.market", on("trades", put("mid_price", pl.col("fill_price"), FILL))),
    Falsification("costs exchanged between names", "pnl.execution_cost", on("pnl", swapped("execution_cost"))),
    Falsification("cost of a fill halved", "pnl.execution_cost", cheaper),
    Falsification("borrow charged to a long name", "pnl.borrow", on("pnl", put("borrow_cashflow", pl.lit(-1e-4), nth(having(book="long_only"), 30)))),
    Falsification("cost of a fill below its distance from the mid", "trades.cost", cheaper),
    Falsification("costs halved throughout", "trades.cost", cheaper_throughout),
    Falsification("a fill better than it was", "trades.cost", on("trades", put("fill_price", pl.col("mid_price"), nth(FILL, 8)))),
    Falsification("a fee forgotten", "trades.cost", on("trades", put("fee", pl.lit(0.0), FILL), put("execution_cost", pl.col("execution_cost") + 1e-6, FILL))),
    Falsification("a fill of a week without decision", "trades.decision", on("trades", put("decision_at", pl.col("decision_at") + DAY, nth(FILL, 2)))),
    Falsification("a fill before its decision", "trades.decision", on("trades", put("decision_at", pl.col("decision_at").max(), nth(FILL, 2)))),
    Falsification("fills of an older decision", "decisions.fill_at", without_memory),
    Falsification("cash appears overnight", "portfolio.cash_start", on("portfolio", put("cash_start", pl.col("cash_start") + 0.01, nth(having(), 9)))),
    Falsification("a ledger's cost halved", "portfolio.execution_cost", on("portfolio", put("execution_cost", pl.col("execution_cost") / 2, having()))),
    Falsification("cash against its fills", "portfolio.cash_flow", moved_profit),
    Falsification("costs called rounding", "portfolio.rounding", hidden_in_rounding),
    Falsification("gross notional", "portfolio.exposure", on("portfolio", put("gross_notional", pl.col("gross_notional") * 0.5, having()))),
    Falsification("net notional", "portfolio.exposure", on("portfolio", put("net_notional", -pl.col("net_notional"), having()))),
    Falsification("gross exposure", "portfolio.exposure", on("portfolio", put("gross_exposure", pl.col("gross_exposure") - 0.1, nth(having(), 20)))),
    Falsification("net exposure", "portfolio.exposure", on("portfolio", put("net_exposure", pl.lit(0.0), having()))),
    Falsification("largest weight", "portfolio.exposure", on("portfolio", put("largest_abs_weight", pl.col("largest_abs_weight") / 2, having()))),
    Falsification("traded notional halved", "portfolio.turnover_notional", on("portfolio", put("turnover_notional", pl.col("turnover_notional") / 2, having()))),
    Falsification("turnover halved", "portfolio.turnover", on("portfolio", put("turnover", pl.col("turnover") / 2, having(pl.col("turnover") > 0)))),
    Falsification("turnover of one session", "portfolio.turnover", on("portfolio", put("turnover", pl.lit(0.0), nth(having(pl.col("turnover") > 0), 3)))),
    Falsification("targets exchanged between names", "decisions.target", exchanged_targets),
    Falsification("a target out of proportion", "decisions.target", out_of_proportion),
    Falsification("targets of a week doubled", "decisions.target", levered_weights),
    Falsification("targets turned round", "decisions.target", other_weights(-pl.col("long_short_target_weight"), pl.col("long_short_target_weight") != 0)),
    Falsification("rounding of one sign", "portfolio.rounding_total", rounded_up),
    Falsification("a price of one book", "trades.one_price", one_books_price),
    Falsification("a mark of one book", "positions.one_price", marked_up),
    Falsification("forward returns dealt out by score", "decisions.forward_return", dealt_out),
    Falsification("forward returns dealt out among names that were bought", "decisions.forward_return", lambda seal: dealt_out(seal, pl.col("long_short_target_weight") > 0)),
    Falsification("forward returns dealt out and instants left out", "decisions.forward_return", both(dealt_out, without_instants)),
    Falsification("forward returns of another period", "decisions.forward_return", on("decisions", put("forward_return", pl.col("forward_return").shift(-1).over("symbol"), pl.col("date") > pl.col("date").min()))),
    Falsification("forward returns in percent", "decisions.forward_return", on("decisions", put("forward_return", pl.col("forward_return") * 100, pl.col("forward_return").is_not_null()))),
    Falsification("the score turned round", "decisions.sides", turned("score")),
    Falsification("all scores turned round", "decisions.sides", turned("score", "unsmoothed_score")),
    Falsification("the raw score turned round", "decisions.sides", turned("unsmoothed_score")),
    Falsification("the score of one week turned round", "decisions.sides", turned("score", weeks=pl.col("date") == pl.col("date").unique().sort().get(20))),
    Falsification("a fill nobody made", "decisions.fill_at", on("decisions", put("fill_at", pl.col("fill_at") + DAY, nth(pl.col("fill_at").is_not_null(), 20)))),
)  # fmt: skip
"""Falsifications that are refused by their rule."""

WARNED: tuple[Falsification, ...] = (
    Falsification("interest that no rate explains", "portfolio.carry", carried),
)
"""Falsifications that break only a warning rule."""


def declare(seal: Path, **reconciliation: Any) -> Path:
    """Write the object `reconciliation` into the manifest."""
    path = seal / "seal.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"reconciliation": reconciliation}))
    return seal
