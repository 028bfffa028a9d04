"""The same builds on a Dask scheduler with real workers, one of which is killed."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import datasets
from pipeline.release import release
from tests.support.dask import Dask
from tests.support.other_release import other_release
from tests.support.pipeline_command import build, report
from tests.support.processes import REPOSITORY, children, environment
from tests.support.waiting import PATIENCE, caught, eventually

Seal = Callable[..., Path]
Program = Callable[..., "subprocess.Popen[str]"]


def test_a_worker_killed_mid_build_is_retried_and_the_run_published_once(
    tmp_path: Path,
    seal: Seal,
    program: Program,
    dask: Dask,
) -> None:
    seal("Test_a", weeks=60, names=200)
    first = dask.worker("first")
    batch = program("--from", str(tmp_path / "seals"), "--cluster", dask.address, "--json")
    caught(lambda: list((tmp_path / "root/.staging").glob("build-*")), batch, "a build")
    (at_work,) = children(first.pid)
    first.send_signal(signal.SIGKILL)
    eventually(lambda: not Path(f"/proc/{at_work}").exists(), "the end of the build with its worker")
    dask.worker("second")
    output, complaints = batch.communicate(timeout=PATIENCE)
    assert batch.returncode == 0, complaints
    (entry,) = report(output)["seals"]
    assert (entry["outcome"], entry["changed"]) == ("built", True)
    root = datasets.open(tmp_path / "root")
    assert root["Test_a"].id == entry["snapshot"]
    snapshots = list((tmp_path / "root/alphas/alpha_id=Test_a").glob("snapshot=*"))
    assert [path.name for path in snapshots] == [f"snapshot={entry['snapshot']}"]
    # A refused run among others is reported as in a local batch.
    (seal("Test_b") / "pnl.parquet").unlink()
    result = build(tmp_path / "root", "--from", str(tmp_path / "seals"), "--cluster", dask.address, "--json")
    assert (result.exit_code, result.outcomes()) == (1, {"Test_a": "unchanged", "Test_b": "refused"})


def test_a_missing_or_silent_scheduler_is_reported_in_one_line(
    tmp_path: Path, seal: Seal, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pipeline.batch import cluster  # noqa: PLC0415 - needs the extra

    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 1.0)
    seal("Test_a")
    with socket.create_server(("127.0.0.1", 0)) as silent:  # accepts connections, and never answers
        for port in (9, silent.getsockname()[1]):
            address = f"tcp://127.0.0.1:{port}"
            result = build(tmp_path / "root", "--from", str(tmp_path / "seals"), "--cluster", address)
            assert (result.exit_code, result.output) == (
                5,
                f"error: --cluster: no Dask scheduler answers at {address}\n",
            )


def test_a_server_of_another_protocol_is_no_scheduler_and_is_reported_in_one_line(
    tmp_path: Path, seal: Seal
) -> None:
    def answer(listening: socket.socket) -> None:
        with contextlib.suppress(OSError):  # closed at the end
            while True:
                with listening.accept()[0] as connection:
                    connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    seal("Test_a")
    with socket.create_server(("127.0.0.1", 0)) as dashboard:
        threading.Thread(target=answer, args=(dashboard,), daemon=True).start()
        address = f"tcp://127.0.0.1:{dashboard.getsockname()[1]}"
        words = (
            "--datasets",
            str(tmp_path / "root"),
            "--from",
            str(tmp_path / "seals"),
            "--cluster",
            address,
        )
        done = subprocess.run(
            [sys.executable, "-m", "pipeline", "build", *words],
            cwd=REPOSITORY, env=environment(), capture_output=True, text=True, check=False,
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (
        5,
        f"error: --cluster: no Dask scheduler answers at {address}\n",
    )


OPERATIONS = REPOSITORY / "docs" / "operations.md"


def test_the_three_commands_of_the_documents_build_on_a_cluster(tmp_path: Path, seal: Seal) -> None:
    if shutil.which("uv") is None:
        pytest.skip("uv, which the commands begin with, is not installed")
    section = OPERATIONS.read_text().split("### On a cluster", 1)[1].split("\n### ", 1)[0]
    console = re.search(r"```console\n(.*?)```", section, re.DOTALL)
    assert console is not None
    commands = [line.removeprefix("$ ") for line in console[1].splitlines()]
    assert len(commands) == 3
    seal("Test_a")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {
        **{key: value for key, value in os.environ.items() if key not in {"PYTHONPATH", "VIRTUAL_ENV"}},
        "ALPHA_RESULTS_CLUSTER": f"tcp://127.0.0.1:{port}",
        "ALPHA_RESULTS_DATASETS": str(tmp_path / "root"),
        "ALPHA_RESULTS_SEALS": str(tmp_path / "seals"),
        "DASK_DISTRIBUTED__DASHBOARD__LINK": "",
        "TMPDIR": str(tmp_path),
        "UV_NO_SYNC": "1",  # keeps the environment of the tests as it is
        "UV_OFFLINE": "1",
    }
    started: list[subprocess.Popen[str]] = []
    try:
        for number, command in enumerate(commands):
            with (tmp_path / f"{number}.log").open("w") as log:
                begun = subprocess.Popen(
                    ["bash", "-c", command],
                    cwd=REPOSITORY,
                    env=environment,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                    text=True,
                )
            started.append(begun)
            if number == 0:
                eventually(lambda: "Scheduler at" in (tmp_path / "0.log").read_text(), "the scheduler")
        assert started[2].wait(timeout=PATIENCE) == 0, (tmp_path / "2.log").read_text()
    finally:
        for process in reversed(started):
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    assert list(datasets.open(tmp_path / "root")) == ["Test_a"]


def no_project(folder: Path) -> Path:
    """Shadow the installed project with a package that raises on import."""
    (folder / "pipeline").mkdir(parents=True)
    absent = "raise ModuleNotFoundError(\"No module named 'pipeline'\", name='pipeline')"
    (folder / "pipeline" / "__init__.py").write_text(absent)
    return folder


@pytest.mark.parametrize("lacks", ["the release", "the project"])
def test_a_worker_with_another_release_is_refused_by_name(
    tmp_path: Path, seal: Seal, dask: Dask, lacks: str
) -> None:
    seal("Test_a")
    make = other_release if lacks == "the release" else no_project
    dask.worker("stranger", make(tmp_path / "other"))
    arguments = ("--from", str(tmp_path / "seals"), "--cluster", dask.address)
    result = build(tmp_path / "root", *arguments)
    assert result.exit_code == 2
    wanted = release()["code"] if lacks == "the release" else "No module named 'pipeline'"
    assert wanted in result.output
    assert ("of another release" in result.output) is (lacks == "the release")
    assert not (tmp_path / "root").exists()


def test_a_worker_of_another_release_that_joins_later_ends_the_batch(
    tmp_path: Path, seal: Seal, dask: Dask, program: Program
) -> None:
    seal("Test_a")
    batch = program("--from", str(tmp_path / "seals"), "--cluster", dask.address, "--json")
    assert batch.stderr is not None
    # The event handler runs after the existing workers were listed; without another worker the batch would end.
    eventually(lambda: catches(batch.pid, signal.SIGTERM), "the handlers")
    dask.worker("stranger", other_release(tmp_path / "other"))
    output, complaints = batch.communicate(timeout=PATIENCE)
    assert "of another release" in complaints
    assert batch.returncode == 2
    assert [entry["outcome"] for entry in report(output)["seals"]] == ["failed"]
    assert not (tmp_path / "root").exists()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_lost_scheduler_ends_the_batch_with_its_report(
    tmp_path: Path, seal: Seal, dask: Dask, program: Program, number: signal.Signals
) -> None:
    for alpha in ("Test_a", "Test_b"):
        seal(alpha)
    worker = dask.worker("worker")
    batch = program(
        "--from", str(tmp_path / "seals"), "--cluster", dask.address, "--cluster-seconds", "3", "--json"
    )
    eventually(lambda: children(worker.pid), "a build")
    # On any machine, the build is not done before its scheduler ends.
    worker.send_signal(signal.SIGSTOP)
    dask.scheduler.send_signal(number)
    output, complaints = batch.communicate(timeout=PATIENCE)
    assert batch.returncode == 5, complaints
    entry, not_begun = report(output)["seals"]
    assert not_begun["outcome"] == "not started"
    assert entry["retryable"] is not_begun["retryable"] is True
    assert entry["error"] == "StorageUnavailable"
    assert "has not answered for 3 seconds" in entry["message"]


def test_a_batch_without_workers_ends(tmp_path: Path, seal: Seal, dask: Dask) -> None:
    seal("Test_a")
    result = build(
        tmp_path / "root", "--from", str(tmp_path / "seals"), "--cluster", dask.address, "--cluster-seconds", "1"
    )  # fmt: skip
    assert result.exit_code == 5
    assert "has had no worker for 1 seconds" in result.output


@pytest.mark.parametrize("signals", [[signal.SIGTERM], [signal.SIGINT]])
def test_a_signal_ends_a_batch_without_workers(
    tmp_path: Path, seal: Seal, dask: Dask, program: Program, signals: list[signal.Signals]
) -> None:
    seal("Test_a")
    batch = program(
        "--from", str(tmp_path / "seals"), "--cluster", dask.address, "--cluster-seconds", "3600", "--json"
    )
    # The signal handlers are installed once it is connected; before, a signal ends it like any command.
    eventually(lambda: "Receive client connection" in (tmp_path / "scheduler.log").read_text(), "the client")
    eventually(lambda: catches(batch.pid, signal.SIGTERM), "the handlers")
    for number in signals:
        batch.send_signal(number)
    output, complaints = batch.communicate(timeout=PATIENCE)
    assert batch.returncode == 130, complaints
    assert all(entry["outcome"] == "not started" for entry in report(output)["seals"])


def test_a_second_signal_ends_a_batch_whose_worker_hangs(
    tmp_path: Path, seal: Seal, dask: Dask, program: Program
) -> None:
    seal("Test_a")
    worker = dask.worker("worker")
    batch = program("--from", str(tmp_path / "seals"), "--cluster", dask.address, "--json")
    assert batch.stderr is not None
    eventually(lambda: children(worker.pid), "a build")
    worker.send_signal(signal.SIGSTOP)
    batch.send_signal(signal.SIGTERM)
    assert "a second one stops them at once" in batch.stderr.readline()
    batch.send_signal(signal.SIGTERM)
    output, complaints = batch.communicate(timeout=PATIENCE)
    assert batch.returncode == 130, complaints
    assert [entry["outcome"] for entry in report(output)["seals"]] == ["not started"]


def catches(pid: int, number: signal.Signals) -> bool:
    """Whether a process has a handler for a signal."""
    caught = re.search(r"SigCgt:\s*([0-9a-f]+)", Path(f"/proc/{pid}/status").read_text())
    return caught is not None and bool(int(caught[1], 16) >> (number - 1) & 1)
