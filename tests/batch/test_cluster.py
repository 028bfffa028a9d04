"""The same builds on a Dask scheduler with real workers, one of which is killed."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import datasets
from tests.batch.conftest import REPOSITORY, build, until, workers

pytest.importorskip("distributed", reason="the group of dependencies `cluster` is not installed")

Seal = Callable[..., Path]
Program = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def dask(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Return a starter of Dask's own programs, ended with the test."""
    started: list[subprocess.Popen[bytes]] = []

    def start(name: str, program: str, *arguments: str) -> subprocess.Popen[bytes]:
        with (tmp_path / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "distributed.cli." + program, *arguments],
                cwd=REPOSITORY,
                env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
                stdout=log,
                stderr=log,
            )
        started.append(process)
        return process

    yield start
    for process in reversed(started):
        process.kill()
        process.wait()


@pytest.fixture
def scheduler(tmp_path: Path, dask: Callable[..., subprocess.Popen[bytes]]) -> str:
    dask("scheduler", "dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--no-show")
    log = tmp_path / "scheduler.log"
    until(lambda: re.search(r"tcp://127\.0\.0\.1:\d+", log.read_text()), "the scheduler")
    found = re.search(r"tcp://127\.0\.0\.1:\d+", log.read_text())
    assert found is not None
    return found[0]


def _worker(
    dask: Callable[..., subprocess.Popen[bytes]], tmp_path: Path, name: str, scheduler: str
) -> subprocess.Popen[bytes]:
    worker = dask(
        name, "dask_worker", scheduler, "--no-nanny", "--nthreads", "1", "--name", name, "--host", "127.0.0.1",
        "--no-dashboard", "--local-directory", str(tmp_path / f"{name}-space"),
    )  # fmt: skip
    until(lambda: "Starting established connection" in (tmp_path / f"{name}.log").read_text(), name)
    return worker


def test_a_worker_killed_mid_build_is_made_up_for_and_the_run_is_published_once(
    tmp_path: Path,
    seal: Seal,
    program: Program,
    dask: Callable[..., subprocess.Popen[bytes]],
    scheduler: str,
) -> None:
    seal("Test_a", weeks=60, names=200)
    first = _worker(dask, tmp_path, "first", scheduler)
    batch = program("--from", str(tmp_path / "seals"), "--cluster", scheduler, "--json")
    until(lambda: list((tmp_path / "root/.staging").glob("build-*")), "a build")
    (at_work,) = workers(first.pid)
    first.send_signal(signal.SIGKILL)
    until(lambda: not Path(f"/proc/{at_work}").exists(), "the end of the build with its worker")
    _worker(dask, tmp_path, "second", scheduler)
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
    told = build(tmp_path / "root", "--from", str(tmp_path / "seals"), "--cluster", scheduler, "--json")
    assert (told.exit_code, told.outcomes()) == (1, {"Test_a": "unchanged", "Test_b": "refused"})


def test_no_scheduler_is_told_in_a_line(tmp_path: Path, seal: Seal, monkeypatch: pytest.MonkeyPatch) -> None:
    from pipeline.batch import cluster  # noqa: PLC0415 - imports nothing optional by itself

    monkeypatch.setattr(cluster, "CONNECT_SECONDS", "1s")
    seal("Test_a")
    told = build(tmp_path / "root", "--from", str(tmp_path / "seals"), "--cluster", "tcp://127.0.0.1:9")
    assert told.exit_code == 5
    assert "no Dask scheduler answers" in told.output
