from __future__ import annotations

import datetime as dt
import math
from typing import Any

import empyrical
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from datasets.figures.equity import (
    equity_curve,
    equity_summary,
    period_returns,
    solvent_returns,
)
from datasets.figures.price import price_curve, price_summary
from datasets.figures.series import Dates, Floats
from datasets.figures.unavailable import Unavailable
from tests.maths.panels import check, ledger

NULL = math.nan
returns_lists = st.lists(st.floats(-0.4, 0.6), min_size=1, max_size=40)


def series(*values: float) -> Floats:
    return np.array(values, dtype=np.float64)


def days(count: int) -> Dates:
    return np.datetime64("2020-01-30") + np.arange(count)


def summarise(dates: Dates, starting: Floats, ending: Floats) -> dict[str, Any]:
    return equity_summary(dates, starting, ending, equity_curve(starting, ending))


@check
@given(
    st.lists(
        st.tuples(
            st.sampled_from([NULL, 0.0, 0.5, 1.0, 1.5, -0.25]), st.sampled_from([NULL, 0.0, 0.75, 1.0, 2.0])
        ),
        max_size=20,
    )
)
def test_every_column_matches_a_loop_over_sessions(sessions: list[tuple[float, float]]) -> None:
    starting, ending = (series(*column) for column in (zip(*sessions, strict=True) if sessions else ((), ())))
    curve = equity_curve(starting, ending)
    growth, peak = 1.0, NULL
    for i, (start, end) in enumerate(sessions):
        period = (end - start) / start if start > 0 else NULL
        if start <= 0:
            growth = NULL
        if not math.isnan(period):
            growth *= 1 + period
        for equity in (start, end):
            if not equity <= peak and not math.isnan(equity):
                peak = equity
        expected = {
            "period_return": period,
            "cumulative_return": NULL if math.isnan(period) else growth - 1,
            "peak_equity": peak,
            "drawdown": peak - end,
            "drawdown_pct": (peak - end) / peak * 100 if peak > 0 else NULL,
        }
        for name, value in expected.items():
            assert getattr(curve, name)[i] == pytest.approx(value, nan_ok=True), (name, i)


@check
@given(
    st.lists(
        st.tuples(
            st.sampled_from([NULL, 0.0, 1.0, 1.5, -0.25]), st.sampled_from([NULL, 0.0, 0.75, 1.0, 2.0])
        ),
        min_size=1,
        max_size=20,
    ),
    st.data(),
)
def test_a_window_of_sessions_is_summarised_by_its_own_curve(
    rows: list[tuple[float, float]], data: st.DataObject
) -> None:
    starting, ending = (series(*column) for column in zip(*rows, strict=True))
    start = data.draw(st.integers(0, len(rows) - 1))
    end = data.draw(st.integers(start, len(rows)))
    dates = days(len(rows))[start:end]
    expected = equity_curve(starting[start:end], ending[start:end])
    summary = summarise(dates, starting[start:end], ending[start:end])
    known = expected.drawdown_pct[~np.isnan(expected.drawdown_pct)].tolist()
    deepest = max(known, default=None)
    assert summary["max_drawdown_pct"] == deepest
    if deepest is None:
        assert summary["max_drawdown_date"] is None
    else:
        assert summary["max_drawdown_date"] == dates[expected.drawdown_pct.tolist().index(deepest)].item()
    in_debt = any(start <= 0 for start in starting[start:end])
    compound = [x for x in expected.cumulative_return.tolist() if not math.isnan(x) and not in_debt]
    assert summary["cumulative_return_pct"] == (compound[-1] * 100 if compound else None)


def test_a_session_with_unknown_opening_equity_has_no_return_and_compounding_continues() -> None:
    curve = equity_curve(series(1.0, NULL, 1.0), series(1.1, 1.0, 1.2))
    assert curve.period_return == pytest.approx([0.1, NULL, 0.2], nan_ok=True)
    assert curve.cumulative_return == pytest.approx([0.1, NULL, 0.32], nan_ok=True)


@pytest.mark.parametrize("equity", [0.0, -2.0])
def test_negative_equity_ends_returns_and_compounding(equity: float) -> None:
    curve = equity_curve(series(1.0, equity, 1.0), series(equity, 1.0, 1.2))
    assert curve.period_return == pytest.approx([equity - 1.0, NULL, 0.2], nan_ok=True)
    assert curve.cumulative_return == pytest.approx([equity - 1.0, NULL, NULL], nan_ok=True)
    assert curve.drawdown == pytest.approx([1.0 - equity, 0.0, 0.0])


def test_falling_negative_equity_has_no_positive_return() -> None:
    equity = np.array([1.0, -1.0, -2.0, -4.0, -6.0])
    starting, ending = equity[:-1], equity[1:]
    assert period_returns(starting, ending) == pytest.approx([-2.0, NULL, NULL, NULL], nan_ok=True)
    summary = summarise(days(4), starting, ending)
    assert (summary["total_return"], summary["cumulative_return_pct"]) == (-7.0, None)
    assert (summary["max_drawdown"], summary["max_drawdown_pct"]) == (7.0, 700.0)
    withheld = solvent_returns(starting, ending)
    assert isinstance(withheld, Unavailable)
    assert (withheld.code, "3 of 4 sessions" in withheld.text) == ("nonpositive_equity", True)


