"""Correlation matrices compared with loops."""

from __future__ import annotations

import datetime as dt
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

from tests.research import catalogue
from tests.research.catalogue import BOOK, Curve
from tests.research.conftest import Published
from tests.support import published
from tests.support.application import running
from tests.support.client import ApiClient

FIRST_FIVE = tuple(f"Test_like_{n}" for n in range(5))


def matrix(api: ApiClient, token: str, alphas: Any, **query: str) -> dict[str, Any]:
    rest = "".join(f"&{name.rstrip('_')}={value}" for name, value in query.items())
    data: dict[str, Any] = api.json(f"/v1/correlations?alphas={','.join(alphas)}{rest}", token)["data"]
    return data


def common(one: Curve, other: Curve, first: str = "0001-01-01", last: str = "9999-12-31") -> list[dt.date]:
    return sorted(day for day in one.keys() & other.keys() if first <= day.isoformat() <= last)


@pytest.mark.parametrize("window", [{}, {"from_": "2021-02-01", "to": "2021-04-16"}, {"to": "2021-01-22"}])
def test_correlations_of_returns_match_numpy_and_scipy(
    api: ApiClient, token: str, market: Published, window: dict[str, str]
) -> None:
    alphas = list(market.returns)
    result = matrix(api, token, alphas, **window)
    assert result["alphas"] == alphas
    span = window.get("from_", "0001-01-01"), window.get("to", "9999-12-31")
    for (i, one), (j, other) in itertools.product(enumerate(alphas), repeat=2):
        days = common(market.returns[one], market.returns[other], *span)
        x, y = ([market.returns[alpha][day] for day in days] for alpha in (one, other))
        assert result["observations"][i][j] == len(days)
        pair = f"{alphas[min(i, j)]},{alphas[max(i, j)]}"
        if len(days) < 10 or len(set(x)) == 1 or len(set(y)) == 1:
            assert result["matrix"][i][j] is None
            assert result["withheld"][pair]
            continue
        assert pair not in result["withheld"]
        assert result["matrix"][i][j] == pytest.approx(np.corrcoef(x, y)[0, 1], abs=1e-12)
        assert result["matrix"][i][j] == pytest.approx(stats.pearsonr(x, y).statistic, abs=1e-12)
        assert i != j or result["matrix"][i][j] == 1.0


def test_correlations_of_scores_are_the_mean_of_the_weekly_rank_correlations(
    api: ApiClient, token: str
) -> None:
    result = matrix(api, token, FIRST_FIVE, by="scores", from_="2021-02-01", to="2021-05-31")
    assert result["book"] is None
    frames = [catalogue.decisions(n, 1.0 - n / 5) for n in range(5)]
    weeks = [
        {
            week: {name: x for d, name, x in rows if d == week and x is not None}
            for week in catalogue.WEEKS
            if "2021-02-01" <= week.isoformat() <= "2021-05-31"
        }
        for rows in ([*frame.select("date", "symbol", "score").iter_rows()] for frame in frames)
    ]
    for i, j in itertools.product(range(5), repeat=2):
        weekly = []
        for week, scores in weeks[i].items():
            names = sorted(scores.keys() & weeks[j][week].keys())
            own, other = (
                dict(zip(x, stats.rankdata(list(x.values())), strict=True)) for x in (scores, weeks[j][week])
            )
            rho = stats.pearsonr([own[n] for n in names], [other[n] for n in names]).statistic
            weekly.append(float(rho))
        assert result["observations"][i][j] == len(weekly)
        assert result["matrix"][i][j] == pytest.approx(np.mean(weekly), abs=1e-12)


def test_overlap_of_holdings_averages_sessions_with_holdings_of_both(api: ApiClient, token: str) -> None:
    result = matrix(api, token, FIRST_FIVE, by="holdings")
    books: list[dict[dt.date, dict[str, float]]] = []
    for n in range(5):
        book: dict[dt.date, dict[str, float]] = {}
        for day, name, weight in catalogue.positions(n).select("date", "symbol", "weight").iter_rows():
            book.setdefault(day, {})[name] = weight
        books.append(book)
    for i, j in itertools.product(range(5), repeat=2):
        daily = []
        for day in books[i].keys() & books[j].keys():
            one, other = books[i][day], books[j][day]
            gross = [sum(map(abs, side.values())) for side in (one, other)]
            both = [name for name in one.keys() & other.keys() if one[name] * other[name] > 0]
            daily.append(sum(min(abs(one[n]) / gross[0], abs(other[n]) / gross[1]) for n in both))
        assert result["observations"][i][j] == len(daily)
        assert result["matrix"][i][j] == pytest.approx(np.mean(daily), abs=1e-12)


