"""The double-entry books of a run, from target weights or from fills."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from alpha_results_seal.book import DUST, Book
from alpha_results_seal.calendar import NEW_YORK, Calendar
from alpha_results_seal.checks import typed
from alpha_results_seal.costs import Costs, is_finite
from alpha_results_seal.derive import completed
from alpha_results_seal.errors import SealError
from alpha_results_seal.fills import ASSUMED, REQUIRED, read_fills
from alpha_results_seal.frames import Floats, Matrix, matrix, named_columns
from alpha_results_seal.market import Market
from alpha_results_seal.scores import select_tails
from alpha_results_seal.weeks import (
    Week,
    decisions_table,
    delay_weeks,
    last_sessions,
    notes_on_weeks,
    read_weeks,
    rebalances_table,
)


@dataclass(frozen=True)
class Ledger:
    """The tables of a run for a seal.

    Attributes
    ----------
    tables
        Kind -> table: ``portfolio``, ``positions``, ``pnl``, ``trades`` and ``rebalances``; ``decisions`` if the
        target weights are known.
    equity_basis
        Opening equity of each book.
    notes
        Assumptions and omissions, one sentence each.
    smoothing, description
        Defaults of the writer for these parts of the seal; None if unknown.
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

        A decision is filled at the open of the next session (at its close, if prices have no open), sized with
        the equity of the previous close. A name without a price that day cannot be traded: its weight counts as 0 and
        its position is unchanged; once it has no further prices, that is settled if `costs` state a recovery. A position
        without a weight is closed. The books start with the session of the first fill.

        Parameters
        ----------
        weights
            Target fractions of equity by decision day and name, signed; at most one decision per calendar week. A
            decision on a day without a session is dated by the previous session, with a note. A frame, long (``date``,
            ``symbol``, ``weight``) or wide, is the book ``long_short``; a mapping names the books (``long_short``,
            ``long_only`` and their ``raw_`` counterparts), all with the same days. The weights of a long-only book sum to
            1, or are all 0.
        prices
            Long (``date``, ``symbol``, ``close`` and preferably ``open``), a wide frame of closes, or
            ``{"open": wide, "close": wide}``.
        costs
            Costs of trading and holding.
        calendar
            Sessions and hours.
        scores
            Scores behind the weights, long (``date``, ``symbol``, ``score``) or wide; without them every score is
            null.
        equity_basis
            Opening equity of each book.

        Returns
        -------
        Ledger
            All six tables.

        Raises
        ------
        SealError
            If an argument is invalid; the message names it.
        """
        _require_costs_and_calendar(costs, calendar)
        books = weights if isinstance(weights, Mapping) else {"long_short": weights}
        targets = {str(name): matrix(frame, "weight", f"weights of {name}") for name, frame in books.items()}
        scored = None if scores is None else matrix(scores, "score", "scores")
        market = Market.of(prices, calendar, _names(targets, scored))
        return cls._from_targets(targets, scored, market, costs, equity_basis)

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
        """Keep the books of the score tails, rebalanced weekly.

        The last day with scores in each week is the decision day. Of the names with a close on that day, the best `tails`
        are bought and the worst sold short, each tail equally weighted and as large as the equity (`long_short`);
        `long_only` holds only the best. A decision is filled at the open of the next session, or at its close if prices
        have no open. Forward returns are computed from the fill prices.

        Parameters
        ----------
        scores
            Higher is better. Long (``date``, ``symbol``, ``score``) or wide, of Polars or pandas, an alphalens factor, or a
            CSV or Parquet file.
        prices
            As for `from_weights`, or a file.
        tails
            Share of the names in each tail, at most 0.5; at least one name. Names tied at the edge of a tail share its
            places.
        costs
            Costs of trading and holding; unstated ones are 0.
        calendar
            Sessions and hours; by default New York's hours on the days with prices.
        equity_basis
            Opening equity of each book.

        Returns
        -------
        Ledger
            All six tables, with notes on assumptions.

        Raises
        ------
        SealError
            If an argument is invalid; the message names it.
        """
        costs = Costs() if costs is None else costs
        _require_costs_and_calendar(costs, calendar or NEW_YORK)
        scored = matrix(scores, "score", "scores")
        market = Market.of(prices, calendar or NEW_YORK, scored.symbols)
        decided = select_tails(scored, market, tails)
        ledger = cls._from_targets(decided.weights, decided.scores, market, costs, equity_basis)
        steps = [
            "the last day with scores in each week is the decision day",
            f"of the names with a score and a close, the best {tails:.6g} are bought and the worst sold short, equally weighted",
            f"decisions are filled at the {'close' if market.opens is None else 'open'} of the next session",
        ]
        notes = ["; ".join(steps), *decided.notes, *ledger.notes]
        if calendar is None:
            notes.append(
                f"no calendar was given: days with prices are sessions, {NEW_YORK.open} to {NEW_YORK.close} {NEW_YORK.zone}"
            )
        return replace(
            ledger,
            notes=tuple(notes),
            smoothing={"applied": False, "detail": "the scores as given"},
            description={"signal": {"decision_timing": steps[0], "pseudocode": steps}},
        )

    @classmethod
    def _from_targets(
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
            raise SealError("no decision is followed by a session with prices: extend the prices.")
        state = {name: Book(name, market.symbols, _basis(equity_basis)) for name in targets}
        by_session = {week.fill: week for week in weeks if not week.pending}
        for session in range(first, market.observed):
            if session in by_session:
                week = by_session[session]
                week.settle(market.tradeable(session), state)
                for name, book in state.items():
                    _rebalance(book, week, week.targets[name], market, session, costs)
            market.close_books(state, session, costs, market.last_priced)
        tables = {**_joined(state, equity_basis), **_decided(weeks, state, market)}
        days = tables["portfolio"]["date"].unique(maintain_order=True)
        notes = (
            *market.notes(state, decided=True),
            *notes_on_weeks(weeks, market, scored=scored is not None),
            *costs.notes(days, traded=True),
        )
        return cls(tables, equity_basis, notes)

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
        """Keep the books of a run from recorded fills.

        Parameters
        ----------
        fills
            In the order they were filled, with columns ``date`` (the session) and ``symbol``, or their aliases as for scores,
            ``quantity`` (signed), ``fill_price``, ``fee`` (money, by default 0), ``mid_price`` (by default the fill price,
            which then includes the impact) and ``decision_at`` (by default the session before the fill). A fill whose mid
            is the open of its session is stamped with the open, any other with the close.
        closes
            Closes, and opens if known, as the prices of `from_weights`, from the first session on.
        calendar
            Sessions and hours.
        book
            The book of the fills.
        costs
            Borrow, interest and recovery; fees and impact are those of the fills.
        equity_basis
            Opening equity of the book.
        weights, scores
            As for `from_weights`, by decision day of the fills, which may be a day without a session. Forward returns begin at the
            open, or at the close if opens are unknown, of the session that fills most decisions first: the next one, or a later
            one if the engine takes longer. If decisions are filled at other prices, give these, of all names, as opens.

        Returns
        -------
        Ledger
            Without decisions if no weights are given.

        Raises
        ------
        SealError
            If a fill has no session, no close to mark it, no session before it, or no weights on its decision day, or forward
            returns contradict the mids.
        """
        costs = Costs() if costs is None else costs
        _require_costs_and_calendar(costs, calendar)
        recorded = named_columns(fills, "fills", *REQUIRED, *ASSUMED)
        targets = {} if weights is None else {book: matrix(weights, "weight", "weights")}
        scored = None if scores is None else matrix(scores, "score", "scores")
        market = Market.of(closes, calendar, _names(targets, scored))
        rows = read_fills(recorded, market)
        if not rows.height:
            raise SealError("there are no fills: give at least one.")
        if weights is None and scores is not None:
            raise SealError("scores need weights: give weights= as well.")
        weeks = read_weeks(targets, scored, market) if targets else []
        if targets:
            days = rows["decision_at"].to_numpy().astype("datetime64[D]")
            dates = pl.Series(last_sessions(days, market.sessions), dtype=pl.Date)
            rows = rows.with_columns(decision_at=dates)
            _require_decided(rows, weeks)
            delay_weeks(weeks, rows, market)
        state = Book(book, market.symbols, _basis(equity_basis))
        place = {name: at for at, name in enumerate(market.symbols)}
        fills_by_session = {
            int(key[0]): part.rows(named=True)
            for key, part in rows.group_by(["session"], maintain_order=True)
        }
        # A position is not settled before its last fill, which may be later than its last close.
        last = market.last_priced.copy()
        np.maximum.at(last, [place[name] for name in rows["symbol"]], rows["session"].to_numpy())
        by_session = {week.fill: week for week in weeks if not week.pending}
        for session in range(min([*fills_by_session, *by_session]), market.observed):
            if session in by_session:
                by_session[session].settle(market.tradeable(session), {book: state})
            for fill in fills_by_session.get(session, ()):
                at = place[fill["symbol"]]
                after = float(state.shares[at]) + fill["quantity"]
                size = max(abs(float(state.shares[at])), abs(fill["quantity"]))
                state.fill(
                    at, 0.0 if abs(after) <= DUST * size else after,
                    mid=fill["mid_price"], price=fill["fill_price"], fee=fill["fee"],
                    instant=(market.open_at if fill["at_open"] else market.close_at)[session],
                    decision=fill["decision_at"],
                )  # fmt: skip
            market.close_books({book: state}, session, costs, last)
        tables = _joined({book: state}, equity_basis)
        notes = [*market.notes({book: state}, decided=False)]
        if targets:
            tables |= _decided(weeks, {book: state}, market)
            _require_returns_of_fills(tables["decisions"], tables["trades"])
            notes += notes_on_weeks(weeks, market, scored=scored is not None)
        else:
            tables["rebalances"] = rows.select(date=pl.col("decision_at").unique().sort()).with_columns(
                week_status=pl.lit("traded")
            )
            notes.append(
                "target weights and scores are unknown: no decisions are sealed, and the run is incomplete"
            )
        notes += costs.notes(tables["portfolio"]["date"], traded=False)
        notes += [note for column, note in ASSUMED.items() if column not in recorded.columns]
        return cls(tables, equity_basis, tuple(notes))


def _require_costs_and_calendar(costs: Costs, calendar: Calendar) -> None:
    for name, value, kind in (("costs", costs, Costs), ("calendar", calendar, Calendar)):
        if not isinstance(value, kind):
            raise SealError(f"{name} is {value!r}: give {kind.__name__}(…).")


def _rebalance(book: Book, week: Week, target: Floats, market: Market, session: int, costs: Costs) -> None:
    """Trade a book to its target weights, in the order of names; untradeable holdings stay."""
    tradeable, mids = week.tradeable, market.fill_prices[session]
    equity = book.equity
    if book.name.endswith("long_only"):
        # A long-only book may not borrow, so holdings that cannot be sold reduce the equity to invest.
        equity = max(equity - float(book.notional[~tradeable].sum()), 0.01 * equity)
    instant = market.fill_instants[session]
    for at in np.flatnonzero(tradeable & ((target != 0) | (book.shares != 0))):
        before, mid = float(book.shares[at]), float(mids[at])
        after = float(target[at]) * equity / mid
        if before * after > 0 and abs(after - before) * mid <= 1e-12 * equity:
            continue
        direction = 1.0 if after > before else -1.0
        book.fill(
            int(at), after, mid=mid, price=mid * (1.0 + direction * costs.impact),
            fee=abs(after - before) * mid * costs.fee, instant=instant, decision=week.date,
        )  # fmt: skip


def _decided(weeks: Sequence[Week], books: Mapping[str, Book], market: Market) -> dict[str, pl.DataFrame]:
    """Settle pending decisions, and return the tables of decisions after the last session."""
    for week in weeks:
        if week.pending:
            week.settle(market.tradeable(market.observed - 1), books)
    return {"rebalances": rebalances_table(weeks), "decisions": decisions_table(weeks, books, market)}


def _require_decided(fills: pl.DataFrame, weeks: Sequence[Week]) -> None:
    """Raise SealError for a fill whose decision day has no weights."""
    days = pl.Series([week.date for week in weeks], dtype=pl.Date)
    for fill in fills.filter(~pl.col("decision_at").is_in(days.implode())).head(1).iter_rows(named=True):
        raise SealError(
            f"{fill['symbol']} is filled on {fill['date']} by a decision of {fill['decision_at']}, which has no weights: "
            "give the weights of every decision day."
        )


def _require_returns_of_fills(decisions: pl.DataFrame, trades: pl.DataFrame) -> None:
    """Raise SealError for a forward return that contradicts the mids of the fills at both of its ends."""
    mids = trades.select("timestamp", "symbol", "mid_price").unique()
    mids = mids.unique(("timestamp", "symbol"), keep="none")
    for end in ("entry_at", "maturity_at"):
        at_end = mids.rename({"timestamp": end, "mid_price": f"mid_{end}"})
        decisions = decisions.join(at_end, on=(end, "symbol"), maintain_order="left")
    gap = pl.col("mid_maturity_at") / pl.col("mid_entry_at") - 1 - pl.col("forward_return")
    for row in decisions.filter(gap.abs() > 1e-9).head(1).iter_rows(named=True):
        raise SealError(
            f"{row['symbol']} is filled on {row['entry_at'].date()} and {row['maturity_at'].date()} at mids that contradict its "
            "forward return, which is computed from the prices given: give mids before slippage, and unless these are closes, "
            "give them for all names as opens along with the closes."
        )


def _names(targets: Mapping[str, Matrix], scored: Matrix | None) -> set[str]:
    parts = [*targets.values(), *([] if scored is None else [scored])]
    return {name for part in parts for name in part.symbols}


def _basis(equity_basis: float) -> float:
    if not (is_finite(equity_basis) and equity_basis > 0):
        raise SealError(
            f"equity_basis is {equity_basis!r}: give the opening equity, above 0; 1.0 for a normalised ledger."
        )
    return float(equity_basis)


def _joined(books: Mapping[str, Book], equity_basis: float) -> dict[str, pl.DataFrame]:
    """Return the tables of all books, with the columns that follow from others."""
    parts = [books[name].tables() for name in sorted(books)]
    tables = {kind: pl.concat([part[kind] for part in parts]) for kind in parts[0]}
    return {kind: typed(kind, frame) for kind, frame in completed(tables, equity_basis).items()}
