"""The neighbour search by estimates and in double precision, compared with a loop over all pairs."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from datasets.figures.daily_returns import DailyReturns, common_days, correlation
from datasets.figures.series import Window, is_constant
from datasets.figures.similarity import ORDERS
from serve.research.nearest import Nearest, Order, estimate, search
from serve.research.returns_matrix import MatrixDamaged, ReturnsMatrix, load
from tests.maths.panels import check

EPOCH = dt.date(1970, 1, 1)
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
        # Constant for long stretches, so that many windows have no variation.
        "steps": lambda day, _: float((day - FIRST) // 90) * 0.01,
    }.get(kind, lambda _, x: x)
    values = {day: changed(day, x) for day, x in values.items() if chosen(day)}
    if kind == "weekends":
        values |= {day: draw.normal(0, 0.01) for day in range(FIRST, FIRST + SPAN, 6)}
    ordered = sorted(values)
    return DailyReturns(np.array(ordered, np.int32), np.array([values[day] for day in ordered]))


def oracle(
    own: DailyReturns, others: dict[str, DailyReturns], window: Window, *, order: str
) -> tuple[list[tuple[str, float, int]], dict[str, int]]:
    rows, excluded = [], {"too_few": 0, "no_variation": 0}

    def inside(series: DailyReturns) -> dict[int, float]:
        return {
            day: x
            for day, x in zip(series.days.tolist(), series.values.tolist(), strict=True)
            if (window.first is None or EPOCH + dt.timedelta(day) >= window.first)
            and (window.last is None or EPOCH + dt.timedelta(day) <= window.last)
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
    rows.sort(key=lambda row: (-float(ORDERS[order](np.array(round(row[1], 12)))), row[0]))
    return rows, excluded


def arranged(others: dict[str, DailyReturns], parts: int = 1) -> list[ReturnsMatrix]:
    """Spread the series over some matrices."""
    names = sorted(others)
    chosen = [names[n::parts] for n in range(parts)]
    return [ReturnsMatrix.of({(name, "s"): others[name] for name in part}) for part in chosen if part]


def find(
    own: DailyReturns,
    others: dict[str, DailyReturns],
    *,
    without: str = "",
    order: str = "nearest",
    limit: int = 100,
    offset: int = 0,
    parts: int = 1,
) -> Nearest:
    matrices = arranged(others, parts)
    keys = [name for matrix in matrices for name, _ in matrix.keys]
    wanted = np.array([name != without for name in keys], np.bool_)
    return search(own, matrices, wanted, Order(order, limit, offset))


@check
@given(
    st.integers(0, 2**32 - 1),
    st.lists(st.sampled_from(KINDS), min_size=1, max_size=30),
    st.sampled_from(KINDS),
    st.tuples(st.integers(-20, SPAN), st.integers(1, SPAN + 40)),
    st.sampled_from(sorted(ORDERS)),
    st.integers(1, 3),
    st.tuples(st.integers(1, 12), st.integers(0, 12)),
)
def test_the_search_matches_a_loop(
    seed: int,
    kinds: list[str],
    own_kind: str,
    span: tuple[int, int],
    order: str,
    parts: int,
    page: tuple[int, int],
) -> None:
    draw = np.random.default_rng(seed)
    common = {day: float(draw.normal(0, 0.01)) for day in weekdays()}
    others = {f"A{n:02d}": alpha(kind, draw, common) for n, kind in enumerate(kinds)}
    own = alpha(own_kind, draw, common)
    start, length = span
    days = [dt.date(1970, 1, 1) + dt.timedelta(days=FIRST + n) for n in (start, start + length)]
    window = Window(*(None if draw.random() < 0.3 else day for day in days))
    size, offset = page
    actual = find(
        own.within(window), others, without="A00", order=order, limit=size, offset=offset, parts=parts
    )
    del others["A00"]
    rows, excluded = oracle(own, others, window, order=order)
    assert actual.excluded == excluded
    assert actual.compared == len(rows)
    expected = rows[offset : offset + size]
    assert [row.figure for row in actual.page] == pytest.approx([x for _, x, _ in expected], abs=1e-12)
    if len({round(x, 11) for _, x, _ in rows}) == len(rows):
        assert [(row.alpha_id, row.observations) for row in actual.page] == [(x, n) for x, _, n in expected]


@check
@given(st.integers(0, 2**32 - 1), st.integers(2, 300), st.integers(0, 100))
def test_estimates_stay_within_their_error_bound(seed: int, length: int, start: int) -> None:
    draw = np.random.default_rng(seed)
    common = {day: float(draw.normal(0, 0.01)) for day in weekdays()}
    scale = 10.0 ** draw.uniform(-3, 3)
    others = [alpha(KINDS[n % len(KINDS)], draw, common) for n in range(40)]
    base = alpha("plain", draw, common)
    first = dt.date(1970, 1, 1) + dt.timedelta(days=FIRST + start)
    window = Window(first, first + dt.timedelta(days=length))
    own = DailyReturns(base.days, base.values * scale + draw.choice([0.0, 0.3])).within(window)
    (matrix,) = arranged({f"A{n:02d}": series for n, series in enumerate(others)})
    correlation, error, observations = estimate(own, matrix)
    for row, series in enumerate(others):
        rows, excluded = oracle(own, {"": series}, window, order="nearest")
        assert (observations[row] < 10) == bool(excluded["too_few"])
        assert not rows or rows[0][2] == observations[row]
        if np.isfinite(error[row]) and observations[row] >= 10:
            assert rows, "an estimate of what has no figure"
            assert abs(correlation[row] - rows[0][1]) <= error[row]


def test_estimates_leave_few_candidates() -> None:
    draw = np.random.default_rng(5)
    common = {day: float(draw.normal(0, 0.01)) for day in weekdays()}
    (matrix,) = arranged({f"A{n:03d}": alpha("plain", draw, common) for n in range(200)})
    assert estimate(alpha("plain", draw, common), matrix).error.max() < 1e-3


@pytest.mark.parametrize("size", [0.0, 5e-324, 1e-300, 1.0, 1e6, 1e12])
def test_returns_of_any_scale_are_ordered_like_a_loop(size: float) -> None:
    draw = np.random.default_rng(6)
    common = {day: float(draw.normal(0, 0.01)) for day in weekdays()}
    others = {f"A{n}": alpha("plain", draw, common) for n in range(6)}
    odd = DailyReturns(others["A0"].days, others["A0"].values * size)
    for own, beside in ((others["A1"], others | {"A9": odd}), (odd, others)):
        result = find(own, beside, limit=3)
        rows, excluded = oracle(own, beside, Window(), order="nearest")
        assert result.excluded == excluded
        assert [x.figure for x in result.page] == pytest.approx([x for _, x, _ in rows[:3]], abs=1e-12)


@check
@given(st.integers(0, 2**32 - 1), st.integers(10, SPAN), st.integers(0, 120), st.sampled_from(sorted(ORDERS)))
def test_batched_and_single_figures_are_identical(seed: int, length: int, start: int, order: str) -> None:
    draw = np.random.default_rng(seed)
    common = {day: float(draw.normal(0, 0.01)) for day in weekdays()}
    others = {f"A{n:02d}": alpha(KINDS[n % len(KINDS)], draw, common) for n in range(60)}
    first = dt.date(1970, 1, 1) + dt.timedelta(days=FIRST + start)
    window = Window(first, first + dt.timedelta(days=length))
    own = alpha("plain", draw, common).within(window)
    result = find(own, others, order=order)
    for row in result.page:
        other = others[row.alpha_id].within(window)
        alone = correlation(*common_days(own.days, own.values, other.days, other.values))
        assert row.figure == alone, "to the last bit"


def test_a_saved_matrix_round_trips(tmp_path: Path) -> None:
    draw = np.random.default_rng(8)
    common = {day: float(draw.normal(0, 0.01)) for day in weekdays()}
    others = {kind: alpha(kind, draw, common) for kind in KINDS}
    (made,) = arranged(others)
    folder = made.save(tmp_path)
    saved = load(folder)
    assert list(saved.keys) == list(made.keys) == [(name, "s") for name in sorted(others)]
    for row, (name, _) in enumerate(saved.keys):
        assert np.array_equal(saved.returns(row).days, others[name].days)
        assert np.array_equal(saved.returns(row).values, others[name].values)
    assert np.array_equal(saved.scaled, made.scaled)
    assert list(tmp_path.iterdir()) == [folder]


@pytest.mark.parametrize("name", ["values.npy", "scaled.npy", "days.npy", "rows.npy", "index.json"])
@pytest.mark.parametrize("harm", ["flip", "cut", "empty", "gone"])
def test_a_damaged_matrix_is_not_used(tmp_path: Path, name: str, harm: str) -> None:
    draw = np.random.default_rng(9)
    (made,) = arranged({f"A{n}": alpha("plain", draw, dict.fromkeys(weekdays(), 0.0)) for n in range(3)})
    folder = made.save(tmp_path)
    path = folder / name
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes({"flip": bytes(data), "cut": bytes(data)[:-9], "empty": b"", "gone": b""}[harm])
    if harm == "gone":
        path.unlink()
    with pytest.raises(MatrixDamaged):
        load(folder)


def test_ties_are_ordered_by_address() -> None:
    draw = np.random.default_rng(3)
    common = {day: float(draw.normal(0, 0.01)) for day in weekdays()}
    twin = alpha("twin", draw, common)
    names = [f"T{n:02d}" for n in draw.permutation(40)]
    twins = dict.fromkeys(names, twin)
    own = alpha("plain", draw, common)

    def page(limit: int, offset: int) -> Nearest:
        return find(own, twins, without="T07", limit=limit, offset=offset)

    expected = sorted(set(names) - {"T07"})
    assert [x.alpha_id for x in page(100, 0).page] == expected
    assert [x.alpha_id for n in range(0, 39, 5) for x in page(5, n).page] == expected
    assert page(5, 39).page == []
    assert math.isclose(page(1, 0).page[0].figure, page(1, 38).page[0].figure, abs_tol=0)


def test_a_search_has_no_side_effects() -> None:
    draw = np.random.default_rng(10)
    others = {f"A{n}": alpha("plain", draw, dict.fromkeys(weekdays(), 0.0)) for n in range(4)}
    matrices = arranged(others)
    for matrix in matrices:
        matrix.values.flags.writeable = matrix.scaled.flags.writeable = False
    first, second = (
        search(others["A0"], matrices, np.ones(4, np.bool_), Order("nearest", 4, 0)) for _ in range(2)
    )
    assert first == second
