"""The books of a run, kept by double entry from target weights or from fills."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from alpha_results_seal.book import DUST, Book
from alpha_results_seal.calendar import NEW_YORK, Calendar
from alpha_results_seal.costs import Costs
from alpha_results_seal.errors import SealError
from alpha_results_seal.fills import ASSUMED, read_fills
from alpha_results_seal.frames import Floats, Matrix, matrix, table
from alpha_results_seal.market import Market
from alpha_results_seal.scores import tails_of
from alpha_results_seal.weeks import Week, decisions_table, moved_note, read_weeks, rebalances_table


@dataclass(frozen=True)
class Ledger:
    """The tables of a run, as a seal holds them.

    Attributes
    ----------
    tables
        Kind -> table: ``portfolio``, ``positions``, ``pnl``, ``trades`` and ``rebalances``; ``decisions`` where the
        target weights are known.
    equity_basis
        What each book opened with.
    notes
        What could not be known and was left out, and what was assumed; one sentence each.
    smoothing, description
        What the writer seals of the run beside the tables unless it is given something else; None where unknown.
    """

    tables: Mapping[str, pl.DataFrame]
    equity_basis: float
    notes: tuple[str, ...] = ()
    smoothing: Mapping[str, Any] | None = None
    description: Mapping[str, Any] | None = None

    @classmethod
    def from_weights(
        cls,
        weights: Any,
        prices: Any,
        costs: Costs,
        calendar: Calendar,
        *,
        scores: Any = None,
        equity_basis: float = 1.0,
    ) -> Ledger:
        """Keep the books of a run that rebalances to target weights.

        A decision is filled at the open of the session after it (at its close, where prices have no open), sized with
        the equity of the close before. A name without a price that day cannot be traded: its weight is taken as 0 and
        what is held of it stays. A name that is held and has no weight any more is closed. The first session is that
        of the first fill.

        Parameters
        ----------
        weights
            Target fractions of equity by decision day and name, signed; at most one decision a calendar week. A day
            that is no session is taken as the session before, which `notes` says. A frame,
            long (``date``, ``symbol``, ``weight``) or wide, is the book ``long_short``; a mapping names the books
            (``long_short``, ``long_only`` and their ``raw_`` twins), all of the same days. The weights of a long-only
            book sum to 1, or are all 0.
        prices
            Long (``date``, ``symbol``, ``close`` and, better, ``open``), a wide frame of closes, or
            ``{"open": wide, "close": wide}``.
        costs
            What trading and holding cost.
        calendar
            Sessions and hours.
        scores
            What the weights were made from, long (``date``, ``symbol``, ``score``) or wide; without it every score is
            null.
        equity_basis
            What each book opens with.

        Returns
        -------
        Ledger
            All six tables.

        Raises
        ------
        SealError
            When something given makes no books; the message names it.
        """
        books = weights if isinstance(weights, Mapping) else {"long_short": weights}
        targets = {str(name): matrix(frame, "weight", f"weights of {name}") for name, frame in books.items()}
        scored = None if scores is None else matrix(scores, "score", "scores")
        market = Market.of(prices, calendar, _names(targets, scored))
        return cls._of_targets(targets, scored, market, costs, equity_basis)

    @classmethod
    def from_scores(
        cls,
        scores: Any,
        prices: Any,
        *,
        tails: float = 0.2,
        costs: Costs | None = None,
        calendar: Calendar | None = None,
        equity_basis: float = 1.0,
    ) -> Ledger:
        """Keep the books of the tails of scores, rebalanced weekly.

        The last day of each week that has scores decides, about the names with a close on it: the best `tails` of them are
        bought, the worst sold short, each tail equally weighted and of the size of the equity (`long_short`); `long_only` has
        the best alone. A decision is filled at the open of the session after it, or at its close where prices have no
        open. Forward returns are measured from those prices.

        Parameters
        ----------
        scores
            Higher is better. Long (``date``, ``symbol``, ``score``) or wide, of Polars or pandas, an alphalens factor, or a
            CSV or Parquet file.
        prices
            As of `from_weights`; a file may hold them too.
        tails
            Share of the names in each tail, at most 0.5; one name at least. Names that tie where a tail ends share its places.
        costs
            What trading and holding cost; costs that are not stated are 0.
        calendar
            Sessions and hours; New York's hours on the days with prices unless given.
        equity_basis
            What each book opens with.

        Returns
        -------
        Ledger
            All six tables; its notes say what was assumed.

        Raises
        ------
        SealError
            When something given makes no books; the message names it.
        """
        given = matrix(scores, "score", "scores")
        market = Market.of(prices, calendar or NEW_YORK, given.symbols)
        decided = tails_of(given, market, tails)
        ledger = cls._of_targets(decided.weights, decided.scores, market, costs or Costs(), equity_basis)
        steps = [
            "the last day of each week that has scores decides",
            f"the best {tails:.6g} of the names with a score and a close on that day are bought, the worst sold short, equally weighted",
            f"filled at the {'close' if market.opens is None else 'open'} of the session after",
        ]
        assumed = []
        if calendar is None:
            assumed.append(
                f"no calendar was given: days with prices are sessions, {NEW_YORK.open} to {NEW_YORK.close} {NEW_YORK.zone}"
            )
        return replace(
            ledger,
            notes=("; ".join(steps), *decided.notes, *ledger.notes, *assumed),
            smoothing={"applied": False, "detail": "the scores as given"},
            description={"signal": {"decision_timing": steps[0], "pseudocode": steps}},
        )

    @classmethod
    def _of_targets(
        cls,
        targets: Mapping[str, Matrix],
        scored: Matrix | None,
        market: Market,
        costs: Costs,
        equity_basis: float,
    ) -> Ledger:
        weeks = read_weeks(targets, scored, market)
        first = min((week.fill for week in weeks if not week.pending), default=None)
        if first is None:
            raise SealError("no decision is followed by a session with prices: no books can be kept.")
        state = {name: Book(name, market.symbols, _basis(equity_basis)) for name in targets}
        by_session = {week.fill: week for week in weeks if not week.pending}
        for session in range(first, market.observed):
            if session in by_session:
                week = by_session[session]
                week.settle(market.tradeable(session), state)
                for name, book in state.items():
                    _rebalance(book, week, week.targets[name], market, session, costs)
            market.close_books(state, session, costs)
        tables = {**_joined(state), **_decided(weeks, state, market)}
        days, dates = (
            np.array([getattr(week, name) for week in weeks], "datetime64[D]")
            for name in ("given_on", "date")
        )
        notes = market.notes(state, scored=scored is not None, decided=True) + moved_note(days, dates)
        notes += costs.notes(traded=True)
        return cls(tables, equity_basis, tuple(notes))

    @classmethod
    def from_fills(
        cls,
        fills: Any,
        closes: Any,
        calendar: Calendar,
        *,
        book: str = "long_short",
        costs: Costs | None = None,
        equity_basis: float = 1.0,
        weights: Any = None,
        scores: Any = None,
    ) -> Ledger:
        """Keep the books of a run of which the fills are known.

        Parameters
        ----------
        fills
            Columns ``date`` (the session), ``symbol``, ``quantity`` (signed), ``fill_price``, ``fee`` (money, 0 where
            absent), ``mid_price`` (the fill price where absent: then impact is not separated from price), ``decision_at``
            (the session before the fill where absent), in the order they were filled. They are stamped with the close.
        closes
            Long (``date``, ``symbol``, ``close``) or wide; the first is that of the first session.
        calendar
            Sessions and hours.
        book
            The book they are of.
        costs
            Borrow and interest; fees and impact are those of the fills.
        equity_basis
            What the book opens with.
        weights, scores
            As of `from_weights`, by the days on which fills were decided: what the fills were aimed at, and why.

        Returns
        -------
        Ledger
            Without decisions where no weights are given.

        Raises
        ------
        SealError
            When a fill has no session, no close to be marked at, no session before it, or no weights of the day on which it
            was decided.
        """
        given = table(fills, "fills")
        targets = {} if weights is None else {book: matrix(weights, "weight", "weights")}
        scored = None if scores is None else matrix(scores, "score", "scores")
        market = Market.of(closes, calendar, _names(targets, scored))
        rows = read_fills(given, market)
        if not rows.height:
            raise SealError("there are no fills: no books can be kept.")
        if weights is None and scores is not None:
            raise SealError("scores without weights decide nothing: give weights= as well.")
        weeks = read_weeks(targets, scored, market) if targets else []
        if targets:
            _require_decided(rows, weeks)
        state = Book(book, market.symbols, _basis(equity_basis))
        place = {name: at for at, name in enumerate(market.symbols)}
        of_session = {int(key[0]): part for key, part in rows.group_by(["session"], maintain_order=True)}
        by_session = {week.fill: week for week in weeks if not week.pending}
        for session in range(min([*of_session, *by_session]), market.observed):
            if session in by_session:
                by_session[session].settle(market.tradeable(session), {book: state})
            for fill in of_session[session].iter_rows(named=True) if session in of_session else ():
                at = place[fill["symbol"]]
                after = float(state.shares[at]) + fill["quantity"]
                size = max(abs(float(state.shares[at])), abs(fill["quantity"]))
                state.fill(
                    at, 0.0 if abs(after) <= DUST * size else after,
                    mid=fill["mid_price"], price=fill["fill_price"], fee=fill["fee"],
                    instant=market.close_at[session], decision=fill["decision_at"],
                )  # fmt: skip
            market.close_books({book: state}, session, costs or Costs())
        tables = _joined({book: state})
        notes = market.notes({book: state}, scored=not targets or scored is not None, decided=False)
        if targets:
            tables |= _decided(weeks, {book: state}, market)
        else:
            tables["rebalances"] = rows.select(date=pl.col("decision_at").unique().sort()).with_columns(
                week_status=pl.lit("traded")
            )
            notes.append(
                "target weights and scores are not known: no decisions are sealed, and the run is incomplete"
            )
        notes += (costs or Costs()).notes(traded=False)
        for column, said in ASSUMED.items():
            if column not in given.columns:
                notes.append(said)
        return cls(tables, equity_basis, tuple(notes))


def _rebalance(book: Book, week: Week, target: Floats, market: Market, session: int, costs: Costs) -> None:
    """Trade a book to its target weights, names in order; what cannot be traded stays."""
    tradeable, mids = week.tradeable, market.mids(session)
    equity = book.equity
    if book.name.endswith("long_only"):
        # What is frozen uses up part of a book that may not borrow.
        equity = max(equity - float(book.notional[~tradeable].sum()), 0.01 * equity)
    instant = market.fill_instants[session]
    for at in np.flatnonzero(tradeable & ((target != 0) | (book.shares != 0))):
        before, mid = float(book.shares[at]), float(mids[at])
        after = float(target[at]) * equity / mid
        if before * after > 0 and abs(after - before) * mid <= 1e-12 * equity:
            continue
        if before == after:
            continue
        direction = 1.0 if after > before else -1.0
        book.fill(
            int(at), after, mid=mid, price=mid * (1.0 + direction * costs.impact),
            fee=abs(after - before) * mid * costs.fee, instant=instant, decision=week.date,
        )  # fmt: skip


def _decided(weeks: Sequence[Week], books: Mapping[str, Book], market: Market) -> dict[str, pl.DataFrame]:
    """Return the tables of decisions, once every session is closed; pending ones are settled here."""
    for week in weeks:
        if week.pending:
            week.settle(market.tradeable(market.observed - 1), books)
    return {"rebalances": rebalances_table(weeks), "decisions": decisions_table(weeks, books, market)}


def _require_decided(fills: pl.DataFrame, weeks: Sequence[Week]) -> None:
    """Refuse fills of a day on which no weights were given."""
    days = pl.Series([week.date for week in weeks], dtype=pl.Date)
    for fill in fills.filter(~pl.col("decision_at").is_in(days.implode())).head(1).iter_rows(named=True):
        raise SealError(
            f"{fill['symbol']} is filled on {fill['date']} by a decision of {fill['decision_at']}, and there are no weights of "
            "that day: give the weights of every day on which fills were decided."
        )


def _names(targets: Mapping[str, Matrix], scored: Matrix | None) -> set[str]:
    parts = [*targets.values(), *([] if scored is None else [scored])]
    return {name for part in parts for name in part.symbols}


def _basis(equity_basis: float) -> float:
    if not (np.isfinite(equity_basis) and equity_basis > 0):
        raise SealError(
            f"equity_basis is {equity_basis}: a book opens with some cash, 1.0 for a growth multiple."
        )
    return float(equity_basis)


def _joined(books: Mapping[str, Book]) -> dict[str, pl.DataFrame]:
    parts = [books[name].tables() for name in sorted(books)]
    return {
        kind: pl.concat([part[kind] for part in parts])
        for kind in ("portfolio", "positions", "pnl", "trades")
    }