def test_opening_equity_counts_towards_the_peak() -> None:
    curve = equity_curve(series(2.0, 1.0), series(1.0, 1.5))
    assert curve.peak_equity.tolist() == [2.0, 2.0]
    assert curve.drawdown_pct.tolist() == [50.0, 25.0]


@check
@given(returns_lists)
def test_compounding_and_drawdown_match_empyrical(returns: list[float]) -> None:
    starting, ending = ledger(returns)
    curve = equity_curve(starting, ending)
    np.testing.assert_allclose(
        curve.cumulative_return, empyrical.cum_returns(np.array(returns)), rtol=1e-9, atol=1e-12
    )
    assert -curve.drawdown_pct.max() / 100 == pytest.approx(
        empyrical.max_drawdown(np.array(returns)), abs=1e-12
    )


@check
@given(returns_lists)
def test_the_last_compounded_return_is_the_total_one(returns: list[float]) -> None:
    starting, ending = ledger(returns)
    summary = summarise(days(len(returns)), starting, ending)
    assert summary["total_return"] is not None
    assert summary["cumulative_return_pct"] == pytest.approx(
        summary["total_return"] * 100, rel=1e-9, abs=1e-9
    )


@check
@given(returns_lists, st.sampled_from([0.25, 1e6]))
def test_scaling_equity_scales_money_and_keeps_ratios(returns: list[float], unit: float) -> None:
    starting, ending = ledger(returns)
    one, other = equity_curve(starting, ending), equity_curve(starting * unit, ending * unit)
    np.testing.assert_allclose(other.drawdown, one.drawdown * unit, rtol=1e-9, atol=unit * 1e-12)
    np.testing.assert_allclose(other.drawdown_pct, one.drawdown_pct, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(other.cumulative_return, one.cumulative_return, rtol=1e-9, atol=1e-12)


def test_the_summary_of_a_window_by_hand() -> None:
    summary = summarise(days(4), series(1.0, 2.0, 1.0, 3.0), series(2.0, 1.0, 3.0, 1.5))
    assert summary == {
        "first_date": dt.date(2020, 1, 30),
        "last_date": dt.date(2020, 2, 2),
        "sessions": 4,
        "starting_equity": 1.0,
        "ending_equity": 1.5,
        "peak_equity": 3.0,
        "total_return": 0.5,
        "cumulative_return_pct": 50.0,
        "max_drawdown": 1.5,
        "max_drawdown_pct": 50.0,
        "max_drawdown_date": dt.date(2020, 1, 31),  # the percentage peaks here, the amount only later
    }


def test_an_empty_window_has_an_empty_summary() -> None:
    none = series()
    for summary in (summarise(days(0), none, none), price_summary(days(0), none, none)):
        assert summary.pop("sessions") == 0
        assert set(summary.values()) == {None}
    assert equity_curve(none, none).drawdown.size == price_curve(none).drawdown.size == 0


def test_a_window_of_unknown_equity_counts_its_sessions_only() -> None:
    summary = summarise(days(2), series(NULL, NULL), series(NULL, NULL))
    assert summary["sessions"] == 2
    assert summary["total_return"] is None
    assert summary["max_drawdown"] is None
    assert summary["max_drawdown_date"] is None


def test_a_price_curve_starts_at_zero_without_a_period_return() -> None:
    curve = price_curve(series(100.0, 110.0, 99.0))
    assert curve.period_return == pytest.approx([NULL, 0.1, -0.1], nan_ok=True)
    assert curve.cumulative_return == pytest.approx([0.0, 0.1, -0.01])
    assert curve.drawdown_pct == pytest.approx([0.0, 0.0, 10.0])


@check
@given(returns_lists)
def test_a_price_and_a_ledger_that_follows_it_agree(returns: list[float]) -> None:
    starting, ending = ledger(returns)
    close = np.concatenate([starting[:1], ending])
    price, equity = (
        price_summary(days(close.size), close, close),
        summarise(days(ending.size), starting, ending),
    )
    assert price["total_return"] == equity["total_return"]
    assert price["max_drawdown_pct"] == equity["max_drawdown_pct"]
    assert (
        price_curve(close).cumulative_return[1:].tolist()
        == equity_curve(starting, ending).cumulative_return.tolist()
    )
    assert (price["first_close"], price["last_close"], price["sessions"]) == (close[0], close[-1], close.size)


def test_a_drawdown_date_is_a_day_even_for_timestamps() -> None:
    midnights: Dates = days(2).astype("datetime64[us]")
    instants = midnights + np.timedelta64(20, "h")
    assert price_summary(instants, series(2.0, 1.0), series(2.0, 1.0))["max_drawdown_date"] == dt.date(
        2020, 1, 31
    )


@pytest.mark.parametrize("opening", [0.0, NULL])
def test_a_return_on_zero_equity_is_null(opening: float) -> None:
    assert np.isnan(period_returns(series(opening), series(1.0))).all()
