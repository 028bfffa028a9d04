"""The writer completes tables, explains errors, and writes atomically."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest
from alpha_results_seal import Calendar, Costs, Ledger, SealError, SealRefused, SealWriter

from pipeline.rules.checking import check
from pipeline.seal import Seal
from schemas.documents.client_code import seal_columns
from tests.seal_writer.command import writer as run
from tests.support.processes import REPOSITORY

BEGAN = datetime(2024, 9, 1, tzinfo=UTC)
SOURCE = REPOSITORY / "clients" / "seal-writer" / "src" / "alpha_results_seal"
DAYS = [date(2024, 1, 1) + timedelta(days=at) for at in range(30)]
DERIVED = {
    "portfolio": [
        "starting_equity", "cash_start", "ending_equity", "position_value_end", "market_pnl", "execution_cost",
        "borrow_cashflow", "cash_carry", "rounding_adjustment", "gross_notional", "net_notional", "gross_exposure",
        "net_exposure", "largest_abs_weight", "turnover_notional", "turnover",
    ],
    "positions": ["signed_notional", "weight"],
    "trades": ["execution_cost"],
}  # fmt: skip
"""Kind -> columns that follow from others."""


@pytest.fixture(scope="module")
def tables() -> dict[str, pl.DataFrame]:
    close = pl.DataFrame(
        {"date": DAYS, "AAA": [10 + at % 7 for at in range(30)], "BBB": [20 - at % 5 for at in range(30)]}
    )
    weights = close.filter(pl.col("date").dt.weekday() == 5).with_columns(
        AAA=pl.Series([0.5, -0.2, 0.0, 0.4]), BBB=pl.Series([-0.5, 0.0, 0.3, -0.1])
    )
    costs = Costs(fee=0.001, impact=0.001, borrow=0.0001, interest=0.0001)
    return dict(Ledger.from_weights(weights, close, costs, Calendar("UTC", "08:00", "16:30")).tables)


def begun(folder: Path) -> SealWriter:
    return SealWriter(folder, alpha_id="Test_own", engine=("tests", "1"), started_at=BEGAN, sealed_at=BEGAN)


def filled(folder: Path, tables: dict[str, Any]) -> SealWriter:
    made = begun(folder)
    for kind, frame in tables.items():
        made.add_table(kind, frame)
    return made


@pytest.mark.parametrize("kept", [[], ["ending_equity"], ["market_pnl", "cash_start"]], ids=str)
def test_derived_columns_pass_the_strict_check(
    tables: dict[str, pl.DataFrame], kept: list[str], tmp_path: Path
) -> None:
    bare = {
        kind: frame.drop([name for name in DERIVED.get(kind, []) if name not in kept])
        for kind, frame in tables.items()
    }
    seal = Seal.open(str(filled(tmp_path / "seal", bare).write()))
    report = check(seal)
    assert report.violations == report.warnings == ()
    for kind, names in DERIVED.items():
        result = seal.table(kind)
        for name in names:
            assert result[name].to_list() == pytest.approx(tables[kind][name].to_list(), abs=1e-12), name


def test_exposures_of_a_book_that_owes_more_than_it_owns_are_derived(tmp_path: Path) -> None:
    days, closes = DAYS[:4], [10.0, 15.0, 25.0, 28.0]
    open_, close = (
        pl.Series([datetime(x.year, x.month, x.day, hour, tzinfo=UTC) for x in days]) for hour in (8, 16)
    )
    short = pl.DataFrame({"date": days, "symbol": "AAA"}).insert_column(0, pl.lit("long_short").alias("book"))
    moves = [0.0, -0.5, -1.0, -0.3]
    fill = {
        "symbol": "AAA",
        "phase": "open",
        "quantity": -0.1,
        "mid_price": 10.0,
        "fill_price": 10.0,
        "fee": 0.0,
    }
    ledger = pl.DataFrame({"date": days, "timestamp": close, "cash_end": 2.0})
    writer = begun(tmp_path / "seal")
    writer.add_table(
        "trades",
        pl.DataFrame(
            [{"book": "long_short", "timestamp": open_[0], "decision_at": date(2023, 12, 29)} | fill]
        ),
    )
    writer.add_table("positions", short.with_columns(quantity=pl.lit(-0.1), mark_price=pl.Series(closes)))
    writer.add_table(
        "pnl", short.with_columns(market_pnl=pl.Series(moves), execution_cost=0.0, borrow_cashflow=0.0)
    )
    writer.add_table("portfolio", ledger.insert_column(0, pl.lit("long_short").alias("book")))
    portfolio = Seal.open(str(writer.write())).table("portfolio")
    assert portfolio["ending_equity"].to_list() == pytest.approx([1.0, 0.5, -0.5, -0.8])
    assert portfolio["largest_abs_weight"].to_list() == pytest.approx([1.0, 3.0, 5.0, 3.5])


def test_frames_of_pandas_make_the_same_seal(tables: dict[str, pl.DataFrame], tmp_path: Path) -> None:
    one = filled(tmp_path / "one", tables).write()
    other = filled(tmp_path / "other", {kind: frame.to_pandas() for kind, frame in tables.items()}).write()
    for kind in tables:
        assert Seal.open(str(one)).table(kind).equals(Seal.open(str(other)).table(kind)), kind


def test_a_seal_lists_every_file_with_its_digest_and_its_code(
    tables: dict[str, pl.DataFrame], tmp_path: Path
) -> None:
    code = tmp_path / "code"
    code.mkdir()
    (code / "signal.py").write_text("print()\n")
    folder = filled(tmp_path / "seal", tables).add_source(code).add_description({"name": "Mine"}).write()
    manifest = json.loads((folder / "seal.json").read_bytes())
    assert set(manifest["kinds"]) == {*tables, "metrics", "description", "source"}
    for kind, entry in manifest["kinds"].items():
        files = entry["files"] if kind == "source" else {"": entry["sha256"]}
        for name, digest in files.items():
            content = (folder / (entry["path"] + name)).read_bytes()
            assert hashlib.sha256(content).hexdigest() == digest
    assert check(Seal.open(str(folder))).violations == ()


def test_a_seal_that_would_be_refused_is_explained_and_leaves_no_files(
    tables: dict[str, pl.DataFrame], tmp_path: Path
) -> None:
    wrong = tables | {"trades": tables["trades"].slice(1)}
    with pytest.raises(
        SealRefused, match=r"positions\.fills \(positions\.parquet\): quantity is not the previous quantity"
    ):
        filled(tmp_path / "seal", wrong).write()
    assert list(tmp_path.iterdir()) == []


def test_a_session_sealed_twice_doubles_no_position(tables: dict[str, pl.DataFrame], tmp_path: Path) -> None:
    ledger = tables["portfolio"]
    twice = {**tables, "portfolio": pl.concat([ledger, ledger.tail(1)])}
    twice["positions"] = tables["positions"].drop("signed_notional", "weight")
    with pytest.raises(SealRefused) as refused:
        filled(tmp_path / "seal", twice).write()
    (problem,) = (x for x in refused.value.problems if x.startswith("table.key"))
    assert problem.startswith("table.key (portfolio.parquet): 2 rows with the same (book, date)")


def test_a_warning_is_refused_unless_allowed(tables: dict[str, pl.DataFrame], tmp_path: Path) -> None:
    figure = {
        "scope": "overall",
        "period": None,
        "unit": "ratio",
        "source_kind": "metric",
        "annualised": True,
    }
    wrong = [figure | {"name": "information_ratio", "value": 99.0}]
    with pytest.raises(SealRefused, match=r"metrics\.reproduced"):
        filled(tmp_path / "seal", tables).add_metrics(wrong).write()
    assert (filled(tmp_path / "seal", tables).add_metrics(wrong).write(strict=False) / "seal.json").is_file()


@pytest.mark.parametrize("at", ["folder", "seal.json"])
def test_an_interrupted_writer_leaves_no_seal(
    tables: dict[str, pl.DataFrame], at: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace, names = os.replace, list[str]()

    def stopped(one: Path, other: Path) -> None:
        if not Path(other).is_relative_to(tmp_path):  # belongs to an application of other tests
            replace(one, other)
            return
        assert list(tmp_path.rglob("seal.json")) == []
        names.append(other.name)
        if len(names) == (1 if at == "folder" else 2):
            raise OSError("the disk is gone")
        replace(one, other)

    monkeypatch.setattr(os, "replace", stopped)
    with pytest.raises(OSError, match="the disk is gone"):
        filled(tmp_path / "seal", tables).write()
    assert list(tmp_path.rglob("seal.json")) == []


def test_without_the_rules_a_seal_is_written_unchecked(
    tables: dict[str, pl.DataFrame], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pipeline.rules.checking", None)
    assert (filled(tmp_path / "seal", tables).write() / "seal.json").is_file()


def test_a_rule_that_fails_is_an_error_of_this_package(
    tables: dict[str, pl.DataFrame], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OverflowError("too large")

    monkeypatch.setattr("pipeline.rules.ledger_rules.differ", fail)
    with pytest.raises(
        SealError, match=r"portfolio\.identity failed because of a bug, OverflowError: too large"
    ):
        filled(tmp_path / "seal", tables).write()
    assert not (tmp_path / "seal").exists()


@pytest.mark.parametrize(
    ("kind", "change", "said"),
    [
        ("decisions", lambda x: x.rename({"score": "scores"}), "no column 'scores': did you mean score"),
        ("pnl", lambda x: x.with_columns(net_pnl=0.0), "no column 'net_pnl'; it has book, date"),
        ("signals", lambda x: x, "'signals' is not a table of a seal: it is one of rebalances"),
        (
            "trades",
            lambda x: x.to_pandas().assign(timestamp=pd.Timestamp("2024-01-08")),
            r"trades.timestamp is datetime64\[.s\] without time zone: localise it \(tz_localize\('UTC'\)",
        ),
        (
            "trades",
            lambda x: x.with_columns(pl.col("timestamp").cast(pl.String)),
            "trades.timestamp is text and has to be an instant: write the moment, in UTC",
        ),
        (
            "positions",
            lambda x: x.with_columns(pl.col("quantity").cast(pl.String)),
            "is text and has to be a number",
        ),
    ],
)
def test_a_table_that_breaks_the_format_is_refused_when_it_is_added(
    kind: str, change: Any, said: str, tables: dict[str, pl.DataFrame], tmp_path: Path
) -> None:
    with pytest.raises(SealError, match=said):
        begun(tmp_path / "seal").add_table(kind, change(tables.get(kind, tables["trades"])))


def test_figures_of_several_calls_are_all_sealed(tables: dict[str, pl.DataFrame], tmp_path: Path) -> None:
    figure = {
        "scope": "overall",
        "period": None,
        "value": None,
        "unit": "ratio",
        "source_kind": "fact",
        "annualised": False,
    }
    writer = filled(tmp_path / "seal", tables)
    for name in ("pnl", "max_drawdown"):
        writer.add_metrics({"name": name, **figure} for name in (name,))  # type: ignore[arg-type]
    sealed = json.loads((writer.write(strict=False) / "metrics.json").read_bytes())
    assert [record["name"] for record in sealed["records"]] == ["pnl", "max_drawdown"]


def test_a_seal_is_written_once(tables: dict[str, pl.DataFrame], tmp_path: Path) -> None:
    folder = filled(tmp_path / "seal", tables).write()
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(SealError, match="a seal is written once"):
        filled(folder, tables).write()
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    again = filled(tmp_path / "again", tables).write()
    assert {path.name: path.read_bytes() for path in again.iterdir()} == before


def test_a_run_is_sealed_when_it_is_written(tables: dict[str, pl.DataFrame], tmp_path: Path) -> None:
    writer = SealWriter(tmp_path / "seal", alpha_id="Test_own")
    for kind, frame in tables.items():
        writer.add_table(kind, frame)
    written = datetime.now(UTC)
    manifest = json.loads((writer.write() / "seal.json").read_bytes())
    started, sealed = (datetime.fromisoformat(manifest[name]) for name in ("started_at", "sealed_at"))
    assert started < written <= sealed


def test_a_missing_file_of_the_code_is_refused(tables: dict[str, pl.DataFrame], tmp_path: Path) -> None:
    with pytest.raises(SealError, match=r"there is no file or folder \S*/absent\.py: correct the path"):
        filled(tmp_path / "seal", tables).add_source(tmp_path / "absent.py")


def test_two_files_of_the_code_with_one_name_are_refused(
    tables: dict[str, pl.DataFrame], tmp_path: Path
) -> None:
    for folder in ("signal", "book"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "rules.py").write_text(f"# {folder}\n")
    writer = filled(tmp_path / "seal", tables).add_source(tmp_path / "signal")
    with pytest.raises(SealError, match=r"book/rules\.py would replace another file named rules\.py"):
        writer.add_source(tmp_path / "book")


def test_metrics_and_description_of_another_shape_are_refused(tmp_path: Path) -> None:
    writer = begun(tmp_path / "seal")
    with pytest.raises(SealError, match="metrics are a list of records, but 'pnl' is not one"):
        writer.add_metrics({"pnl": 1.0})  # type: ignore[arg-type]
    with pytest.raises(SealError, match="metrics are a list of records, but 3 is not one"):
        writer.add_metrics(3)  # type: ignore[arg-type]
    with pytest.raises(SealError, match="ledger is 3: give a Ledger"):
        writer.add_ledger(3)  # type: ignore[arg-type]
    with pytest.raises(SealError, match=r"a description is a mapping such as .*, not 'Momentum'"):
        writer.add_description("Momentum")  # type: ignore[arg-type]


def test_an_engine_without_a_version_is_refused() -> None:
    with pytest.raises(
        SealError, match=r"engine is 'ml': give its name and version, such as \('my-engine', '3.2'\)"
    ):
        SealWriter("seal", alpha_id="Test_a", engine="ml")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("head", "said"),
    [
        ({"alpha_id": None}, "alpha_id None is invalid: use 1 to 128 letters"),
        ({"engine": 3}, "engine is 3: give its name and version"),
        (
            {"sealed_at": "2024-01-05T16:00:00Z"},
            "sealed_at is '2024-01-05T16:00:00Z': give an instant with a time zone",
        ),
        ({"started_at": date(2024, 1, 5)}, "started_at is datetime.date.*: give an instant with a time zone"),
        ({"smoothing": True}, "smoothing is True: give a mapping such as {'applied': False}"),
    ],
)
def test_a_head_of_another_type_is_named(head: dict[str, Any], said: str) -> None:
    with pytest.raises(SealError, match=said):
        SealWriter("seal", **{"alpha_id": "Test_a", **head})


def test_hours_that_are_not_text_are_named() -> None:
    with pytest.raises(SealError, match=r"9\.5 is not a time of day: write HH:MM"):
        Calendar("America/New_York", 9.5, 16)  # type: ignore[arg-type]


@pytest.mark.parametrize("sessions", ["XNYS", 3])
def test_sessions_that_are_not_days_are_named(sessions: Any) -> None:
    calendar = Calendar("America/New_York", "09:30", "16:00", sessions)
    days = {"date": [date(2024, 1, 4), date(2024, 1, 5)], "A": [1.0, 1.0]}
    with pytest.raises(SealError, match=r"Calendar\.sessions are not days .*: give datetime\.date"):
        Ledger.from_weights(pl.DataFrame(days), pl.DataFrame(days), Costs(), calendar)


def test_a_folder_without_a_seal_does_not_hide_the_results_of_others(
    tables: dict[str, pl.DataFrame], tmp_path: Path
) -> None:
    seal = str(filled(tmp_path / "seal", tables).write())
    done = run("check", str(tmp_path / "absent"), seal)
    assert done.returncode == 2
    assert done.stdout.splitlines()[0].startswith(f"error: {tmp_path}/absent: there is no such folder")
    assert done.stdout.splitlines()[1] == f"{seal}: accepted"
    answer = json.loads(run("check", "--json", seal, str(tmp_path / "absent")).stdout)
    assert [entry.get("refused") for entry in answer["seals"]] == [False, None]
    assert answer["seals"][1]["message"].startswith(f"{tmp_path}/absent: there is no such folder")


def test_a_url_is_refused_as_target() -> None:
    with pytest.raises(SealError, match="is a URL, and a seal is written to a local disk"):
        SealWriter("s3://bucket/seal", alpha_id="Test_own", engine=("tests", "1"), started_at=BEGAN)


def test_the_declared_columns_are_up_to_date() -> None:
    assert (SOURCE / "columns.json").read_text("utf-8") == seal_columns(), "run `just docs` to write it again"
