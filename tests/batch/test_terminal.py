"""Terminal output: progress and results do not overwrite each other, failures name rule and fix, nothing is truncated."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.processes import REPOSITORY, environment
from tests.support.seals import make_seal
from tests.support.terminal import in_a_terminal

PROGRAM = (sys.executable, "-m", "pipeline")


@pytest.fixture(scope="module")
def seals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two good seals and one that breaks a rule, in a folder with a long name."""
    folder = tmp_path_factory.mktemp("seals") / ("a-rather-long-name-of-a-folder-" * 3)
    folder.mkdir()
    for name in ("Test_one", "Test_two", "Test_broken"):
        make_seal(folder, alpha_id=name)
    (folder / "Test_broken" / "decisions.parquet").write_bytes(b"not a table")
    return folder


def piped(*arguments: str) -> str:
    done = subprocess.run(
        [*PROGRAM, *arguments], cwd=REPOSITORY, env=environment(), capture_output=True, text=True, check=False
    )
    assert "Traceback" not in done.stderr
    return done.stdout


def test_a_batch_on_a_terminal_keeps_results_and_clears_progress(seals: Path, tmp_path: Path) -> None:
    code, shown = in_a_terminal(
        [*PROGRAM, "build", "--from", str(seals), "--datasets", str(tmp_path / "root")],
        REPOSITORY,
        columns=90,
    )
    assert code == 1
    for name in ("Test_one", "Test_two"):
        assert re.search(rf"^{name}: published snapshot [0-9a-f]{{20}}, .*$", shown, re.MULTILINE), shown
    before, _, table = shown.partition("Summary")
    assert "0/3" not in shown
    assert "building" not in shown
    assert "━━" not in before, "a bar of progress is left over"
    cells = [[cell.strip() for cell in line.split("│")[1:-1]] for line in table.splitlines() if "│" in line]
    path, _, reason = (
        "".join(column) for column in zip(*(row for row in cells if len(row) == 3), strict=True)
    )
    assert path == str(seals / "Test_broken")
    assert reason.startswith("seal.digest")
    assert "Fix:" in reason
    assert "…" not in table


def test_results_go_to_the_redirected_output_while_progress_stays_on_the_terminal(
    seals: Path, tmp_path: Path
) -> None:
    results = tmp_path / "results.txt"
    command = [*PROGRAM, "build", "--from", str(seals), "--datasets", str(tmp_path / "root")]
    _, shown = in_a_terminal(command, REPOSITORY, stdout=results)
    assert "published snapshot" not in shown
    assert results.read_text().count("published snapshot") == 2
    assert "\x1b" not in results.read_text()


def test_check_on_a_terminal_shows_each_report_in_full(seals: Path) -> None:
    names = ("Test_one", "Test_two")
    _, shown = in_a_terminal([*PROGRAM, "check", *(str(seals / name) for name in names)], REPOSITORY)
    for name in names:
        assert re.search(rf"^{re.escape(str(seals / name))}\s+accepted\s", shown, re.MULTILINE), shown


def test_no_line_is_truncated_in_a_pipe(seals: Path, tmp_path: Path) -> None:
    root = str(tmp_path / "root")
    text = piped("build", "--from", str(seals), "--datasets", root)
    assert str(seals / "Test_broken") in text, "one line, not folded"
    shown = piped("show", "Test_one", "--datasets", root)
    assert re.search(r"decisions/part-0\.parquet", shown)
    assert re.search(r"[0-9a-f]{20} .* served ", shown)
    listed = piped("list", "--datasets", root)
    assert re.search(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", listed)
    for text in (shown, listed, piped("rules")):
        assert "…" not in text


def test_a_table_in_a_narrow_terminal_is_folded_not_truncated(seals: Path, tmp_path: Path) -> None:
    root = str(tmp_path / "root")
    piped("build", str(seals / "Test_one"), "--datasets", root)
    _, shown = in_a_terminal([*PROGRAM, "show", "Test_one", "--datasets", root], REPOSITORY, columns=72)
    assert "…" not in shown
    assert max(map(len, shown.splitlines())) <= 72
