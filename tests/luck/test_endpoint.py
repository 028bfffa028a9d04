"""The luck endpoint."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import datasets
from datasets.figures.overfitting import cluster_trials, effective_trials, overfitting
from datasets.figures.series import Matrix
from datasets.figures.sharpe import (
    SharpeMoments,
    deflated_sharpe,
    expected_maximum_sharpe,
    minimum_track_record,
    probabilistic_sharpe,
    run_deviation,
    sharpe_moments,
)
from pipeline.snapshot_builder import build_seal
from schemas.endpoints import ENDPOINTS
from schemas.objects.luck import BANDED
from tests.support import seals
from tests.support.application import running
from tests.support.client import ApiClient
from tests.support.conformance import data_of

ALPHA = "Test_luck"
OTHER = "Test_other"
UNSEALED = "Test_unsealed"
SEARCHED = "Test_searched"
LACKING: dict[str, dict[str, Any]] = {
    "Test_no_ledger": {"without_kinds": {"portfolio", "positions", "pnl", "trades"}},
    "Test_no_decisions": {"without_kinds": {"decisions"}},
    "Test_nothing": {
        "without_kinds": {"decisions", "rebalances", "portfolio", "positions", "pnl", "trades"},
        "metrics": False,
    },
}
LEDGER_BANDS = {"sharpe", "excess_sharpe", "annualised_return", "volatility", "pnl"}
LEDGER_BANDS |= {"max_drawdown", "max_drawdown_pct", "turnover"}
ALPHAS: dict[str, dict[str, Any]] = {
    ALPHA: {},
    OTHER: {"description": False},
    UNSEALED: {"metrics": False},
    SEARCHED: {"tried": (1.0, 4.0, 8.0)},
    **LACKING,
}
YEAR = 252


def path(alpha: str = ALPHA, **query: Any) -> str:
    requested = "&".join(f"{name}={value}" for name, value in query.items())
    return f"/v1/alphas/{alpha}/luck?{requested}"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("luck")
    for alpha, changes in ALPHAS.items():
        build_seal(str(seals.make_seal(folder / "seals", alpha_id=alpha, **changes)), folder / "root")
    return folder / "root"


@pytest.fixture(scope="module")
def key(api: ApiClient) -> str:
    return api.key()


def fetch(api: ApiClient, key: str, alpha: str = ALPHA, **query: Any) -> dict[str, Any]:
    data: dict[str, Any] = data_of(ENDPOINTS["research.luck"], api.get(path(alpha, **query), key))
    nulls = {f"bands.{name}" for name, band in data["bands"].items() if band is None}
    nulls |= {name for name in ("overfitting", "data_snooping", "sessions_per_year") if data[name] is None}
    for under, figures in (("", data), ("excess.", data["excess"])):
        nulls |= {f"{under}{name}" for name in ("sharpe", "skewness", "kurtosis") if figures[name] is None}
        for name, member in (
            ("probabilistic_sharpe", "probability"),
            ("deflated_sharpe", "probability"),
            ("minimum_track_record", "sessions"),
        ):
            nulls |= {f"{under}{name}"} if figures[name][member] is None else set()
    assert set(data["withheld"]) == nulls, "every figure that is null has its reason, and no other one"
    assert all(data["withheld"].values())
    return data


def moments(root: Path, book: str = "long_short") -> SharpeMoments:
    result = sharpe_moments(datasets.open(root)[ALPHA].returns(book)["period_return"].to_numpy())
    assert isinstance(result, SharpeMoments)
    return result


@pytest.mark.parametrize("book", ["long_short", "long_only"])
def test_luck_figures_are_computed_from_the_published_returns(
    api: ApiClient, key: str, root: Path, book: str
) -> None:
    data, actual = fetch(api, key, book=book, trials=40, trial_deviation=0.7), moments(root, book)
    assert (data["book"], data["observations"]) == (book, actual.observations)
    assert data["sharpe"] == pytest.approx(actual.sharpe * YEAR**0.5, rel=1e-12)
    assert (data["skewness"], data["kurtosis"]) == pytest.approx((actual.skewness, actual.kurtosis))
    assert data["probabilistic_sharpe"] == {
        "probability": pytest.approx(probabilistic_sharpe(actual), abs=1e-12),
        "benchmark_sharpe": 0.0,
    }
    assert data["deflated_sharpe"] == {
        "probability": pytest.approx(deflated_sharpe(actual, 40, 0.7 / YEAR**0.5), abs=1e-12),
        "expected_maximum_sharpe": pytest.approx(expected_maximum_sharpe(40, 0.7)),
        "trials": 40,
        "trials_from": "request",
        "effective_trials": 40,
        "counted_by": "nominal",
        "trial_deviation": 0.7,
        "passed_over": {},
    }
    needed = minimum_track_record(actual)
    if isinstance(needed, float):
        assert data["minimum_track_record"]["sessions"] == pytest.approx(needed)
        assert data["minimum_track_record"]["years"] == pytest.approx(needed / YEAR)
    else:
        assert data["withheld"]["minimum_track_record"] == needed.text


@pytest.mark.parametrize("part", [slice(None), slice(20, 110)])
def test_banded_figures_match_the_computed_metrics(api: ApiClient, key: str, root: Path, part: slice) -> None:
    days = datasets.open(root)[UNSEALED].returns()["date"][part]
    window = {"from": days[0], "to": days[-1]}
    bands = fetch(api, key, UNSEALED, **window)["bands"]
    query = "&".join(f"{name}={value}" for name, value in window.items())
    metrics = api.json(f"/v1/alphas/{UNSEALED}/metrics?{query}", key)["data"]
    within = metrics["within_window"]
    figures = {**within["core"], **within["rank_ic"]["conditioned"]}
    assert set(bands) == set(BANDED)
    for name, band in bands.items():
        if band is not None and name in figures:
            assert band["estimate"] == figures[name]["value"], name
    for name in LEDGER_BANDS:
        assert bands[name]["lower"] < bands[name]["upper"]
        assert bands[name]["level"] == 0.95


def test_a_window_is_measured_like_a_separate_run(api: ApiClient, key: str, root: Path) -> None:
    curve = datasets.open(root)[ALPHA].returns()
    first, last = curve["date"][30], curve["date"][99]
    data = fetch(api, key, **{"from": first, "to": last})
    assert (data["first_date"], data["last_date"], data["observations"]) == (str(first), str(last), 70)
    result = sharpe_moments(curve["period_return"][30:100].to_numpy())
    assert isinstance(result, SharpeMoments)
    assert data["sharpe"] == pytest.approx(result.sharpe * YEAR**0.5, rel=1e-12)


def test_the_seed_depends_only_on_the_request(api: ApiClient, key: str, root: Path, tmp_path: Path) -> None:
    data = fetch(api, key)
    with running(root, counts=tmp_path / "counts.sqlite3") as another:
        assert fetch(another, another.key()) == data
    seed = data["bootstrap"]["seed"]
    assert fetch(api, key, trials=3, trial_deviation=0.2)["bootstrap"]["seed"] == seed
    assert fetch(api, key, book="long_only")["bootstrap"]["seed"] != seed
    assert fetch(api, key, OTHER)["bootstrap"]["seed"] != seed
    assert fetch(api, key, **{"from": "2019-03-01"})["bootstrap"]["seed"] != seed
    assert data["bootstrap"]["samples"] == 1000
    assert data["bootstrap"]["mean_block"] >= 1


def test_trials_are_counted_from_sealed_search_values(api: ApiClient, key: str) -> None:
    sealed = fetch(api, key)
    assert sealed["deflated_sharpe"] == {
        "probability": None,
        "expected_maximum_sharpe": None,
        "trials": 3,
        "trials_from": "seal",
        "effective_trials": 3,
        "counted_by": "nominal",
        "trial_deviation": None,
        "passed_over": {},
    }
    assert "trial_deviation" in sealed["withheld"]["deflated_sharpe"]
    stated = fetch(api, key, trial_deviation=0.5)
    assert (stated["deflated_sharpe"]["trials"], stated["deflated_sharpe"]["trials_from"]) == (3, "seal")
    assert stated["deflated_sharpe"]["probability"] < stated["probabilistic_sharpe"]["probability"]


def matrix(root: Path, part: slice = slice(None)) -> Matrix:
    rows = datasets.open(root)[SEARCHED].scan("trials").collect()
    wide = rows.pivot("trial", index="date", values="period_return").sort("date").drop("date")
    return wide[part].to_numpy()


@pytest.mark.parametrize("part", [slice(None), slice(20, 110)])
def test_sealed_trials_are_counted_and_tested_for_overfitting(
    api: ApiClient, key: str, root: Path, part: slice
) -> None:
    days = datasets.open(root)[SEARCHED].returns()["date"][part]
    data = fetch(api, key, SEARCHED, **{"from": days[0], "to": days[-1]})
    trials = matrix(root, part)
    cuts = cluster_trials(trials)
    assert trials.shape == (len(days), 4)
    assert cuts is not None
    effective = effective_trials(trials, cuts)
    assert effective is not None
    actual = data["deflated_sharpe"]
    assert (actual["trials"], actual["trials_from"]) == (4, "seal")
    assert (actual["effective_trials"], actual["counted_by"]) == (effective.count, effective.counted_by)
    assert actual["trial_deviation"] == pytest.approx(effective.deviation * YEAR**0.5, rel=1e-9)
    curve = datasets.open(root)[SEARCHED].returns()["period_return"][part].to_numpy()
    own = sharpe_moments(curve)
    assert isinstance(own, SharpeMoments)
    expected = deflated_sharpe(own, effective.count, effective.deviation)
    assert actual["probability"] == pytest.approx(expected, abs=1e-9)
    assert min(abs(trials - curve[:, None]).max(axis=0)) < 1e-12, "the run's own returns are among them"
    tested = overfitting(trials)
    assert isinstance(tested, dict)
    assert data["overfitting"] == {
        "probability": pytest.approx(tested["probability"], abs=1e-12),
        "trials": 4,
        "blocks": 16,
        "splits": 12_870,
    }


def test_every_book_is_deflated_by_the_trials_of_long_short(api: ApiClient, key: str) -> None:
    blocks = [fetch(api, key, SEARCHED, book=book)["deflated_sharpe"] for book in ("long_short", "long_only")]
    for name in ("trials", "effective_trials", "trial_deviation", "expected_maximum_sharpe"):
        assert blocks[0][name] == blocks[1][name] > 0
    assert blocks[0]["probability"] != blocks[1]["probability"]


def test_a_request_may_override_the_number_of_trials(api: ApiClient, key: str) -> None:
    result = fetch(api, key, SEARCHED, trials=50)["deflated_sharpe"]
    assert (result["trials"], result["trials_from"], result["trial_deviation"]) == (50, "request", None)
    stated = fetch(api, key, SEARCHED, trial_deviation=0.9)["deflated_sharpe"]
    assert (stated["trials"], stated["trials_from"], stated["trial_deviation"]) == (4, "seal", 0.9)


def test_duplicate_sealed_trials_count_once(tmp_path: Path) -> None:
    alphas = ("Test_honest", "Test_copied", "Test_copies", "Test_alone")
    for alpha in alphas:
        seal = seals.make_seal(tmp_path / "seals", alpha_id=alpha, description=False, tried=(1.0, 4.0, 8.0))
        if alpha != "Test_honest":
            seals.rewrite(seal, "trials", CHANGES[alpha])
        build_seal(str(seal), tmp_path / "root")
    with running(tmp_path / "root", counts=tmp_path / "counts.sqlite3") as api:
        key = api.key()
        answers = {alpha: fetch(api, key, alpha) for alpha in alphas}
    for name in ("overfitting", "data_snooping"):
        assert answers["Test_copies"][name] is None
        assert "60 sealed trials are copies" in answers["Test_copies"]["withheld"][name]
    data = {alpha: answer["deflated_sharpe"] for alpha, answer in answers.items()}
    honest, copied = data["Test_honest"], data["Test_copied"]
    assert (copied["trials"], copied["effective_trials"]) == (64, honest["effective_trials"])
    assert copied["probability"] == pytest.approx(honest["probability"], abs=0.005)
    for alpha, said in (("Test_copies", "60 sealed trials are copies"), ("Test_alone", "one trial")):
        assert (data[alpha]["trials"], data[alpha]["trials_from"]) == (4, "catalogue")
        assert said in data[alpha]["passed_over"]["trials"]


def test_a_sealed_trial_that_holds_nothing_is_named_as_the_reason(tmp_path: Path) -> None:
    def idle(rows: pl.DataFrame) -> pl.DataFrame:
        held = pl.col("trial") != "half_life_weeks=8.0"
        return rows.with_columns(period_return=pl.when(held).then("period_return").otherwise(0.0))

    seal = seals.make_seal(tmp_path / "seals", alpha_id="Test_idle", tried=(1.0, 4.0, 8.0))
    build_seal(str(seals.rewrite(seal, "trials", idle)), tmp_path / "root")
    with running(tmp_path / "root", counts=tmp_path / "counts.sqlite3") as api:
        data = fetch(api, api.key(), "Test_idle")
    assert data["deflated_sharpe"]["trials"] == 4
    for name in ("deflated_sharpe", "excess.deflated_sharpe"):
        assert "the returns of a sealed trial do not vary" in data["withheld"][name]


def run_itself(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the trial with the run's own returns."""
    return rows.filter(pl.col("trial") == "half_life_weeks=2.0")


