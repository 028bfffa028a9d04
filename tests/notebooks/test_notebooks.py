"""The notebooks run as scripts over a simulated root, and their figures match the service."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from alpha_results_seal.__main__ import main as seal_main

from examples.reference_engine.run import simulate
from pipeline.snapshot_builder import build_seal
from tests.support.application import running
from tests.support.client import ApiClient
from tests.support.pipeline_command import run_pipeline
from tests.support.processes import REPOSITORY, environment
from tests.support.seals import make_seal

NOTEBOOKS = REPOSITORY / "notebooks"
ALPHAS = ("Test_sim_momentum", "Test_sim_reversal", "sim_lowvol")


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder like that of a started demo."""
    folder = tmp_path_factory.mktemp("it's a folder")
    made = folder / ".demo"
    seals = simulate(made / "simulation-1", seed=1, names=30, weeks=60)
    for seal in seals:
        build_seal(str(seal), made / "published")
    lines = {"KEY": "not read", "ROOT": made / "published", "MARKET": made / "simulation-1" / "market"}
    text = "".join(f"export {name}={_quoted(str(value))}\n" for name, value in lines.items())
    (made / "env").write_text(text)
    return folder


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\"'\"'") + "'"


@pytest.fixture(scope="module")
def api(demo: Path) -> Iterator[ApiClient]:
    with running(demo / ".demo" / "published") as result:
        yield result


def run(name: str, folder: Path, **given: Any) -> dict[str, Any]:
    """Run a notebook in a folder, and return its variables and `outputs`; `given` replace variables of a cell."""
    result = importlib.util.spec_from_file_location(f"notebook_{name}", NOTEBOOKS / f"{name}.py")
    assert result is not None
    assert result.loader is not None
    module = importlib.util.module_from_spec(result)
    before = Path.cwd()
    os.chdir(folder)
    try:
        result.loader.exec_module(module)
        outputs, defined = module.app.run(defs=given)
    finally:
        os.chdir(before)
    return {**defined, "outputs": outputs}


