"""The same builds on a Dask scheduler with real workers, one of which is killed."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import datasets
from tests.batch.conftest import build
from tests.batch.dask import Dask
from tests.batch.waiting import until, workers

Seal = Callable[..., Path]
Program = Callable[..., "subprocess.Popen[str]"]


def test_a_worker_killed_mid_build_is_made_up_for_and_the_run_is_published_once(
    tmp_path: Path,
    seal: Seal,
    program: Program,
    dask: Dask,
) -> None:
    seal("Test_a", weeks=60, names=200)
    first = dask.worker("first")
    batch = program("--from", str(tmp_path / "seals"), "--cluster", dask.address, "--json")
    until(lambda: list((tmp_path / "root/.staging").glob("build-*")), "a build")
    (at_work,) = workers(first.pid)
    first.send_signal(signal.SIGKILL)
    until(lambda: not Path(f"/proc/{at_work}").exists(), "the end of the build with its worker")
    dask.worker("second")
    output, complaints = batch.communicate(timeout=180)
    assert batch.returncode == 0, complaints
    (entry,) = json.loads(output)["seals"]
    assert (entry["outcome"], entry["changed"]) == ("built", True)
    root = datasets.open(tmp_path / "root")
    assert root["Test_a"].id == entry["snapshot"]
    snapshots = list((tmp_path / "root/alphas/alpha_id=Test_a").iterdir())
    assert [path.name for path in snapshots] == [f"snapshot={entry['snapshot']}"]
    # One refused run among others is reported as it is at home.
    (seal("Test_b") / "pnl.parquet").unlink()
    told = build(tmp_path / "root", "--from", str(tmp_path / "seals"), "--cluster", dask.address, "--json")
    assert (told.exit_code, told.outcomes()) == (1, {"Test_a": "unchanged", "Test_b": "refused"})


def test_no_scheduler_is_told_in_a_line(tmp_path: Path, seal: Seal, monkeypatch: pytest.MonkeyPatch) -> None:
    from pipeline.batch import cluster  # noqa: PLC0415 - imports nothing optional by itself

    monkeypatch.setattr(cluster, "CONNECT_SECONDS", "1s")
    seal("Test_a")
    told = build(tmp_path / "root", "--from", str(tmp_path / "seals"), "--cluster", "tcp://127.0.0.1:9")
    assert told.exit_code == 5
    assert "no Dask scheduler answers" in told.output