def copied(rows: pl.DataFrame, copies: int) -> pl.DataFrame:
    """Return near copies of the run, with noise of a hundredth of its deviation."""
    draw = np.random.default_rng(7)
    own = run_itself(rows)
    scale = 0.01 * float(own["period_return"].to_numpy().std())
    return pl.concat(
        own.with_columns(
            trial=pl.lit(f"copy {number}"),
            period_return=pl.col("period_return") + scale * draw.normal(size=own.height),
        )
        for number in range(copies)
    )


CHANGES: dict[str, Callable[[pl.DataFrame], pl.DataFrame]] = {
    "Test_copied": lambda rows: pl.concat([rows, copied(rows, 60)]).sort("trial", "date"),
    "Test_copies": lambda rows: pl.concat([run_itself(rows), copied(rows, 59)]).sort("trial", "date"),
    "Test_alone": run_itself,
}


def test_excess_returns_subtract_the_ledgers_rate(api: ApiClient, key: str, root: Path) -> None:
    curve = datasets.open(root)[SEARCHED].scan("portfolio", "long_short").collect().sort("date")
    above = (curve["ending_equity"] / curve["starting_equity"] - 1 - curve["risk_free_return"]).to_numpy()
    data, actual = fetch(api, key, SEARCHED), sharpe_moments(above)
    assert isinstance(actual, SharpeMoments)
    excess = data["excess"]
    assert excess["sharpe"] == pytest.approx(actual.sharpe * YEAR**0.5, rel=1e-9)
    assert excess["sharpe"] == pytest.approx(data["bands"]["excess_sharpe"]["estimate"], rel=1e-9)
    assert (excess["skewness"], excess["kurtosis"]) == pytest.approx((actual.skewness, actual.kurtosis))
    assert excess["probabilistic_sharpe"]["probability"] == pytest.approx(probabilistic_sharpe(actual))
    trials = matrix(root)
    cuts = cluster_trials(trials)
    assert cuts is not None
    effective = effective_trials(trials - curve["risk_free_return"].to_numpy()[:, None], cuts)
    assert effective is not None
    deflated = excess["deflated_sharpe"]
    assert (deflated["trials"], deflated["effective_trials"]) == (4, effective.count)
    assert deflated["probability"] == pytest.approx(
        deflated_sharpe(actual, effective.count, effective.deviation), abs=1e-9
    )
    needed = minimum_track_record(actual)
    if isinstance(needed, float):
        assert excess["minimum_track_record"]["sessions"] == pytest.approx(needed)