@pytest.mark.parametrize("name", ["tour", "compare", "sql"])
@pytest.mark.parametrize("by_variable", [True, False])
def test_a_notebook_runs_as_a_script_beside_a_demo_or_with_its_variables(
    name: str, by_variable: bool, demo: Path, tmp_path: Path
) -> None:
    made = demo / ".demo"
    variables = {"ROOT": str(made / "published"), "MARKET": str(made / "simulation-1" / "market")}
    done = subprocess.run(
        [sys.executable, "-W", "error::DeprecationWarning:__main__", str(NOTEBOOKS / f"{name}.py")],
        cwd=tmp_path if by_variable else demo,
        env=environment(MPLBACKEND="agg", **(variables if by_variable else {})),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_the_tours_figures_match_the_service(demo: Path, api: ApiClient) -> None:
    result = run("tour", demo)
    answer = api.json("/v1/alphas/Test_sim_momentum/metrics?panel=1", api.key(raw=True))
    assert result["run"].alpha_id == "Test_sim_momentum"
    assert {
        name: value for name, value in result["metrics"].items() if name not in {"warnings", "notices"}
    } == answer["data"]
    curve = api.json("/v1/alphas/Test_sim_momentum/equity-curve?limit=5000", api.key())
    total = curve["meta"]["summary"]["total_return"]
    assert (
        f"returned {total:.2%} over {curve['pagination']['total']} sessions"
        in result["conclusions"]["return"]
    )
    test = answer["data"]["nwt"]["ic"]
    assert f"{test['mean']:.4f}" in result["conclusions"]["skill"]
    assert result["interval"][0] < test["mean"] < result["interval"][1]
    rows = curve["data"]
    market = result["benchmark"].to_dicts()
    own = {row["date"]: row["period_return"] for row in rows}
    pairs = [(own[str(x["date"])], x["period_return"]) for x in market if x["period_return"] is not None]
    assert result["beta_correlation"] == pytest.approx(np.corrcoef(np.array(pairs).T)[0, 1], abs=1e-12)
    ledger = api.json("/v1/alphas/Test_sim_momentum/portfolio?limit=5000", api.key())["data"]
    assert result["gross"] == pytest.approx(sum(row["market_pnl"] for row in ledger), rel=1e-9)
    assert result["costs"] == pytest.approx(
        -sum(row["execution_cost"] + row["borrow_cashflow"] for row in ledger), rel=1e-9
    )


@pytest.mark.parametrize("net", [0.0, -0.5])
def test_a_tour_of_a_book_without_a_total_profit_withholds_the_share_of_the_best_names(
    demo: Path, net: float
) -> None:
    names = pl.DataFrame({"symbol": ["A", "B"], "net_pnl": [1.0, net - 1.0], "sessions": [5, 5]})
    result = run("tour", demo, by_name=names)
    assert result["top_share"] is None
    assert f"the best five made {net:.4f} of a total of {net:.4f}" in result["conclusions"]["concentration"]


def test_a_tour_of_six_names_lists_each_once(tmp_path: Path) -> None:
    days = pl.date_range(date(2025, 1, 6), date(2025, 6, 27), eager=True).alias("date").to_frame()
    days = days.filter(pl.col("date").dt.weekday() <= 5)
    names = pl.DataFrame({"symbol": list("ABCDEF"), "place": range(1, 7)})
    rows = days.with_row_index("session").join(names, how="cross")
    # Every name moves at a pace of its own, and so does its score.
    wave = (pl.col("session") * pl.col("place") / 7).sin()
    prices = rows.select("date", "symbol", close=100 + pl.col("place") + wave, open=100 + pl.col("place"))
    prices.write_csv(tmp_path / "prices.csv")
    fridays = rows.filter(pl.col("date").dt.weekday() == 5)
    fridays.select("date", "symbol", score=wave).write_csv(tmp_path / "scores.csv")
    seal = tmp_path / "seal"
    with pytest.raises(SystemExit):
        seal_main(["import", *(str(tmp_path / f"{x}.csv") for x in ("scores", "prices")), "--out", str(seal)])
    build_seal(str(seal), tmp_path / ".demo" / "published")
    (shown,) = (x for x in run("tour", tmp_path)["outputs"] if "net_pnl" in getattr(x, "columns", ()))
    assert sorted(shown["symbol"]) == list("ABCDEF")


def test_a_tour_of_deciles_with_equal_returns_gives_no_rank_correlation(demo: Path) -> None:
    before = run("tour", demo)
    metrics = before["metrics"]
    metrics["ic_deciles"]["monotonicity"] = {
        "spearman_bucket_vs_mean_forward_return": None,
        "top_minus_bottom": 0.0,
    }
    result = run("tour", demo, metrics=metrics, headline=before["headline"])
    assert result["conclusions"]["deciles"].endswith("all deciles have the same mean return.")


def test_a_tour_withholds_deciles_with_their_own_reason_only(demo: Path) -> None:
    before = run("tour", demo)
    reason = {"block": "ic_deciles", "message": "ic_deciles is null: no week has enough names."}
    other = {"block": "core", "message": "The run sealed no value of some core statistics."}
    metrics = {**before["metrics"], "ic_deciles": None, "warnings": [other, reason]}
    outputs = run("tour", demo, metrics=metrics, headline=before["headline"])["outputs"]
    text = " ".join(str(getattr(output, "text", "")) for output in outputs)
    assert f"Withheld: {reason['message']}" in text
    assert other["message"] not in text


def test_a_tour_does_not_call_a_book_neutral_if_prices_or_returns_are_missing(demo: Path) -> None:
    before = run("tour", demo)
    equity, benchmark = before["equity"], before["benchmark"]
    short = run("tour", demo, equity=equity, benchmark=benchmark.tail(5))
    assert short["beta_correlation"] is None
    text = short["conclusions"]["benchmark"]
    assert f"from {benchmark['date'][-5]} to {benchmark['date'][-1]}, the days of the book" in text
    assert text.endswith("withheld: common sessions in the window: 5; the figure needs at least 10.")
    without_equity = pl.when(pl.int_range(pl.len()) > 5).then("period_return")
    ruined = run("tour", demo, equity=equity.with_columns(period_return=without_equity), benchmark=benchmark)
    assert ruined["beta_correlation"] is None
    assert "have no return, as they open without equity." in ruined["conclusions"]["benchmark"]
    absent = run("tour", demo, equity=equity, benchmark=benchmark.clear())
    assert absent["beta_correlation"] is None
    assert "no price of the benchmark" in absent["conclusions"]["benchmark"]


def test_the_comparisons_figures_match_the_service(demo: Path, api: ApiClient) -> None:
    result = run("compare", demo)
    assert tuple(result["runs"]) == tuple(sorted(ALPHAS))
    key = api.key()
    returns = []
    for row in result["figures"].iter_rows(named=True):
        core = api.json(f"/v1/alphas/{row['alpha']}/metrics", key)["data"]["core"]
        assert {name: core[name]["value"] for name in row if name != "alpha"} == {
            name: value for name, value in row.items() if name != "alpha"
        }
        curve = api.json(f"/v1/alphas/{row['alpha']}/equity-curve?limit=5000", key)["data"]
        returns.append({x["date"]: x["period_return"] for x in curve})
    days = sorted(set.intersection(*(set(x) for x in returns)))
    matrix = np.array([[x[day] for day in days] for x in returns])
    together = matrix.mean(axis=0)
    assert result["together_figures"]["sharpe"] == pytest.approx(
        together.mean() / together.std(ddof=1) * np.sqrt(252), rel=1e-9
    )
    requested = ",".join(sorted(ALPHAS))
    for by, name in (
        ("returns", "return_correlations"),
        ("scores", "score_correlations"),
        ("holdings", "overlaps"),
    ):
        answer = api.json(f"/v1/correlations?alphas={requested}&by={by}", key)["data"]
        assert result[name] == pytest.approx(np.array(answer["matrix"]), abs=1e-12), by


INCOMPLETE = {
    "Test_full": set[str](),
    "Test_no_decisions": {"decisions"},
    "Test_no_ledger": {"portfolio", "positions", "pnl", "trades"},
}


@pytest.fixture(scope="module")
def incomplete(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a root of a complete and two incomplete runs."""
    folder = tmp_path_factory.mktemp("incomplete")
    for number, (alpha, kinds) in enumerate(INCOMPLETE.items(), start=1):
        seal = make_seal(folder, alpha_id=alpha, seed=number, metrics=False, without_kinds=kinds)
        build_seal(str(seal), folder / ".demo" / "published")
    return folder


def test_a_comparison_leaves_out_runs_without_the_book_and_pairs_without_a_figure(incomplete: Path) -> None:
    result = run("compare", incomplete)
    assert set(result["runs"]) == {"Test_full", "Test_no_decisions"}
    text = "\n".join(result["conclusions"])
    assert "their scores cannot be compared, and their holdings overlap by" in text
    assert "nan" not in text


@pytest.mark.parametrize("alphas", [["Test_no_decisions"], ["Test_no_ledger"], []])
@pytest.mark.parametrize("name", ["tour", "compare", "sql"])
def test_a_notebook_ends_without_an_error_if_runs_are_incomplete_or_withdrawn(
    incomplete: Path, tmp_path: Path, name: str, alphas: list[str]
) -> None:
    root = shutil.copytree(incomplete / ".demo" / "published", tmp_path / "root")
    for alpha in INCOMPLETE.keys() - set(alphas):
        assert run_pipeline("withdraw", root, alpha).exit_code == 0
    done = subprocess.run(
        [sys.executable, str(NOTEBOOKS / f"{name}.py")],
        cwd=tmp_path, env=environment(MPLBACKEND="agg", ROOT=str(root)),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_the_closest_pair_is_compared_over_its_own_sessions(tmp_path: Path) -> None:
    for alpha, seed, weeks in (("Test_brief", 2, 12), ("Test_one", 1, 30), ("Test_twin", 1, 30)):
        seal = make_seal(tmp_path, alpha_id=alpha, seed=seed, weeks=weeks, skipped=False, pending=False)
        build_seal(str(seal), tmp_path / ".demo" / "published")
    result = run("compare", tmp_path)
    sessions = result["runs"]["Test_one"].returns().height
    assert result["daily"].height < sessions, "the sessions of all three"
    assert f"`Test_twin` and `Test_one`: 1.00 over {sessions} common sessions" in result["conclusions"][0]


def test_plain_sql_matches_the_services_figures(demo: Path, api: ApiClient) -> None:
    result = run("sql", demo)
    key = api.key()
    assert sorted(result["signal"]["alpha_id"]) == sorted(ALPHAS)
    for row in result["signal"].iter_rows(named=True):
        answer = api.json(f"/v1/alphas/{row['alpha_id']}/metrics", key)["data"]
        assert row["mean_ic"] == pytest.approx(answer["core"]["ic"]["value"], rel=1e-9)
        assert row["icir"] == pytest.approx(answer["core"]["icir"]["value"], rel=1e-9)
        assert row["hit_rate"] == pytest.approx(
            answer["rank_ic"]["conditioned"]["hit_rate"]["value"], rel=1e-9
        )
    for row in result["books"].iter_rows(named=True):
        curve = f"/v1/alphas/{row['alpha_id']}/equity-curve?book={row['book']}&limit=1"
        summary = api.json(curve, key)["meta"]["summary"]
        assert row["total_return"] == pytest.approx(summary["total_return"], rel=1e-9)
        assert row["max_drawdown_pct"] == pytest.approx(summary["max_drawdown_pct"], rel=1e-9)


def test_plain_sql_gives_no_ratio_of_values_that_do_not_vary(demo: Path, tmp_path: Path) -> None:
    root = shutil.copytree(demo / ".demo" / "published", tmp_path / ".demo" / "published")
    for table, column, value in (("weekly_signal", "ic", 0.5), ("equity_curve", "period_return", 0.0)):
        for file in root.glob(f"alphas/*/*/{table}/**/*.parquet"):
            rows = pl.read_parquet(file, hive_partitioning=False)
            rows.with_columns(pl.lit(value).alias(column)).write_parquet(file)
    result = run("sql", tmp_path)
    assert set(result["signal"]["icir"]) == set(result["books"]["information_ratio"]) == {None}
    assert (
        result["conclusions"][0] == "3 alphas are served. None has weekly ICs that vary, which an ICIR needs."
    )


@pytest.mark.parametrize(
    ("kinds", "absent", "conclusions"),
    [
        ({"positions"}, ("sealed_metrics", "positions"), 2),
        ({"portfolio", "positions", "pnl", "trades"}, ("sealed_metrics", "equity_curve", "portfolio"), 1),
        ({"decisions"}, ("sealed_metrics", "weekly_signal", "decisions"), 2),
    ],
)
def test_plain_sql_goes_on_without_the_tables_that_no_run_has(
    tmp_path: Path, kinds: set[str], absent: tuple[str, ...], conclusions: int
) -> None:
    seal = make_seal(tmp_path, alpha_id="Test_brief", metrics=False, without_kinds=kinds)
    build_seal(str(seal), tmp_path / ".demo" / "published")
    result = run("sql", tmp_path)
    (said,) = [x.text for x in result["outputs"] if "No run has" in str(getattr(x, "text", ""))]
    assert [name for name in absent if name not in said] == []
    assert result["conclusions"][0].startswith("1 alphas are served. ")
    assert len(result["conclusions"]) == conclusions


def test_the_notebook_of_plain_sql_uses_no_package_of_the_project() -> None:
    text = (NOTEBOOKS / "sql.py").read_text("utf-8")
    assert not [name for name in ("datasets", "schemas", "pipeline", "serve") if f"import {name}" in text]


def test_the_tour_is_exported_for_jupyter(tmp_path: Path) -> None:
    made = tmp_path / "tour.ipynb"
    export = ["marimo", "export", "ipynb", "notebooks/tour.py", "-o", str(made)]
    subprocess.run(
        ["uv", "run", "--quiet", "--group", "notebooks", "--with", "nbformat", *export],
        cwd=REPOSITORY, env=os.environ | environment(), capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert json.loads(made.read_text("utf-8"))["cells"]
