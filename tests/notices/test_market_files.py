"""Files of market prices: their rules, their days and names, and the commands that read them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

import datasets
from examples.reference_engine import (
    Market,
    RunRecord,
    write_seal,
)
from pipeline.batch.many import build_many
from pipeline.group import cli
from pipeline.notices.market.price_file import read_prices
from schemas.errors import SettingsError
from tests.notices.beside_prices import (
    MARKET,
    NEEDING_MORE,
    SPEC,
    lifted,
    outcomes_of,
    prices_of,
    run_of,
    seal_of,
    unmet,
)


def test_without_prices_the_flag_is_named(market: Market, tmp_path: Path) -> None:
    outcomes = outcomes_of(seal_of(market, tmp_path), None)
    assert list(outcomes) == MARKET
    assert {outcome.reason for outcome in outcomes.values()} == {
        "no market prices were given: give a file with --prices or ALPHA_RESULTS_PRICES"
    }


def test_symbols_of_market_prices_may_have_a_slash_as_sealed_ones_may(prices: Path, tmp_path: Path) -> None:
    pl.read_parquet(prices).with_columns(symbol="A/" + pl.col("symbol")).write_parquet(tmp_path / "a.parquet")
    assert all(name.startswith("A/") for name in read_prices(str(tmp_path / "a.parquet")).names.categories)


def test_only_names_and_days_of_the_file_are_compared(market: Market, prices: Path, tmp_path: Path) -> None:
    seal = seal_of(market, tmp_path)
    complete = outcomes_of(seal, prices)
    frame = pl.read_parquet(prices)
    half = frame.filter((pl.col("symbol") <= market.symbols[19]) & (pl.col("date") > market.schedule[200]))
    half.write_parquet(tmp_path / "half.parquet")
    partial = outcomes_of(seal, tmp_path / "half.parquet")
    assert unmet(partial) <= {*NEEDING_MORE, "market.foresight"}
    for notice in ("market.prices", "market.forward_returns"):
        assert 20 <= partial[notice].details["cells"] < complete[notice].details["cells"] / 2
    frame.with_columns(symbol="X" + pl.col("symbol")).write_parquet(tmp_path / "others.parquet")
    others = outcomes_of(seal, tmp_path / "others.parquet")
    assert others.pop("market.sessions").outcome == "pass"
    assert {outcome.outcome for outcome in others.values()} == {"not_checked"}
    assert others["market.prices"].reason == "the prices cover 0 returns of marks; 20 are needed"
    assert others["market.fills"].reason == "the prices cover no fill"


def on_saturdays(frame: pl.DataFrame) -> pl.DataFrame:
    """Add the names of an exchange that is open every day but Friday."""
    others = frame.filter(pl.col("date").dt.weekday() == 5).with_columns(pl.col("date").dt.offset_by("1d"))
    weekdays = frame.filter(pl.col("date").dt.weekday() < 5)
    return pl.concat([frame, pl.concat([weekdays, others]).with_columns(symbol="X" + pl.col("symbol"))])


def with_a_longer_benchmark(frame: pl.DataFrame) -> pl.DataFrame:
    """Cut the first half of the prices off, except for one name that the run does not hold."""
    benchmark = frame.unique("date").with_columns(symbol=pl.lit("SIMSPY"))
    half = frame["date"].unique().sort()[frame["date"].n_unique() // 2]
    return pl.concat([frame.filter(pl.col("date") >= half), benchmark])


@pytest.mark.parametrize("change", [on_saturdays, with_a_longer_benchmark])
def test_days_of_other_names_are_no_sessions_of_the_run(
    market: Market, prices: Path, tmp_path: Path, change: Callable[[pl.DataFrame], pl.DataFrame]
) -> None:
    file = tmp_path / "mixed.parquet"
    change(pl.read_parquet(prices)).write_parquet(file)
    run = run_of(market)
    tables = {**run.tables, "decisions": run.tables["decisions"].drop("entry_at", "maturity_at")}
    seal = write_seal(tmp_path / "seal", RunRecord(run.manifest, tables, None, None, None))
    outcomes = outcomes_of(seal, file)
    assert unmet(outcomes) <= NEEDING_MORE, outcomes
    assert outcomes["market.forward_returns"].details["cells"] > 1_000


def test_forward_returns_from_open_to_open_need_opens(market: Market, prices: Path, tmp_path: Path) -> None:
    pl.read_parquet(prices).drop("open").write_parquet(tmp_path / "closes.parquet")
    outcomes = outcomes_of(seal_of(market, tmp_path), tmp_path / "closes.parquet")
    assert outcomes["market.prices"].outcome == "pass"
    assert "no open" in (outcomes["market.forward_returns"].reason or "")
    assert outcomes["market.fills"].outcome == "not_checked"


def test_without_opens_calm_names_are_not_compared_with_closes(market: Market, tmp_path: Path) -> None:
    """Prices move by a quarter of what they usually do, so that many opens are near the closes."""
    calm = replace(
        market, opens=100 * (market.opens / 100) ** 0.25, closes=100 * (market.closes / 100) ** 0.25
    )
    file = prices_of(calm, tmp_path / "prices")
    seal = seal_of(calm, tmp_path)
    assert outcomes_of(seal, file)["market.forward_returns"].value == 0.0
    pl.read_parquet(file).drop("open").write_parquet(file)
    outcomes = outcomes_of(seal, file)
    for notice in ("market.forward_returns", "market.forward_bias", "market.forward_drift"):
        assert (
            outcomes[notice].reason == "the prices have no open, and forward returns do not match the closes"
        )
    assert outcomes["market.fills"].reason == "fills are at neither the open nor the close of the prices"


def test_a_run_without_ledger_has_its_forward_returns_compared(
    market: Market, prices: Path, tmp_path: Path
) -> None:
    run = run_of(market)
    tables = {kind: run.tables[kind] for kind in ("rebalances", "decisions")}
    tables["decisions"] = tables["decisions"].drop("entry_at", "maturity_at")
    seal = write_seal(tmp_path / "seal", RunRecord(run.manifest, tables, None, None, None))
    outcomes = outcomes_of(seal, prices)
    assert outcomes["market.forward_returns"].value == 0.0
    assert outcomes["market.prices"].reason == (
        "it needs portfolio and positions, which the run did not all seal"
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda frame: frame.drop("close"), "it has the columns date, symbol, close, but there is no close"),
        (lambda frame: frame.with_columns(pl.col("date").cast(pl.String)), "date is a DATE"),
        (lambda frame: frame.with_columns(-pl.col("close")), "close is a finite number above 0"),
        (lambda frame: pl.concat([frame, frame.tail(1)]), "a symbol has one row per day"),
    ],
    ids=["no column", "type", "bound", "twice"],
)
def test_a_file_that_breaks_a_rule_is_refused(
    market: Market,
    prices: Path,
    tmp_path: Path,
    change: Callable[[pl.DataFrame], pl.DataFrame],
    message: str,
) -> None:
    broken = tmp_path / "broken.parquet"
    change(pl.read_parquet(prices)).write_parquet(broken)
    with pytest.raises(SettingsError) as refused:
        outcomes_of(seal_of(market, tmp_path), broken)
    for part in (message, "broken.parquet", "correct the file"):
        assert part in str(refused.value)


def test_a_file_that_breaks_a_rule_is_a_usage_error(market: Market, prices: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.parquet"
    pl.read_parquet(prices).drop("close").write_parquet(broken)
    seal = seal_of(market, tmp_path)
    for command in (["check"], ["build", "--datasets", str(tmp_path / "root")]):
        result = CliRunner().invoke(cli, [*command, "--prices", str(broken), str(seal)])
        assert result.exit_code == 2
        assert "error: --prices: market prices " in result.output
        assert "there is no close" in result.output
    assert not list((tmp_path / "root").rglob("current*"))


def test_an_address_without_prices_is_a_usage_error(tmp_path: Path) -> None:
    (tmp_path / "text.parquet").write_text("no Parquet")
    for address, message in (("absent", "correct the address"), ("text.parquet", "it is a Parquet file")):
        with pytest.raises(SettingsError, match=rf"^--prices: .*{message}"):
            list(build_many(["seal"], tmp_path / "root", prices=tmp_path / address))


def test_a_batch_passes_the_setting_on_and_verify_agrees(
    market: Market, prices: Path, tmp_path: Path
) -> None:
    seal_of(lifted(market), tmp_path / "seals")
    root = str(tmp_path / "root")
    arguments = ["build", "--datasets", root, "--from", str(tmp_path / "seals"), "--jobs", "2"]
    folder = shutil.copytree(prices.parent, tmp_path / "folder")
    result = CliRunner().invoke(cli, arguments, env={"ALPHA_RESULTS_PRICES": str(folder)})
    assert result.exit_code == 0, result.output
    assert "notice market.drift" in result.output
    recorded = {entry["notice"]: entry for entry in datasets.open(root)[SPEC.alpha_id].manifest.notices}
    assert recorded["market.drift"]["outcome"] == "notice"
    assert recorded["market.prices"]["outcome"] == "pass"
    assert CliRunner().invoke(cli, ["verify", "--datasets", root]).exit_code == 0