def test_a_window_too_short_for_blocks_is_withheld_with_the_reason(
    api: ApiClient, key: str, root: Path
) -> None:
    days = datasets.open(root)[SEARCHED].returns()["date"]
    data = fetch(api, key, SEARCHED, **{"from": days[0], "to": days[40]})
    assert data["overfitting"] is None
    assert "at least 80" in data["withheld"]["overfitting"]
    assert data["deflated_sharpe"]["trial_deviation"] is not None


def test_without_search_values_trials_are_the_readable_runs_of_the_catalogue(
    api: ApiClient, key: str
) -> None:
    result = fetch(api, key, OTHER, trial_deviation=0.5)["deflated_sharpe"]
    assert (result["trials"], result["trials_from"]) == (len(ALPHAS), "catalogue")
    two = fetch(api, api.key(runs=f"list:{OTHER},{ALPHA}"), OTHER, trial_deviation=0.5)["deflated_sharpe"]
    assert two["trials"] == 2
    full = [fetch(api, key, alpha) for alpha in ALPHAS]
    for figures in (full, [data["excess"] for data in full]):
        ratios = np.array([np.nan if x["sharpe"] is None else x["sharpe"] for x in figures])
        sessions = np.array([float(x["observations"]) for x in figures])
        own = figures[list(ALPHAS).index(OTHER)]
        apart = run_deviation(ratios, sessions, own["observations"])
        assert own["deflated_sharpe"]["trial_deviation"] == pytest.approx(apart, rel=1e-6)
    blind = api.key(endpoints="list:research.luck,portfolio.ledger,catalog.alphas.get")
    without_metrics = fetch(api, blind, OTHER)
    assert without_metrics["deflated_sharpe"]["trial_deviation"] is None, (
        "it may not read the figures of the metrics"
    )
    alone = fetch(api, api.key(runs=f"list:{OTHER}"), OTHER)
    assert alone["deflated_sharpe"]["trials"] == 1
    assert alone["deflated_sharpe"]["probability"] == alone["probabilistic_sharpe"]["probability"]