@pytest.mark.parametrize("by", ["returns", "scores", "holdings"])
def test_an_alpha_that_is_listed_twice_has_exactly_correlation_one(
    api: ApiClient, token: str, by: str
) -> None:
    for alpha in FIRST_FIVE:
        assert matrix(api, token, [alpha, alpha], by=by)["matrix"] == [[1.0, 1.0], [1.0, 1.0]]


@pytest.mark.parametrize("by", ["returns", "scores", "holdings"])
def test_a_run_without_the_data_is_null_with_a_reason(api: ApiClient, token: str, by: str) -> None:
    result = matrix(api, token, ["Test_like_0", "Test_nothing"], by=by)
    assert [row[1] for row in result["matrix"]] == [None, None]
    assert result["matrix"][0][0] == pytest.approx(1.0)
    assert set(result["withheld"]) == {"Test_like_0,Test_nothing", "Test_nothing,Test_nothing"}


@pytest.mark.parametrize("by", ["scores", "holdings"])
def test_a_window_between_the_histories_of_two_runs_is_withheld(tmp_path: Path, by: str) -> None:
    root = tmp_path / "published"
    root.mkdir()
    before, after = pl.col("date") <= catalogue.WEEKS[9], pl.col("date") >= catalogue.WEEKS[-10]
    for alpha, history in (("Test_before", before), ("Test_after", after)):
        kinds: dict[str, Any] = {
            "rebalances": published.rebalances(),
            "decisions": catalogue.decisions(0, 1.0).filter(history),
            "portfolio": {BOOK: catalogue.ledger(dict.fromkeys(catalogue.SESSIONS, 0.001)).filter(history)},
            "positions": {BOOK: catalogue.positions(0).filter(history)},
        }
        published.publish(root, kinds, alpha_id=alpha)
    between = {"from_": catalogue.WEEKS[12].isoformat(), "to": catalogue.WEEKS[14].isoformat()}
    with running(root) as api:
        result = matrix(api, api.key(), ["Test_before", "Test_after"], by=by, **between)
    assert result["matrix"] == [[None, None], [None, None]]
    assert result["observations"] == [[0, 0], [0, 0]]
    assert len(result["withheld"]) == 3


def test_scores_of_different_names_in_the_same_weeks_are_not_called_of_no_common_week(tmp_path: Path) -> None:
    root = tmp_path / "published"
    root.mkdir()
    scored = catalogue.decisions(0, 1.0)
    abroad = scored.with_columns(symbol=pl.col("symbol") + ".L")
    for alpha, rows in (("Test_home", scored), ("Test_abroad", abroad)):
        published.publish(root, {"rebalances": published.rebalances(), "decisions": rows}, alpha_id=alpha)
    with running(root) as api:
        result = matrix(api, api.key(), ["Test_home", "Test_abroad"], by="scores")
    assert result["withheld"] == {
        "Test_home,Test_abroad": "comparable weeks in the window: 0; the figure needs at least 1"
    }


def test_a_forbidden_alpha_in_a_list_is_refused_like_a_missing_one(
    api: ApiClient,
) -> None:
    limited = api.key(alphas="prefix:Test_", runs="prefix:Test_")
    for path in ("/v1/correlations?alphas=Test_like_0,{}", "/v1/alphas/Test_like_0/contribution?alphas={}"):
        named = ("Prod_secret", "Prod_absent")
        answers = [api.get(path.format(name), limited, headers={"x-request-id": "same"}) for name in named]
        assert {answer.status_code for answer in answers} == {403}
        assert answers[0].json()["error"]["code"] == "run_not_allowed"
        assert "Prod_secret" in answers[0].json()["error"]["message"]
        assert answers[0].text.replace(*named) == answers[1].text
        missing = api.get(path.format("Test_absent"), limited)
        assert (missing.status_code, missing.json()["error"]["code"]) == (404, "run_not_found")
        assert "Test_absent" in missing.json()["error"]["message"]


def test_an_unknown_book_is_refused_with_the_existing_ones(api: ApiClient, token: str) -> None:
    answer = api.get("/v1/correlations?alphas=Test_like_0,Test_nothing&book=long_only", token)
    assert answer.status_code == 400
    assert answer.json()["error"]["details"] == {"available": [BOOK]}
