"""The command that writes tear sheets: arguments, files and failures."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

import datasets
from tests.report.written import report
from tests.support.contract_app import FULL
from tests.support.small_disk import small_disk


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["Test_nowhere"], 9, "publishes no alpha 'Test_nowhere'"),
        ([f"{FULL}s"], 9, f"did you mean {FULL}"),
        (["x"], 9, "it publishes "),
        ([FULL, "--book", "sideways"], 2, "has no book 'sideways'; it has long_short, long_only"),
        ([FULL, FULL], 2, "give one to 6 alphas, each once"),
        ([FULL, "--from", "2021-13-01"], 2, "'2021-13-01' is not a valid date; give one as YYYY-MM-DD"),
        (
            [FULL, "--from", "2022-01-02", "--to", "2022-01-01"],
            2,
            "the first day, 2022-01-02, is after the last, 2022-01-01",
        ),
        ([FULL, "--benchmark", "SPY"], 2, "no market data to take SPY from"),
        (
            [FULL, "--market-data", "nowhere.parquet"],
            2,
            "--market-data or ALPHA_RESULTS_MARKET_DATA: nowhere.parquet is neither a file",
        ),
        ([FULL, "--datasets", "nowhere"], 2, "there is no such folder"),
        ([FULL, "--out", "no/such/folder/sheet.html"], 2, "cannot be written: No such file or directory"),
        ([FULL, "--out", "sheet.pdf", "--pdf"], 2, "give a name that ends in .html"),
    ],
)
def test_invalid_arguments_are_reported_in_one_line_and_no_sheet_is_written(
    arguments: list[str], code: int, says: str, root: Path, tmp_path: Path
) -> None:
    done = report("--datasets", root, "--out", "sheet.html", *arguments, folder=tmp_path)
    assert done.exit_code == code
    assert done.stderr.startswith("error: ")
    assert says in done.stderr
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
    output = report("--datasets", root, "--out", "sheet.html", *arguments, "--json", folder=tmp_path)
    assert says in json.loads(output.stdout)["message"]


def test_a_pipe_or_device_is_not_replaced_by_a_sheet(root: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "sheet.html")
    done = report("--datasets", root, "--out", "sheet.html", FULL, folder=tmp_path)
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert "sheet.html is not a file and would be replaced" in done.stderr
    assert (tmp_path / "sheet.html").is_fifo()


def test_without_a_browser_no_file_is_written(root: Path, tmp_path: Path) -> None:
    empty = tmp_path / "path"
    empty.mkdir()
    done = report(FULL, "--datasets", root, "--out", "sheet.html", "--pdf", folder=tmp_path, PATH=str(empty))
    assert done.exit_code == 2
    assert "no browser that prints is on the PATH: install Chromium" in done.stderr
    assert list(tmp_path.iterdir()) == [empty]


def test_a_failing_browser_leaves_existing_files(root: Path, tmp_path: Path) -> None:
    programs = tmp_path / "path"
    programs.mkdir()
    (programs / "chromium").write_text("#!/bin/sh\necho 'it crashed' >&2\nexit 3\n")
    (programs / "chromium").chmod(0o755)
    (tmp_path / "sheet.html").write_text("the one before")
    path = f"{programs}:{Path(shutil.which('sh') or '/bin/sh').parent}"
    done = report(FULL, "--datasets", root, "--out", "sheet.html", "--pdf", folder=tmp_path, PATH=path)
    assert done.exit_code == 7
    assert "did not print the page (exit code 3): it crashed" in done.stderr
    assert (tmp_path / "sheet.html").read_text() == "the one before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["path", "sheet.html"]


def test_a_damaged_file_is_reported_and_no_sheet_is_written(tmp_path: Path, root: Path) -> None:
    copy = tmp_path / "published"
    shutil.copytree(root, copy)
    (ledger,) = copy.glob(f"alphas/alpha_id={FULL}/*/pnl/book=long_short/part-0.parquet")
    ledger.write_bytes(ledger.read_bytes()[:-9] + bytes(9))
    done = report(FULL, "--datasets", copy, "--out", "sheet.html", folder=tmp_path)
    assert done.exit_code == 4, done.stderr
    assert not (tmp_path / "sheet.html").exists()


def test_the_root_is_read_from_its_variable_and_json_lists_the_files(root: Path, tmp_path: Path) -> None:
    done = report(FULL, "--out", "sheet.html", "--json", folder=tmp_path, ALPHA_RESULTS_DATASETS=str(root))
    assert done.exit_code == 0, done.stderr
    snapshot = datasets.open(root)[FULL].id
    assert json.loads(done.stdout) == {"alphas": {FULL: snapshot}, "html": "sheet.html", "pdf": None}


def test_no_part_of_a_sheet_is_left_on_a_full_disk(root: Path, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk, disk.full():
        done = report("--datasets", root, "--out", "sheet.html", FULL, folder=disk.folder)
        assert done.exit_code == 5, done.stderr
        assert "sheet.html cannot be written: " in done.stderr
        assert [file.name for file in disk.folder.iterdir()] == ["filler"]