def test_search_values_need_access_to_the_description(api: ApiClient) -> None:
    closed: tuple[dict[str, Any], ...] = (
        {"alphas": "list:none"},
        {"endpoints": "list:research.luck,portfolio.ledger"},
    )
    for narrow in [api.key(**grants) for grants in closed]:
        answers = [fetch(api, narrow, alpha) for alpha in (ALPHA, OTHER)]
        assert len({data["withheld"]["deflated_sharpe"] for data in answers}) == 1
        for data in answers:
            assert data["deflated_sharpe"]["trials"] is data["deflated_sharpe"]["trials_from"] is None
            assert "catalog.alphas.get" in data["withheld"]["deflated_sharpe"]
        stated = fetch(api, narrow, trials=1)["deflated_sharpe"]
        assert stated["trials_from"] == "request"
        assert stated["probability"] is not None


def test_luck_figures_exclude_data_the_key_may_not_read(api: ApiClient, key: str) -> None:
    full = fetch(api, key)
    without_ledger = fetch(api, api.key(endpoints="list:research.luck,signals.rebalances.get"))
    without_weeks = fetch(api, api.key(endpoints="list:research.luck,portfolio.ledger"))
    for name, band in full["bands"].items():
        of_the_ledger = name in LEDGER_BANDS
        assert without_ledger["bands"][name] == (None if of_the_ledger else band)
        assert without_weeks["bands"][name] == (band if of_the_ledger else None)
    assert without_ledger["observations"] == 0
    assert without_ledger["sharpe"] is without_ledger["first_date"] is None
    assert "portfolio.ledger" in without_ledger["withheld"]["sharpe"]
    assert without_weeks["sharpe"] == full["sharpe"]
    refused = api.json(path(), api.key(endpoints="list:portfolio.ledger"), 403)["error"]
    assert refused["code"] == "endpoint_not_allowed"


