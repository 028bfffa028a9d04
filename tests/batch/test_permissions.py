"""Folders and files that the user of a batch may not read: each is named, and hides no other seal."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from tests.batch.conftest import Watch
from tests.support.processes import WITHOUT_RIGHTS
from tests.support.waiting import PATIENCE

Seal = Callable[..., Path]
Program = Callable[..., "subprocess.Popen[str]"]
Watching = Callable[..., AbstractContextManager[Watch]]


def ended(tmp_path: Path, program: Program) -> tuple[int, list[dict[str, Any]]]:
    """Build what is found below ``seals/``; return the exit code and the lines of the report."""
    process = program("--from", str(tmp_path / "seals"), "--json", begin=WITHOUT_RIGHTS)
    output, errors = process.communicate(timeout=PATIENCE)
    assert not errors or "Traceback" not in errors, errors
    return process.returncode, [json.loads(line) for line in output.splitlines()]


@pytest.mark.parametrize(("closed", "mode"), [("", 0), ("", 0o600), ("Test_b", 0), ("Test_b/seal.json", 0)])
def test_a_seal_that_may_not_be_read_is_reported_and_hides_no_other(
    tmp_path: Path, seal: Seal, program: Program, closed: str, mode: int
) -> None:
    seal("Test_a", "open")
    path = seal("Test_b", "closed").parent / closed
    path.chmod(mode)
    code, (*seals, _) = ended(tmp_path, program)
    path.chmod(0o755)
    failed, built = sorted(seals, key=lambda line: bool(line["outcome"] == "built"))
    assert built["seal"].endswith("open/Test_a")
    assert failed["seal"].startswith(f"{tmp_path}/seals/closed")
    assert (failed["outcome"], failed["error"], code) == ("failed", "SealUnreadable", 2)
    assert failed["message"].endswith("reading seal.json is not permitted; let this user read it")


def test_a_folder_of_seals_that_may_not_be_read_is_not_taken_for_an_empty_one(
    tmp_path: Path, seal: Seal, program: Program
) -> None:
    seal("Test_a")
    (tmp_path / "seals").chmod(0)
    code, (error,) = ended(tmp_path, program)
    (tmp_path / "seals").chmod(0o755)
    assert (code, error["error"]) == (5, "DiskUnavailable")
    assert error["message"].startswith(f"{tmp_path}/seals cannot be read: this user may not read it")


def test_the_folder_of_file_system_checks_is_not_searched(
    tmp_path: Path, seal: Seal, program: Program
) -> None:
    seal("Test_a")
    (tmp_path / "seals/lost+found").mkdir(mode=0)
    code, (built, _) = ended(tmp_path, program)
    assert (code, built["outcome"]) == (0, "built")


def test_a_watcher_builds_a_seal_once_it_may_read_it(seal: Seal, watch: Watching) -> None:
    manifest = seal("Test_a") / "seal.json"
    manifest.chmod(0)
    with watch(begin=WITHOUT_RIGHTS) as watcher:
        assert watcher.line()["outcome"] == "failed"
        manifest.chmod(0o644)
        assert watcher.line()["outcome"] == "built"
    assert len(watcher.rest) == 1, "only the summary"
