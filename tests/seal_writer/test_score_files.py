"""Scores and prices in files: formats, days, and the command that reads them."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from alpha_results_seal import Costs, Ledger, SealError

from pipeline.seal import Seal
from tests.seal_writer.command import Done, writer
from tests.seal_writer.random_scores import FRIDAYS, NAMES, SCORES, long, market, wide
from tests.support.small_disk import small_disk


def test_files_that_pandas_wrote_with_an_unnamed_index_are_read(tmp_path: Path) -> None:
    close = market(5)["close"]
    expected = Ledger.from_scores(SCORES, close)
    indexed = [frame.to_pandas().set_index("date").rename_axis(None) for frame in (SCORES, close)]
    numbered = [
        frame.to_pandas() for frame in (long(SCORES, "score"), SCORES, close)
    ]  # their index holds no days
    for number, written in enumerate(indexed):
        written.to_csv(tmp_path / f"indexed-{number}.csv")
        written.to_parquet(tmp_path / f"indexed-{number}.parquet")
    for number, written in enumerate(numbered):
        written.to_csv(tmp_path / f"numbered-{number}.csv")
    for scores, prices in (
        ("indexed-0.csv", "indexed-1.csv"),
        ("indexed-0.parquet", "indexed-1.parquet"),
        ("numbered-0.csv", "numbered-2.csv"),
        ("numbered-1.csv", "numbered-2.csv"),
    ):
        ledger = Ledger.from_scores(tmp_path / scores, tmp_path / prices)
        assert ledger.notes == expected.notes
        for kind, frame in expected.tables.items():
            assert frame.equals(ledger.tables[kind]), (scores, kind)


def test_an_unreadable_file_is_reported_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "scores.csv").write_text("date,A,B\n2024-01-05,1,5,2,5\n")
    with pytest.raises(SealError, match="cannot be read: found more fields") as refusal:
        Ledger.from_scores(tmp_path / "scores.csv", market(5))
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("date;symbol;score\n2024-01-05;N1;0,5\n", r"scores\.csv has one column, 'date;symbol;score': separate columns by commas"),
        ("date\tN1\n2024-01-05\t0.5\n", "separate columns by commas, and write decimals with a point"),
        ("date,N1,N1\n2024-01-05,1,2\n", r"scores\.csv has two columns of the name 'N1': rename or remove one"),
        ("2024-01-05,N1,0.5\n2024-01-05,N2,0.5\n", r"has no days \(its first columns: '2024-01-05', 'N1', '0.5'\)"),
        ("date,symbol,score\n2024-01-05,N1,0.5\n2024-01-05,N2,NA\n", "score has 'NA', which is not a number: write 1234.5"),
    ],
)  # fmt: skip
def test_an_unusable_csv_file_is_described(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "scores.csv").write_text(text)
    with pytest.raises(SealError, match=said):
        Ledger.from_scores(tmp_path / "scores.csv", market(5))


def test_late_fractions_and_blank_lines_of_a_csv_file_are_read(tmp_path: Path) -> None:
    ranks = wide(np.tile(np.arange(10.0), (FRIDAYS.size, 1)), FRIDAYS)
    ranks[-1, "N9"] = 0.5
    text = long(ranks, "score").write_csv().replace(".0\n", "\n")
    (tmp_path / "scores.csv").write_text(text + "\n\n")
    read = Ledger.from_scores(tmp_path / "scores.csv", market(5))
    assert read.tables["decisions"].equals(Ledger.from_scores(ranks, market(5)).tables["decisions"])


@pytest.mark.parametrize("in_file", [True, False])
@pytest.mark.parametrize("form", ["%m/%d/%Y", "%d-%m-%Y"])
def test_days_that_may_begin_with_their_month_are_refused(in_file: bool, form: str, tmp_path: Path) -> None:
    text = long(SCORES, "score").with_columns(pl.col("date").dt.strftime(form))
    early = text.filter(pl.col("date").str.contains(r"^0\d[/-](0\d|1[0-2])[/-]"))
    early.write_csv(tmp_path / "scores.csv")
    with pytest.raises(
        SealError, match=r"scores: the date '\d+[/-]\d+[/-]2024' may begin with the day or with the month"
    ):
        Ledger.from_scores(tmp_path / "scores.csv" if in_file else early, market(5))


def test_days_that_can_only_begin_with_the_day_are_read(tmp_path: Path) -> None:
    days_first = long(SCORES, "score").with_columns(pl.col("date").dt.strftime("%d/%m/%Y"))
    days_first.write_csv(tmp_path / "scores.csv")
    ledger = Ledger.from_scores(tmp_path / "scores.csv", market(5))
    assert ledger.tables["decisions"].equals(Ledger.from_scores(SCORES, market(5)).tables["decisions"])


def test_a_folder_named_as_a_file_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "scores.csv"
    folder.mkdir()
    with pytest.raises(SealError, match=re.escape(f"scores: {folder} is a folder; give a file.")):
        Ledger.from_scores(folder, market(5))


def test_a_code_of_digits_keeps_its_zeros_in_a_file(tmp_path: Path) -> None:
    digits = {name: f"00000{at}" for at, name in enumerate(NAMES)}
    long(SCORES.rename(digits), "score").write_csv(tmp_path / "scores.csv")
    prices = {name: frame.rename(digits) for name, frame in market(5).items()}
    ledger = Ledger.from_scores(tmp_path / "scores.csv", prices)
    assert ledger.tables["trades"]["symbol"].unique().is_in(list(digits.values())).all()


@pytest.mark.parametrize("offset", ["+09:00", "-05:00"])
def test_instants_with_an_offset_in_a_file_are_of_their_local_day(tmp_path: Path, offset: str) -> None:
    stamped = pl.format("{} 00:00:00" + offset, pl.col("date"))
    close = market(5)["close"]
    long(SCORES, "score").with_columns(date=stamped).write_csv(tmp_path / "scores.csv")
    long(close, "close").with_columns(date=stamped).write_csv(tmp_path / "prices.csv")
    ledger = Ledger.from_scores(tmp_path / "scores.csv", tmp_path / "prices.csv")
    expected = Ledger.from_scores(SCORES, close)
    for kind, frame in expected.tables.items():
        assert frame.equals(ledger.tables[kind]), kind


def run(folder: Path, *arguments: str) -> Done:
    with contextlib.chdir(folder):
        return writer("import", *arguments)


def test_the_command_writes_the_same_seal_and_prints_its_assumptions(tmp_path: Path) -> None:
    scores = tmp_path / "[2]" / "my scores.csv"  # no pattern
    scores.parent.mkdir()
    long(SCORES, "score").write_csv(scores)
    long(market(5)["close"], "close").write_parquet(tmp_path / "prices.parquet")
    command = [sys.executable, "-m", "alpha_results", "import", str(scores), "prices.parquet"]
    done = subprocess.run(
        [*command, "--tails", "0.3", "--fee", "0.001"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    ledger = Ledger.from_scores(SCORES, market(5)["close"], tails=0.3, costs=Costs(fee=0.001))
    assert [f"assumed: {note}" for note in ledger.notes] == done.stdout.splitlines()[1:]
    seal = Seal.open(str(tmp_path / "seals" / "Test_my_scores"))
    assert seal.alpha_id == "Test_my_scores"
    assert seal.table("portfolio").equals(ledger.tables["portfolio"].sort("book", "date"))
    again = run(tmp_path, str(scores), "prices.parquet", "--json")
    assert again.returncode == 2
    assert "is not empty" in json.loads(again.stdout)["problems"][0]
    hours = ("--hours", "Europe/Berlin", "09:00", "17:30")
    other = run(tmp_path, str(scores), "prices.parquet", "--json", "--out", "other", *hours)
    assert json.loads(other.stdout)["rows"]["rebalances"] == 14
    assert not any("no calendar" in note for note in json.loads(other.stdout)["notes"])


def test_the_command_on_a_full_disk_names_the_file_and_leaves_none(tmp_path: Path) -> None:
    long(SCORES, "score").write_csv(tmp_path / "scores.csv")
    long(market(5)["close"], "close").write_parquet(tmp_path / "prices.parquet")
    with small_disk(tmp_path / "disk") as disk:
        with disk.full():
            done = run(tmp_path, "scores.csv", "prices.parquet", "--out", "disk/seal")
            assert (done.returncode, done.stdout) == (5, "")
            assert re.fullmatch(r"error: disk/\S+\.parquet: No space left on device\n", done.stderr)
            assert [path.name for path in disk.folder.iterdir()] == ["filler"]
        assert run(tmp_path, "scores.csv", "prices.parquet", "--out", "disk/seal").returncode == 0


@pytest.mark.parametrize(
    ("output", "encoding", "code", "error"),
    [
        ("/dev/full", "utf-8", 5, "error: the output cannot be written: No space left on device\n"),
        ("/dev/null", "ascii", 0, ""),
        (None, "utf-8", 0, ""),
    ],
)
def test_the_command_on_an_output_that_cannot_be_written(
    output: str | None, encoding: str, code: int, error: str, tmp_path: Path
) -> None:
    long(SCORES, "score").write_csv(tmp_path / "scores.csv")
    long(market(5)["close"], "close").write_parquet(tmp_path / "prices.parquet")
    to = ">&-" if output is None else f">{output}"
    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m alpha_results import scores.csv prices.parquet --out größe {to}"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONIOENCODING": encoding},
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (code, error)
    assert (tmp_path / "größe" / "seal.json").exists()