def test_missing_data_withhold_figures_with_the_reason(api: ApiClient, key: str) -> None:
    full = fetch(api, key)
    no_ledger = fetch(api, key, "Test_no_ledger")
    assert {name for name, band in no_ledger["bands"].items() if band is None} >= LEDGER_BANDS
    assert "portfolio" in no_ledger["withheld"]["bands.sharpe"]
    no_decisions = fetch(api, key, "Test_no_decisions")
    assert {name for name, band in no_decisions["bands"].items() if band is None} == set(
        BANDED
    ) - LEDGER_BANDS
    assert no_decisions["sharpe"] == full["sharpe"]
    empty = fetch(api, key, "Test_nothing", book="anything")
    assert set(empty["bands"].values()) == {None}
    assert empty["observations"] == 0
    variant = fetch(api, key, book="long_short_adjustments")
    assert variant["sharpe"] is None
    assert "of this book" in variant["withheld"]["sharpe"]


def test_a_short_window_is_withheld_with_the_missing_observations(
    api: ApiClient, key: str, root: Path
) -> None:
    days = datasets.open(root)[ALPHA].returns()["date"]
    data = fetch(api, key, **{"from": days[0], "to": days[8]})
    assert data["observations"] == 9
    assert data["sharpe"] is data["minimum_track_record"]["sessions"] is None
    assert "9" in data["withheld"]["sharpe"]
    some = fetch(api, key, **{"from": days[0], "to": days[14]})
    assert some["sharpe"] is not None
    assert some["bands"]["sharpe"] is None
    assert "at least 20" in some["withheld"]["bands.sharpe"]
    none = fetch(api, key, **{"from": "1990-01-01", "to": "1990-12-31"})
    assert none["observations"] == 0
    assert none["first_date"] is none["last_date"] is None


def test_every_valid_number_of_trials_is_answered(api: ApiClient, key: str) -> None:
    before = 1.0
    for trials, deviation in ((1, 0), (2, 0.1), (10, 0.1), (10**9, 0.1), (10**9, "1e300")):
        data = fetch(api, key, trials=trials, trial_deviation=deviation)["deflated_sharpe"]
        assert 0 <= data["probability"] <= before
        before = data["probability"]
    beyond = fetch(api, key, trials=10**9, trial_deviation="1e308")
    assert "too large" in beyond["withheld"]["deflated_sharpe"]


def test_the_datasets_package_returns_the_same(api: ApiClient, key: str, root: Path) -> None:
    served = fetch(api, key, SEARCHED)
    assert json.loads(json.dumps(datasets.open(root)[SEARCHED].luck())) == served
