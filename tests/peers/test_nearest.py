"""The search in rounded returns and its refinements, against one plain loop over all pairs."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from datasets.maths.correlation import common_days, correlation
from datasets.maths.series import is_constant
from datasets.run_metrics.window import Window
from serve.peers.estimates import Estimates
from serve.peers.nearest import Nearest, Pool, search
from serve.peers.returns import DailyReturns, iso
from serve.peers.returns_file import ReturnsFile
from serve.peers.rounded_returns import RoundedReturns
from tests.maths.panels import check

FIRST = int((np.datetime64("2019-12-30") - np.datetime64("1970-01-01")).astype(int))  # a Monday
SPAN = 260
"""Calendar days that the made-up alphas may trade on."""
KINDS = (
    "plain",
    "late",
    "early",
    "holes",
    "weekends",
    "flat",
    "tiny",
    "huge",
    "twin",
    "steps",
    "empty_middle",
)


def weekdays() -> list[int]:
    return [day for day in range(FIRST, FIRST + SPAN) if (day - FIRST) % 7 < 5]


def alpha(kind: str, draw: np.random.Generator, common: dict[int, float]) -> DailyReturns:
    days = weekdays()
    share, edge = draw.uniform(-1, 1), FIRST + int(draw.integers(1, SPAN))
    values = {day: share * common[day] + draw.normal(0, 0.01) for day in days}
    chosen: Callable[[int], bool] = {
        "late": lambda day: day >= edge,
        "early": lambda day: day <= edge,
        "holes": lambda _: draw.random() > 0.3,
        "empty_middle": lambda day: not 60 < day - FIRST < 180,
    }.get(kind, lambda _: True)
    changed: Callable[[int, float], float] = {
        "flat": lambda _, __: 0.001,
        "tiny": lambda _, x: x * 1e-9,
        "huge": lambda _, x: x * 10.0 ** draw.integers(0, 9),
        "twin": lambda day, _: common[day],
        # Constant for long stretches, so that many a window has no variation.
        "steps": lambda day, _: float((day - FIRST) // 90) * 0.01,
    }.get(kind, lambda _, x: x)
    values = {day: changed(day, x) for day, x in values.items() if chosen(day)}
    if kind == "weekends":
        values |= {day: draw.normal(0, 0.01) for day in range(FIRST, FIRST + SPAN, 6)}
    ordered = sorted(values)
    return DailyReturns(np.array(ordered, np.int32), np.array([values[day] for day in ordered]))


def oracle(
    own: DailyReturns, others: dict[str, DailyReturns], window: Window, *, farthest: bool
) -> tuple[list[tuple[str, float, int]], dict[str, int]]:
    rows, excluded = [], {"too_few": 0, "no_variation": 0}

    def inside(series: DailyReturns) -> dict[int, float]:
        return {
            day: x
            for day, x in zip(series.days.tolist(), series.values.tolist(), strict=True)
            if (window.first is None or iso(day) >= window.first.isoformat())
            and (window.last is None or iso(day) <= window.last.isoformat())
        }

    mine = inside(own)
    for name, series in others.items():
        theirs = inside(series)
        days = sorted(mine.keys() & theirs.keys())
        x, y = (np.array([side[day] for day in days]) for side in (mine, theirs))
        if len(days) < 10:
            excluded["too_few"] += 1
        elif is_constant(x) or is_constant(y):
            excluded["no_variation"] += 1
        else:
            rows.append((name, float(np.corrcoef(x, y)[0, 1]), len(days)))
    sign = 1 if farthest else -1
    rows.sort(key=lambda row: (sign * round(row[1], 12), row[0]))
    return rows, excluded


def pool_of(file: ReturnsFile, others: dict[str, DailyReturns], limit: int, *, narrow: bool) -> Pool:
    names = sorted(others)
    records = [file.append(name, "s", others[name]) for name in names]
    first = FIRST + (40 if narrow else 0)
    rounded = RoundedReturns(first, FIRST + SPAN, len(names), limit)
    rows = [rounded.add(others[name]) for name in names]
    return Pool(names, records, file, rounded, np.array([-1 if row is None else row for row in rows]))


@check
@given(
    st.integers(0, 2**32 - 1),
    st.lists(st.sampled_from(KINDS), min_size=1, max_size=30),
    st.sampled_from(KINDS),
    st.tuples(st.integers(-20, SPAN), st.integers(1, SPAN + 40)),
    st.booleans(),
    st.booleans(),
    st.sampled_from([0, 12_000, 10**8]),
    st.tuples(st.integers(1, 12), st.integers(0, 12)),
)
def test_it_finds_what_a_plain_loop_finds(
    seed: int,
    kinds: list[str],
    own_kind: str,
    span: tuple[int, int],
    farthest: bool,
    narrow: bool,
    limit: int,
    page: tuple[int, int],
) -> None:
    draw = np.random.default_rng(seed)
    common = {day: float(draw.normal(0, 0.01)) for day in weekdays()}
    others = {f"A{n:02d}": alpha(kind, draw, common) for n, kind in enumerate(kinds)}
    own = alpha(own_kind, draw, common)
    start, length = span
    days = [dt.date(1970, 1, 1) + dt.timedelta(days=FIRST + n) for n in (start, start + length)]
    window = Window(*(None if draw.random() < 0.3 else day for day in days))
    pool = pool_of(ReturnsFile(None), others, limit, narrow=narrow)
    size, offset = page
    found = search(
        own.within(window), window, pool, without="A00", farthest=farthest, limit=size, offset=offset
    )
    del others["A00"]
    rows, excluded = oracle(own, others, window, farthest=farthest)
    assert found.excluded == excluded
    assert found.compared == len(rows)
    expected = rows[offset : offset + size]
    assert [row.figure for row in found.page] == pytest.approx([x for _, x, _ in expected], abs=1e-12)
    if len({round(x, 11) for _, x, _ in rows}) == len(rows):
        assert [(row.alpha_id, row.observations) for row in found.page] == [(x, n) for x, _, n in expected]


@check
@given(st.integers(0, 2**32 - 1), st.integers(2, 300), st.integers(0, 100))
def test_no_estimate_is_further_from_the_truth_than_it_says(seed: int, length: int, start: int) -> None:
    draw = np.random.default_rng(seed)
    common = {day: float(draw.normal(0, 0.01)) for day in weekdays()}
    scale = 10.0 ** draw.uniform(-3, 3)
    others = [alpha(KINDS[n % len(KINDS)], draw, common) for n in range(40)]
    rounded = RoundedReturns(FIRST, FIRST + SPAN, 40, 10**8)
    placed = [(row, x) for x in others if (row := rounded.add(x)) is not None]
    base = alpha("plain", draw, common)
    first = dt.date(1970, 1, 1) + dt.timedelta(days=FIRST + start)
    window = Window(first, first + dt.timedelta(days=length))
    own = DailyReturns(base.days, base.values * scale + draw.choice([0.0, 0.3])).within(window)
    estimates = Estimates(rounded, own)
    every = np.arange(rounded.used)
    eight, sixteen = estimates.of_all(), estimates.of(every)
    assert np.array_equal(estimates.of(every[::-1]).error[::-1], sixteen.error), "of any rows in any order"
    for row, series in placed:
        rows, excluded = oracle(own, {"": series}, window, farthest=False)
        if estimates.observations[row] >= 0:
            few = estimates.observations[row] < 10
            assert few == bool(excluded["too_few"])
            assert few or not rows or rows[0][2] == estimates.observations[row]
        for known in (eight, sixteen):
            if np.isfinite(known.error[row]) and estimates.observations[row] >= 10:
                assert rows, "an estimate of what has no figure"
                assert abs(known.correlation[row] - rows[0][1]) <= known.error[row]
                assert known.error[row] < 0.5


def test_estimates_are_close_enough_to_leave_few() -> None:
    draw = np.random.default_rng(5)
    common = {day: float(draw.normal(0, 0.01)) for day in weekdays()}
    rounded = RoundedReturns(FIRST, FIRST + SPAN, 200, 10**8)
    for _ in range(200):
        rounded.add(alpha("plain", draw, common))
    estimates = Estimates(rounded, alpha("plain", draw, common))
    eight, sixteen = estimates.of_all().error, estimates.of(np.arange(200)).error
    assert eight.max() < 0.2, "of half a year, whose ends lie beside whole blocks"
    assert sixteen.max() < 1e-4


@pytest.mark.parametrize("size", [0.0, 5e-324, 1e-300, 1.0, 1e6, 1e12])
def test_returns_of_any_size_are_ordered_as_a_plain_loop_orders_them(size: float) -> None:
    draw = np.random.default_rng(6)
    common = {day: float(draw.normal(0, 0.01)) for day in weekdays()}
    others = {f"A{n}": alpha("plain", draw, common) for n in range(6)}
    odd = DailyReturns(others["A0"].days, others["A0"].values * size)
    for own, beside in ((others["A1"], others | {"A9": odd}), (odd, others)):
        pool = pool_of(ReturnsFile(None), beside, 10**8, narrow=False)
        found = search(own, Window(), pool, without="", farthest=False, limit=3, offset=0)
        rows, excluded = oracle(own, beside, Window(), farthest=False)
        assert found.excluded == excluded
        assert [x.figure for x in found.page] == pytest.approx([x for _, x, _ in rows[:3]], abs=1e-12)


@check
@given(st.integers(0, 2**32 - 1), st.integers(10, SPAN), st.integers(0, 120), st.booleans())
def test_many_at_once_have_the_very_figures_of_each_alone(
    seed: int, length: int, start: int, farthest: bool
) -> None:
    draw = np.random.default_rng(seed)
    common = {day: float(draw.normal(0, 0.01)) for day in weekdays()}
    others = {f"A{n:02d}": alpha(KINDS[n % len(KINDS)], draw, common) for n in range(60)}
    first = dt.date(1970, 1, 1) + dt.timedelta(days=FIRST + start)
    window = Window(first, first + dt.timedelta(days=length))
    own = alpha("plain", draw, common).within(window)
    pool = pool_of(ReturnsFile(None), others, 10**8, narrow=False)
    found = search(own, window, pool, without="", farthest=farthest, limit=100, offset=0)
    for row in found.page:
        other = others[row.alpha_id].within(window)
        alone = correlation(*common_days(own.days, own.values, other.days, other.values))
        assert row.figure == alone, "to the last bit"


def test_the_returns_of_a_name_are_those_of_the_snapshot_asked_for() -> None:
    draw = np.random.default_rng(8)
    others = {f"A{n}": alpha("plain", draw, dict.fromkeys(weekdays(), 0.0)) for n in range(3)}
    pool = pool_of(ReturnsFile(None), others, 10**8, narrow=False)
    found = pool.returns("A1", "s")
    assert found is not None
    assert np.array_equal(found.days, others["A1"].days)
    assert np.array_equal(found.values, others["A1"].values)
    assert pool.returns("A1", "another") is None
    assert pool.returns("A", "s") is pool.returns("A9", "s") is None


def test_alphas_that_are_alike_to_the_last_digit_come_by_address(tmp_path: Path) -> None:
    draw = np.random.default_rng(3)
    common = {day: float(draw.normal(0, 0.01)) for day in weekdays()}
    twin = alpha("twin", draw, common)
    names = [f"T{n:02d}" for n in draw.permutation(40)]
    pool = pool_of(ReturnsFile(tmp_path / "file"), dict.fromkeys(names, twin), 10**8, narrow=False)
    own = alpha("plain", draw, common)

    def page(limit: int, offset: int) -> Nearest:
        return search(own, Window(), pool, without="T07", farthest=False, limit=limit, offset=offset)

    expected = sorted(set(names) - {"T07"})
    assert [x.alpha_id for x in page(100, 0).page] == expected
    assert [x.alpha_id for n in range(0, 39, 5) for x in page(5, n).page] == expected
    assert page(5, 39).page == []
    assert math.isclose(page(1, 0).page[0].figure, page(1, 38).page[0].figure, abs_tol=0)
