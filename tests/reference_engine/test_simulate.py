"""The simulation's function and command: files, output and refusals."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import Any, TypedDict

import polars as pl
import pytest
from click.testing import CliRunner

from examples.reference_engine import (
    DEFAULT_ALPHAS,
    AlphaSpec,
    RunRecord,
    already_simulated,
    simulate,
    write_seal,
)
from examples.reference_engine.market import simulate_market
from pipeline.group import cli
from schemas.errors import SettingsError
from schemas.market_data import SIMULATED_KEY
from serve.cli.group import serve
from tests.support.processes import REPOSITORY
from tests.support.small_disk import small_disk


class Size(TypedDict):
    seed: int
    names: int
    weeks: int


SIZE: Size = {"seed": 3, "names": 24, "weeks": 16}
OPTIONS = ["--seed", "3", "--names", "24", "--weeks", "16"]
DESCRIPTION = {
    "name", "tldr", "copyright", "classification", "thesis", "signal", "parameters", "data_requirements",
    "source_papers",
}  # fmt: skip


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("simulated") / "out"
    simulate(folder, **SIZE)
    return folder


def test_two_testing_alphas_and_a_production_one_share_a_market(out: Path) -> None:
    seals = sorted(path.parent.name for path in out.glob("*/seal.json"))
    assert seals == ["Test_sim_momentum", "Test_sim_reversal", "sim_lowvol"]
    for name in seals:
        manifest = json.loads((out / name / "seal.json").read_text())
        assert manifest["alpha_id"] == name
        required = {"rebalances", "decisions", "portfolio", "positions", "pnl", "trades", "metrics"}
        assert required <= set(manifest["kinds"])
    weeks = [pl.read_parquet(out / name / "rebalances.parquet")["date"] for name in seals]
    assert weeks[0].equals(weeks[1])
    assert weeks[0].equals(weeks[2])
    marks = [
        pl.read_parquet(out / name / "positions.parquet").select("date", "symbol", "mark_price").unique()
        for name in seals
    ]
    assert not pl.concat(marks).unique().select("date", "symbol").is_duplicated().any()


def test_everything_is_marked_as_simulated(out: Path) -> None:
    for seal in out.glob("*/seal.json"):
        folder = seal.parent
        manifest = json.loads(seal.read_text())
        description = json.loads((folder / "description.json").read_text())
        assert "sim" in manifest["alpha_id"]
        assert "simulated" in manifest["engine"]["name"]
        for text in (description["name"], description["tldr"], description["copyright"]):
            assert "simulated" in text.lower()
        assert "simulated" in description["classification"]["tags"]
        assert "simulated" in (folder / "source" / "README.md").read_text()
        assert pl.read_parquet(folder / "decisions.parquet")["symbol"].str.contains(r"^SIM\d{3}$").all()


def test_descriptions_have_every_documented_key(out: Path) -> None:
    for path in out.glob("*/description.json"):
        text = json.loads(path.read_text())
        assert set(text) == DESCRIPTION
        assert set(text["classification"]) == {"structure", "method", "frequency", "tags"}
        assert set(text["thesis"]) == {
            "hypothesis", "mechanism", "who_loses", "economic_rationale", "falsification_criteria",
        }  # fmt: skip
        assert set(text["signal"]) == {
            "score_direction", "decision_timing", "core_math_framework", "signal_logic", "pseudocode",
            "validity_rules", "output_contract",
        }  # fmt: skip
        for parameter in text["parameters"]:
            assert set(parameter) == {
                "name", "type", "default", "search_values", "range", "tunable", "unit", "description",
                "selected_value_by_test_year",
            }  # fmt: skip
            assert len(parameter["range"]) == 2
        needs = text["data_requirements"]
        assert set(needs) == {
            "universe", "granularity", "lookback_bars", "warmup_bars", "adjustment", "fields", "history_requirement",
        }  # fmt: skip
        # Counts of bars or prose: one of the two forms.
        assert (needs["lookback_bars"] is None) is (needs["history_requirement"] is not None)
        assert [paper["role"] for paper in text["source_papers"]] == ["seed"]


def test_source_folders_contain_code_and_files_to_exclude(out: Path) -> None:
    for seal in out.glob("*/seal.json"):
        files = set(json.loads(seal.read_text())["kinds"]["source"]["files"])
        assert {"README.md", "signal.py", "books/ledger.py", "parameters.json"} <= files
        assert {".env", "__pycache__/signal.cpython-311.pyc"} <= files
        compile((seal.parent / "source" / "signal.py").read_text(), "signal.py", "exec")


def test_the_benchmark_covers_the_ledgers_and_is_marked_simulated(out: Path) -> None:
    benchmark = pl.read_parquet(out / "market" / "SIMSPY.parquet")
    assert benchmark.schema == {
        "date": pl.Date(), "symbol": pl.String(), "close": pl.Float64(), "adj_close": pl.Float64(),
    }  # fmt: skip
    assert benchmark["symbol"].unique().to_list() == ["SIMSPY"]
    assert pl.read_parquet_metadata(out / "market" / "SIMSPY.parquet")[SIMULATED_KEY] == "true"
    assert benchmark["date"].is_sorted()
    assert not benchmark["date"].is_duplicated().any()
    assert (benchmark["adj_close"] <= benchmark["close"]).all()
    assert (benchmark["adj_close"] < benchmark["close"]).any()
    sessions = pl.read_parquet(out / "sim_lowvol" / "portfolio.parquet")["date"]
    assert set(sessions) <= set(benchmark["date"])


def test_the_same_arguments_give_the_same_bytes(out: Path, tmp_path: Path) -> None:
    seals = simulate(tmp_path / "again", **SIZE)
    assert [seal.name for seal in seals] == [spec.alpha_id for spec in DEFAULT_ALPHAS]
    assert contents(tmp_path / "again") == contents(out)


def test_another_process_with_one_thread_gives_the_same_bytes(out: Path, tmp_path: Path) -> None:
    call = f"from pathlib import Path; from examples.reference_engine import simulate; simulate(Path('x'), **{SIZE})"
    environment = {
        **os.environ,
        "PYTHONPATH": str(REPOSITORY),
        "POLARS_MAX_THREADS": "1",
        "PYTHONHASHSEED": "5",
    }
    subprocess.run([sys.executable, "-c", call], cwd=tmp_path, env=environment, check=True)
    assert contents(tmp_path / "x") == contents(out)


def test_another_seed_gives_another_market(out: Path, tmp_path: Path) -> None:
    simulate(tmp_path / "other", **Size({**SIZE, "seed": 4}), alphas=DEFAULT_ALPHAS[:1])
    mine = pl.read_parquet(out / "Test_sim_momentum" / "positions.parquet")
    other = pl.read_parquet(tmp_path / "other" / "Test_sim_momentum" / "positions.parquet")
    assert not mine["mark_price"].equals(other["mark_price"])


@pytest.mark.parametrize("weeks", [220, 221, 400])
def test_a_market_of_any_length_ends_before_the_seals_are_dated(weeks: int) -> None:
    market = simulate_market(1, 24, weeks, pending=False, skipped=False)
    end = market.schedule[market.observed - 1].item()
    assert all(datetime.fromisoformat(spec.sealed_at).date() > end for spec in DEFAULT_ALPHAS)


@pytest.mark.parametrize("alphas", [(), (DEFAULT_ALPHAS[0], DEFAULT_ALPHAS[0])])
def test_alphas_must_be_given_with_distinct_ids(tmp_path: Path, alphas: tuple[AlphaSpec, ...]) -> None:
    with pytest.raises(SettingsError, match="distinct ids"):
        simulate(tmp_path / "x", **SIZE, alphas=alphas)
    assert not (tmp_path / "x").exists()


def test_a_non_empty_folder_is_refused_unchanged(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("kept")
    with pytest.raises(SettingsError, match="has other content"):
        simulate(tmp_path, **SIZE)
    assert contents(tmp_path) == {"mine.txt": b"kept"}


def test_a_seal_is_written_once(out: Path) -> None:
    before = contents(out)
    with pytest.raises(SettingsError, match="a seal is written once"):
        write_seal(out / "sim_lowvol", RunRecord(manifest={}, tables={}))
    assert contents(out) == before


def test_an_interrupted_seal_has_no_manifest(tmp_path: Path) -> None:
    record = RunRecord(
        manifest={"seal_version": 1},
        tables={"rebalances": pl.DataFrame({"date": [], "week_status": []})},
        metrics=[{"name": "mean_ic", "value": float("nan")}],
    )
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_seal(tmp_path / "seal", record)
    assert (tmp_path / "seal" / "rebalances.parquet").exists()
    assert not (tmp_path / "seal" / "seal.json").exists()


def test_a_finished_simulation_is_recognised_until_changed(out: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    for relative, content in contents(out).items():
        (copy / relative).parent.mkdir(parents=True, exist_ok=True)
        (copy / relative).write_bytes(content)
    assert already_simulated(copy, **SIZE) == [copy / spec.alpha_id for spec in DEFAULT_ALPHAS]
    assert already_simulated(copy, **Size({**SIZE, "seed": 9})) is None
    assert already_simulated(copy, **SIZE, alphas=DEFAULT_ALPHAS[:2]) is None
    (copy / "sim_lowvol" / "pnl.parquet").write_bytes(b"")
    assert already_simulated(copy, **SIZE) is None
    assert already_simulated(tmp_path / "nowhere", **SIZE) is None


def run(*arguments: str) -> Any:
    return CliRunner().invoke(cli, ["simulate", *arguments])


def test_the_command_writes_once_then_reuses_then_refuses(tmp_path: Path) -> None:
    target = str(tmp_path / "demo")
    first = run("--out", target, *OPTIONS)
    assert (first.exit_code, first.output) == (0, "")
    before = contents(tmp_path)
    again = run("--out", target, *OPTIONS)
    assert (again.exit_code, again.output) == (0, f"reused {target}\n")
    other = run("--out", target, "--seed", "4", "--names", "24", "--weeks", "16")
    assert other.exit_code == SettingsError.exit_code
    assert "has other content" in other.stderr
    assert "Traceback" not in other.output
    assert contents(tmp_path) == before


def test_an_interrupted_simulation_is_rewritten(out: Path, tmp_path: Path) -> None:
    call = (
        "import os; from pathlib import Path; from examples.reference_engine import run, simulate\n"
        f"run._write_benchmark = lambda *_: os._exit(9)\nsimulate(Path('x'), **{SIZE})"
    )
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    killed = subprocess.run([sys.executable, "-c", call], cwd=tmp_path, env=environment, check=False)
    assert killed.returncode == 9
    assert already_simulated(tmp_path / "x", **SIZE) is None
    assert not list((tmp_path / "x").rglob("seal.json")), "a batch would build its drafts"
    assert simulate(tmp_path / "x", **SIZE)
    assert contents(tmp_path / "x") == contents(out)


def test_foreign_files_beside_an_interrupted_simulation_are_kept(tmp_path: Path) -> None:
    target = tmp_path / "x"
    (target / "sim_lowvol").mkdir(parents=True)
    (target / "sim_lowvol" / "mine.txt").write_text("kept")
    (target / "simulation.json").write_text('{"parameters": {"alphas": []}, "files": null}')
    before = contents(target)
    with pytest.raises(SettingsError, match="has other content"):
        simulate(target, **SIZE)
    assert contents(target) == before


@pytest.mark.parametrize("receipt", ["", "{", "[]", '{"parameters": 3, "files": null}'])
def test_a_foreign_receipt_is_refused_unchanged(tmp_path: Path, receipt: str) -> None:
    (tmp_path / "simulation.json").write_text(receipt)
    (tmp_path / "mine.txt").write_text("kept")
    with pytest.raises(SettingsError, match="has other content"):
        simulate(tmp_path, **SIZE)
    assert contents(tmp_path) == {"simulation.json": receipt.encode(), "mine.txt": b"kept"}


def test_a_finished_simulation_is_replaced_on_request_if_unchanged(tmp_path: Path) -> None:
    target = tmp_path / "demo"
    other = ["--seed", "4", "--names", "24", "--weeks", "16"]
    assert run("--out", str(target), *other).exit_code == 0
    assert run("--out", str(target), *OPTIONS, "--replace").exit_code == 0
    assert already_simulated(target, **SIZE)
    (target / "sim_lowvol" / "pnl.parquet").write_bytes(b"mine")
    before = contents(target)
    refused = run("--out", str(target), *other, "--replace")
    assert refused.exit_code == SettingsError.exit_code
    assert contents(target) == before


def test_the_command_prints_json(tmp_path: Path) -> None:
    target = tmp_path / "demo"
    for status in ("written", "reused"):
        answer = json.loads(run("--out", str(target), *OPTIONS, "--json").stdout)
        assert answer["status"] == status
        assert answer["seals"] == [str(target / spec.alpha_id) for spec in DEFAULT_ALPHAS]
    refused = run("--out", str(target), "--names", "30", "--weeks", "16", "--json")
    error = json.loads(refused.stdout)
    assert (refused.exit_code, error["error"], error["exit_code"]) == (2, "SettingsError", 2)
    assert "give --replace" in error["message"]


def test_the_demo_says_in_words_why_it_could_not_simulate(tmp_path: Path) -> None:
    (tmp_path / "simulation-1").mkdir()
    (tmp_path / "simulation-1" / "mine.txt").write_text("kept")
    refused = CliRunner().invoke(serve, ["demo", "--root", str(tmp_path)])
    assert refused.stderr.startswith(
        f"error: python -m pipeline simulate failed: {tmp_path}/simulation-1 has other content: "
    )


def test_the_command_refuses_a_folder_below_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    refused = run("--out", str(tmp_path / "file" / "new"), *OPTIONS)
    assert refused.exit_code == 2
    assert refused.stderr == f"error: --out: {tmp_path}/file/new is below a file; name another folder\n"


def test_the_command_on_a_full_disk_names_it_and_works_once_space_is_freed(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        target = disk.folder / "demo"
        with disk.full():
            refused = run("--out", str(target), *OPTIONS)
            assert refused.exit_code == 5
            assert refused.stderr == f"error: {target} cannot be written: No space left on device\n"
            assert already_simulated(target, **SIZE) is None
        assert run("--out", str(target), *OPTIONS).exit_code == 0


def test_the_command_explains_itself_and_its_bounds(tmp_path: Path) -> None:
    assert "simulated market" in run("--help").output
    refused = run("--out", str(tmp_path / "x"), "--names", "5")
    assert refused.exit_code == 2
    assert "--names" in refused.stderr
    assert "24" in refused.stderr
    assert run().exit_code == 2
