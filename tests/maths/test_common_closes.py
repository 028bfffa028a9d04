"""Returns between common closes, compared with a loop over equities."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from datasets.figures.daily_returns import between_common_closes
from datasets.figures.series import Floats
from tests.maths.panels import check

Days = npt.NDArray[np.int32]
book = st.dictionaries(st.integers(0, 40), st.floats(-0.5, 0.5), min_size=1, max_size=40)


def pair(returns: dict[int, float]) -> tuple[Days, Floats]:
    return days_of(*sorted(returns)), np.array([returns[day] for day in sorted(returns)])


def days_of(*days: int) -> Days:
    return np.array(days, np.int32)


@check
@given(st.lists(book, min_size=1, max_size=4))
def test_every_return_is_the_change_of_equity_between_common_closes(books: list[dict[int, float]]) -> None:
    result = between_common_closes([pair(x) for x in books])
    common = sorted(set.intersection(*map(set, books)))
    assert result.days.tolist() == common
    for row, returns in enumerate(books):
        equity, closes, opening = 1.0, {}, {}
        for day in sorted(returns):
            opening[day] = equity
            equity *= 1 + returns[day]
            closes[day] = equity
        before = None
        for place, day in enumerate(common):
            base = opening[day] if before is None else closes[before]
            assert result.returns[row, place] == pytest.approx(closes[day] / base - 1, rel=1e-9, abs=1e-12)
            before = day
        inside = [day for day in returns if common and common[0] <= day <= common[-1]]
        assert result.sessions[row] == len(returns)
        assert result.merged[row] == len(inside) - len(common)
        assert result.dropped[row] == len(returns) - len(inside)


@check
@given(book, st.integers(1, 4))
def test_books_of_one_calendar_keep_their_returns_exactly(returns: dict[int, float], books: int) -> None:
    days, values = pair(returns)
    result = between_common_closes([(days, values / (n + 1)) for n in range(books)])
    for n in range(books):
        assert result.returns[n].tobytes() == (values / (n + 1)).tobytes()
    assert not result.merged.any()
    assert not result.dropped.any()


def test_returns_of_unshared_days_are_in_the_next_common_close() -> None:
    daily = (days_of(0, 1, 2, 3, 4), np.array([-0.05, 0.2, -0.05, 0.2, -0.05]))
    other = (days_of(0, 2, 4), np.zeros(3))
    result = between_common_closes([daily, other])
    assert result.returns[0] == pytest.approx([-0.05, 0.14, 0.14])
    assert np.prod(1 + result.returns[0]) == pytest.approx(np.prod(1 + daily[1]))
    assert result.merged.tolist() == [2, 0]


def test_books_without_a_common_day_have_no_returns() -> None:
    result = between_common_closes([(days_of(1, 2), np.zeros(2)), (days_of(3), np.zeros(1))])
    assert result.returns.shape == (2, 0)
    assert result.dropped.tolist() == [2, 1]
