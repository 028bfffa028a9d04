"""Honest runs of unlike engines, kept by the seal writer on one simulated market."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from alpha_results_seal import Calendar, Costs, Ledger, SealError, SealRefused, SealWriter

from datasets.figures.series import Floats
from pipeline.notices import NoticeOutcome
from pipeline.rules import check
from pipeline.seal import Seal

NYSE = Calendar("America/New_York", "09:30", "16:00")
COSTS = Costs(fee=0.0001, impact=0.0003, borrow=0.00002)
WEEKS, NAMES = 100, 60
SYMBOLS = [f"N{number:02d}" for number in range(NAMES)]
DAYS = np.busday_offset(np.datetime64("2023-01-02"), np.arange(5 * WEEKS + 10))
FRIDAYS = np.arange(4, 5 * WEEKS, 5)
FEW = slice(0, 40)
"""Names that trade at a hundredth of the price of the others."""


@pytest.fixture(scope="module")
def market() -> dict[str, Floats]:
    """Opens, closes and average prices of a day, and scores that predict the week after them and no other."""
    rng = np.random.default_rng(11)
    scores = rng.normal(0, 1, (FRIDAYS.size, NAMES))
    moves = rng.normal(0, 0.01, (DAYS.size, 1)) + rng.normal(0, 0.018, (DAYS.size, NAMES))
    for week, friday in enumerate(FRIDAYS):
        moves[friday + 1 : friday + 6] += 0.0014 * scores[week]
    closes = 200.0 * np.exp(np.cumsum(moves, axis=0))
    opens = np.vstack([closes[:1], closes[:-1]]) * np.exp(0.35 * moves + rng.normal(0, 0.004, moves.shape))
    for prices in (opens, closes):
        prices[:, FEW] /= 100
    middle = 0.5 * (opens + closes) * np.exp(rng.normal(0, 0.002, moves.shape))
    return {"open": opens, "close": closes, "middle": middle, "scores": scores}


def wide(values: Floats, days: np.ndarray) -> pl.DataFrame:
    return pl.DataFrame(values, SYMBOLS).insert_column(0, pl.Series("date", days).cast(pl.Date))


def tails(scores: Floats) -> Floats:
    """Equal weights of the best and the worst fifth."""
    ranks = scores.argsort(axis=1).argsort(axis=1)
    fifth = NAMES // 5
    return ((ranks >= NAMES - fifth).astype(np.float64) - (ranks < fifth)) / fifth


def fills_of(
    prices: Floats, closes: Floats, weights: Floats, delay: int, *, whole: bool = False
) -> pl.DataFrame:
    """Fills at given prices, some sessions after the decision, sized with the equity of the close before."""
    shares, cash, rows = np.zeros(NAMES), 1e6, []
    for week, friday in enumerate(FRIDAYS):
        session = friday + delay
        wanted = weights[week] * (cash + shares @ closes[session - 1]) / prices[session]
        wanted = np.rint(wanted) if whole else wanted
        for name in np.flatnonzero(wanted != shares):
            quantity = wanted[name] - shares[name]
            rows.append(
                (DAYS[session].item(), SYMBOLS[name], quantity, prices[session, name], DAYS[friday].item())
            )
        cash -= (wanted - shares) @ prices[session]
        shares = wanted
    columns = ("date", "symbol", "quantity", "mid_price", "decision_at")
    fills = pl.DataFrame(rows, columns, orient="row")
    impact = 1 + 0.0003 * pl.col("quantity").sign()
    return fills.with_columns(fill_price=pl.col("mid_price") * impact)


def ledger_of(
    fills: pl.DataFrame, market: dict[str, Floats], weights: Floats, opens: Floats | None = None
) -> Ledger:
    closes = wide(market["close"], DAYS)
    return Ledger.from_fills(
        fills,
        closes if opens is None else {"open": wide(opens, DAYS), "close": closes},
        NYSE,
        costs=Costs(borrow=0.00002),
        equity_basis=1e6,
        weights=wide(weights, DAYS[FRIDAYS]),
        scores=wide(market["scores"], DAYS[FRIDAYS]),
    )


def outcomes_of(ledger: Ledger, folder: Path, prices: Path | None = None) -> dict[str, NoticeOutcome]:
    seal = folder / "seal"
    SealWriter(seal, alpha_id="Test_honest", smoothing={"applied": False}).add_ledger(ledger).write()
    report = check(Seal.open(str(seal)), prices=None if prices is None else str(prices))
    assert report.violations == ()
    return {each.notice: each for each in report.notices}


def given(outcomes: dict[str, NoticeOutcome]) -> set[str]:
    return {id_ for id_, outcome in outcomes.items() if outcome.outcome == "notice"}


def test_a_book_that_is_long_alone_is_related_to_its_ic(market: dict[str, Floats], tmp_path: Path) -> None:
    """Its return is mostly that of the market, which the IC does not contain."""
    weights = wide(0.6 * np.maximum(tails(market["scores"]), 0), DAYS[FRIDAYS])
    prices = {name: wide(market[name], DAYS) for name in ("open", "close")}
    scores = wide(market["scores"], DAYS[FRIDAYS])
    outcomes = outcomes_of(Ledger.from_weights(weights, prices, COSTS, NYSE, scores=scores), tmp_path)
    assert outcomes["signal.book_correlation"].outcome == "pass"


def test_fills_some_sessions_after_the_decision_prove_the_forward_returns(
    market: dict[str, Floats], tmp_path: Path
) -> None:
    closes, weights = market["close"], tails(market["scores"])
    fills = fills_of(closes, closes, weights, 2)
    ledger = ledger_of(fills, market, weights)
    first = ledger.tables["decisions"].row(0, named=True)
    assert (first["date"], first["entry_at"].date()) == (DAYS[4].item(), DAYS[6].item())
    assert given(outcomes_of(ledger, tmp_path)) & {
        "signal.forward_returns_proven", "signal.book_correlation", "signal.irregular_weeks",
    } == set()  # fmt: skip


def test_fills_at_other_prices_than_the_close_need_these_of_all_names(
    market: dict[str, Floats], tmp_path: Path
) -> None:
    middle, weights = market["middle"], tails(market["scores"])
    fills = fills_of(middle, market["close"], weights, 1)
    with pytest.raises(SealError, match=r"contradict its forward return.*as opens along with"):
        ledger_of(fills, market, weights)
    ledger = ledger_of(fills, market, weights, middle)
    assert "signal.forward_returns_proven" not in given(outcomes_of(ledger, tmp_path))


def test_whole_shares_of_cheap_and_dear_names_are_in_proportion(
    market: dict[str, Floats], tmp_path: Path
) -> None:
    """One share of a dear name is a thousandth of its position, of a cheap one a hundred-thousandth; some targets are below a share."""
    closes, scores = market["close"], market["scores"]
    weights = np.where(np.abs(scores) < 0.05, 0.00005 * np.sign(scores), tails(scores))
    outcomes_of(ledger_of(fills_of(closes, closes, weights, 1, whole=True), market, weights), tmp_path)


def test_small_positions_of_cheap_names_may_not_be_left_out(
    market: dict[str, Floats], tmp_path: Path
) -> None:
    """Their targets are below one share of a dear name, but not of their own."""
    closes, small = market["close"], np.abs(market["scores"]) < 0.05
    weights = np.where(small, 0.00005 * np.sign(market["scores"]), tails(market["scores"]))
    kept = weights.copy()
    kept[:, FEW][small[:, FEW]] = 0.0
    ledger = ledger_of(fills_of(closes, closes, kept, 1, whole=True), market, weights)
    writer = SealWriter(tmp_path / "seal", alpha_id="Test_left_out", smoothing={"applied": False})
    with pytest.raises(SealRefused, match=r"decisions\.target .*: \d+ names held on another side"):
        writer.add_ledger(ledger).write()


def test_forward_returns_between_averages_of_a_day_are_those_of_the_market(
    market: dict[str, Floats], tmp_path: Path
) -> None:
    """Their days are compared, and not only the opens or the closes; returns of other weeks are contradicted."""
    middle, weights = market["middle"], tails(market["scores"])
    fills = fills_of(middle, market["close"], weights, 1)
    ledger = ledger_of(fills, market, weights, middle)
    returns = np.full((FRIDAYS.size, NAMES), np.nan)
    returns[:-1] = middle[FRIDAYS[1:] + 1] / middle[FRIDAYS[:-1] + 1] - 1
    sealed = wide(returns, DAYS[FRIDAYS]).unpivot(
        index="date", variable_name="symbol", value_name="forward_return"
    )
    prices = tmp_path / "prices.parquet"
    rows = [
        wide(market[name], DAYS).unpivot(index="date", variable_name="symbol", value_name=name)
        for name in ("open", "close")
    ]
    rows[0].join(rows[1], on=["date", "symbol"]).write_parquet(prices)

    def outcome_of(returns: pl.DataFrame, folder: str) -> NoticeOutcome:
        table = ledger.tables["decisions"].drop("forward_return")
        table = table.join(returns.fill_nan(None), on=["date", "symbol"], how="left", maintain_order="left")
        own = Ledger({**ledger.tables, "decisions": table}, ledger.equity_basis)
        (tmp_path / folder).mkdir()
        return outcomes_of(own, tmp_path / folder, prices)["market.forward_returns"]

    assert outcome_of(sealed, "own").outcome == "pass"
    # Losses of names that no book holds, and no fill proves, are cut off.
    unheld = wide(weights, DAYS[FRIDAYS]).unpivot(index="date", variable_name="symbol", value_name="weight")
    held = pl.col("weight") != 0
    weeks = held | held.shift(-1).over("symbol", order_by="date").fill_null(value=False)
    value = pl.col("forward_return")
    cut = sealed.join(unheld, on=["date", "symbol"]).with_columns(
        forward_return=pl.when(weeks).then(value).otherwise(value.clip(-0.03))
    )
    assert outcome_of(cut.drop("weight"), "cut").outcome == "notice"


def test_delisted_names_that_a_book_never_closed_have_left_the_universe(tmp_path: Path) -> None:
    """A tenth of the names is delisted. Long positions in these stay, without a price, and so do their rows."""
    rng = np.random.default_rng(3)
    days = np.busday_offset(np.datetime64("2023-01-02"), np.arange(550))
    closes = 50.0 * np.exp(np.cumsum(rng.normal(0, 0.015, (550, 150)), axis=0))
    fridays = np.arange(4, 545, 5)
    scores = np.linspace(1, -1, 150) + rng.normal(0, 0.1, (fridays.size, 150))
    for name in range(15):
        last = 100 + 25 * name
        closes[last + 1 :, name] = np.nan
        scores[fridays > last, name] = np.nan
    names = [f"N{number:03d}" for number in range(150)]
    prices, scored = (
        pl.DataFrame(values, names).fill_nan(None).insert_column(0, pl.Series("date", at).cast(pl.Date))
        for values, at in ((closes, days), (scores, days[fridays]))
    )
    for recovery, outcome in ((None, "notice"), (1.0, "pass")):
        costs, folder = replace(COSTS, recovery=recovery), tmp_path / outcome
        folder.mkdir()
        outcomes = outcomes_of(Ledger.from_scores(scored, prices, costs=costs, calendar=NYSE), folder)
        assert outcomes["universe.frozen_marks"].outcome == outcome
        exits = outcomes["universe.exits"]
        assert (exits.outcome, exits.details["exits"]) == ("pass", 15)
