"""Batches: builds in separate processes do not affect each other."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

import datasets
from pipeline.batch.batch import Batch
from pipeline.batch.cancellation import Cancellation
from pipeline.batch.result import SealResult
from pipeline.batch.run import BatchRun
from pipeline.group import cli
from schemas.errors import AlphaResultsError
from tests.support.pipeline_command import build, report
from tests.support.processes import builds, tasks
from tests.support.seals import rewrite
from tests.support.small_disk import small_disk
from tests.support.waiting import PATIENCE, caught, eventually

Seal = Callable[..., Path]
Program = Callable[..., "subprocess.Popen[str]"]


def test_a_refused_seal_does_not_stop_the_others(tmp_path: Path, seal: Seal) -> None:
    for alpha in ("Test_a", "Test_b", "Test_c"):
        seal(alpha)
    rewrite(tmp_path / "seals/group/Test_b", "pnl", lambda rows: rows[1:])
    result = build(tmp_path / "root", "--from", str(tmp_path / "seals"), "--jobs", "2", "--json")
    assert result.exit_code == 1
    assert result.outcomes() == {"Test_a": "built", "Test_b": "refused", "Test_c": "built"}
    assert result.json["summary"] | {"seconds": 0} == {
        "seals": 3, "built": 2, "refused": 1, "failures": 1, "seconds": 0,
    }  # fmt: skip
    assert result.json["exit_code"] == 1
    refused = next(entry for entry in result.json["seals"] if entry["outcome"] == "refused")
    assert "pnl.total" in [violation["rule"] for violation in refused["violations"]]
    assert sorted(datasets.open(tmp_path / "root")) == ["Test_a", "Test_c"]


def test_a_seal_is_checked_and_built_without_space_for_temporary_files(
    tmp_path: Path, seal: Seal, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = str(seal("Test_a"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "absent"))
    assert CliRunner().invoke(cli, ["check", made]).exit_code == 0
    assert build(tmp_path / "root", made, "--json").outcomes() == {"Test_a": "built"}


def test_a_full_disk_ends_a_batch_and_the_next_one_builds_the_rest(tmp_path: Path, seal: Seal) -> None:
    for alpha in ("Test_a", "Test_b", "Test_c"):
        seal(alpha)
    rewrite(tmp_path / "seals/group/Test_a", "pnl", lambda rows: rows[1:])
    with small_disk(tmp_path / "disk") as disk:
        root, searched = disk.folder / "root", str(tmp_path / "seals")
        root.mkdir()
        with disk.full():
            result = build(root, "--from", searched, "--json")
            assert result.outcomes() == {"Test_a": "refused", "Test_b": "failed", "Test_c": "not started"}
            assert result.exit_code == 5
            failed, untried = result.json["seals"][1:]
            assert (failed["error"], failed["retryable"]) == ("DiskFull", True)
            assert "no space is left on its disk" in failed["message"]
            assert untried["message"].startswith("a disk is full, so this seal was not tried")
            named = [str(tmp_path / "seals/group" / alpha) for alpha in ("Test_b", "Test_c")]
            assert list(build(root, *named, "--json").outcomes().values()) == ["failed", "not started"]
        again = build(root, "--from", searched, "--json").outcomes()
        assert again == {"Test_a": "refused", "Test_b": "built", "Test_c": "built"}


def test_after_a_full_disk_the_next_search_of_a_watcher_builds_the_rest(tmp_path: Path, seal: Seal) -> None:
    for alpha in ("Test_a", "Test_b"):
        seal(alpha)
    with small_disk(tmp_path / "disk") as disk:
        batch = Batch(root=disk.folder / "root", searched=str(tmp_path / "seals"))
        (disk.folder / "root").mkdir()
        with BatchRun(batch, Cancellation()) as run:
            with disk.full():
                run.scan()
                assert [step.result.outcome for step in run.steps()] == ["failed", "not started"]
            run.scan()
            assert [step.result.outcome for step in run.steps()] == ["built", "built"]


def test_the_size_of_a_build_is_that_of_its_files(tmp_path: Path, seal: Seal) -> None:
    (built,) = build(tmp_path / "root", str(seal("Test_a")), "--json").json["seals"]
    written = [path for path in (tmp_path / "root/alphas").rglob("*") if path.is_file()]
    sizes = [path.stat().st_size for path in written if f"snapshot={built['snapshot']}" in str(path)]
    assert (built["files"], built["bytes"]) == (len(sizes), sum(sizes))


def test_text_output_has_one_line_per_seal_and_a_summary(tmp_path: Path, seal: Seal) -> None:
    seal("Test_a")
    (seal("Test_b") / "pnl.parquet").unlink()
    result = build(tmp_path / "root", "--from", str(tmp_path / "seals"))
    assert result.exit_code == 1
    assert "Test_a: published snapshot" in result.output
    assert "Summary" in result.output
    assert "Failures" in result.output


def test_a_build_names_the_snapshot_it_replaces_of_a_seal_of_the_same_time(
    tmp_path: Path, seal: Seal
) -> None:
    same = {"sealed_at": "2026-01-01T00:00:00Z"}
    one, other = (
        str(seal("Test_a", group, seed=seed, **same)) for seed, group in enumerate(("one", "other"), 1)
    )
    (first,) = build(tmp_path / "root", one, "--json").json["seals"]
    assert first["replaced_equal"] is None
    (second,) = build(tmp_path / "root", other, "--json").json["seals"]
    assert second["replaced_equal"] == first["snapshot"]
    assert (
        f"it replaced {second['snapshot']}, of another seal with the same sealed_at"
        in build(tmp_path / "root", one).output
    )
    later = str(seal("Test_a", "later", seed=3, sealed_at="2026-01-02T00:00:00Z"))
    (last,) = build(tmp_path / "root", later, "--json").json["seals"]
    assert last["replaced_equal"] is None


def test_the_exit_code_is_that_of_the_seal_named_first(tmp_path: Path, seal: Seal) -> None:
    nowhere = str(tmp_path / "nowhere")
    refused = str(rewrite(seal("Test_a"), "pnl", lambda rows: rows[1:]))
    assert build(tmp_path / "root", "--jobs", "2", nowhere, refused, "--json").exit_code == 2
    assert build(tmp_path / "root", "--jobs", "2", refused, nowhere, "--json").exit_code == 1


def test_a_batch_in_one_process_has_the_same_results(tmp_path: Path, seal: Seal) -> None:
    made = [str(seal("Test_a")), str(tmp_path / "nowhere")]
    alone = build(tmp_path / "alone", *made, "--json")
    apart = build(tmp_path / "apart", *made, "--jobs", "2", "--json")
    assert alone.exit_code == apart.exit_code == 2

    def known(entry: dict[str, object]) -> dict[str, object]:
        return {name: value for name, value in entry.items() if name != "seconds"}

    by_seal = {entry["seal"]: known(entry) for entry in apart.json["seals"]}
    assert by_seal == {entry["seal"]: known(entry) for entry in alone.json["seals"]}


@pytest.mark.parametrize(
    "arguments",
    [(), ("a", "--from", "b"), ("a", "--watch"), ("a", "--jobs", "0"), ("--from", "b", "--interval", "0")],
)
def test_invalid_arguments_are_refused(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    assert build(tmp_path / "root", *arguments).exit_code == 2


def test_a_pause_without_a_watch_is_refused(tmp_path: Path, seal: Seal) -> None:
    seal("Test_a")
    result = build(tmp_path / "root", "--from", str(tmp_path / "seals"), "--interval", "5")
    assert result.exit_code == 2
    assert "--interval is the pause between two searches of --watch" in result.output
    assert not (tmp_path / "root").exists()


@pytest.mark.parametrize("text", ["soon", "5s", "nan", "-1", "1e9"])
def test_an_interval_that_is_no_number_of_seconds_is_refused_with_the_rule(tmp_path: Path, text: str) -> None:
    result = build(tmp_path / "root", "--from", "b", "--interval", text)
    assert result.exit_code == 2
    assert f"ALPHA_RESULTS_INTERVAL: {text!r}: it must be a number of seconds" in result.output


@pytest.mark.parametrize(
    ("number", "name"),
    [(signal.SIGKILL, "SIGKILL"), (signal.SIGSEGV, "SIGSEGV"), (signal.SIGRTMIN + 6, "signal 40")],
)
def test_a_build_killed_twice_fails_with_its_signal(
    tmp_path: Path, seal: Seal, program: Program, number: int, name: str
) -> None:
    seal("Test_a", weeks=60, names=200)
    seal("Test_b")
    batch = program("--from", str(tmp_path / "seals"), "--json")
    killed: set[int] = set()
    while len(killed) < 2:
        caught(lambda: set(builds(batch.pid)) - killed, batch, "a build")
        (at_work,) = set(builds(batch.pid)) - killed
        os.kill(at_work, number)
        killed.add(at_work)
        eventually(lambda: at_work not in builds(batch.pid), "its end")  # noqa: B023 - called at once
    output, _ = batch.communicate(timeout=PATIENCE)
    first, second = report(output)["seals"]
    assert (first["outcome"], first["attempts"], second["outcome"]) == ("crashed", 2, "built")
    assert f"was killed by {name}" in first["message"]
    assert batch.returncode == 7


def test_a_build_killed_once_is_retried_and_published(tmp_path: Path, seal: Seal, program: Program) -> None:
    seal("Test_a", weeks=60, names=200)
    batch = program("--from", str(tmp_path / "seals"), "--json")
    caught(lambda: builds(batch.pid), batch, "a build")
    (first,) = builds(batch.pid)
    caught(lambda: list((tmp_path / "root/.staging").glob("build-*")), batch, "its folder")
    os.kill(first, signal.SIGKILL)
    output, _ = batch.communicate(timeout=PATIENCE)
    assert batch.returncode == 0
    assert [entry["outcome"] for entry in report(output)["seals"]] == ["built"]
    assert datasets.open(tmp_path / "root")["Test_a"].scan("decisions").collect().height
    assert not list((tmp_path / "root/.staging").glob("build-*")), "what the killed one left is swept"


def test_builds_end_when_their_batch_is_killed(tmp_path: Path, seal: Seal, program: Program) -> None:
    seal("Test_a", weeks=60, names=200)
    batch = program("--from", str(tmp_path / "seals"))
    caught(lambda: list((tmp_path / "root/.staging").glob("build-*")), batch, "a build")
    (build_,) = builds(batch.pid)
    batch.kill()
    eventually(lambda: not Path(f"/proc/{build_}").exists(), "the end of the build")


def test_a_build_uses_its_share_of_the_cores(
    tmp_path: Path, seal: Seal, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("POLARS_MAX_THREADS", raising=False)
    seal("Test_a", weeks=60, names=200)
    cores = len(os.sched_getaffinity(0))
    batch = program("--from", str(tmp_path / "seals"), "--jobs", str(cores), "--json")
    computing: set[str] = set()
    while batch.poll() is None:
        for build_ in builds(batch.pid):
            computing.update(name.strip() for name in tasks(build_, "comm"))
    assert {name for name in computing if re.fullmatch(r"polars-\d+", name)} == {"polars-0"}
    assert batch.returncode == 0


@pytest.mark.parametrize("signals", [[signal.SIGINT], [signal.SIGTERM, signal.SIGTERM]])
def test_ctrl_c_or_a_second_signal_ends_running_builds_and_reports_every_seal(
    tmp_path: Path, seal: Seal, program: Program, signals: list[signal.Signals]
) -> None:
    for number in range(4):
        seal(f"Test_{number}", weeks=300, names=300)
    batch = program("--from", str(tmp_path / "seals"), "--json")
    caught(lambda: list((tmp_path / "root/.staging").glob("build-*")), batch, "a build")
    *first, last = signals
    for number in first:
        batch.send_signal(number)
        assert batch.stderr is not None
        assert "finishing the builds in progress" in batch.stderr.readline()
    batch.send_signal(last)
    output, complaints = batch.communicate(timeout=PATIENCE)
    assert [(entry["outcome"], entry["retryable"]) for entry in report(output)["seals"]] == [
        ("not started", True)
    ] * 4
    assert batch.returncode == 130
    assert complaints == ""


def test_after_a_signal_running_builds_finish_and_none_starts(
    tmp_path: Path, seal: Seal, program: Program
) -> None:
    for number in range(4):
        seal(f"Test_{number}")
    batch = program("--from", str(tmp_path / "seals"), "--json")
    caught(lambda: builds(batch.pid), batch, "a build")
    batch.send_signal(signal.SIGTERM)
    output, complaints = batch.communicate(timeout=PATIENCE)
    result = report(output)["seals"]
    assert [entry["outcome"] for entry in result] == ["built", *["not started"] * 3]
    assert [entry.get("retryable") for entry in result] == [None, *[True] * 3]
    assert batch.returncode == 130
    assert "finishing the builds in progress" in complaints


class _Counting:
    """Fake executor that counts concurrent builds."""

    def __init__(self, jobs: int, fails_at: str | None = None) -> None:
        self.jobs = jobs
        self.lost: AlphaResultsError | None = None
        self.begun = 0
        self.most = 0
        self._at_work = 0
        self._lock = threading.Lock()
        self._fails_at = fails_at

    def build(self, seal: str, *_: object) -> SealResult:
        with self._lock:
            self.begun += 1
            self._at_work += 1
            self.most = max(self.most, self._at_work)
        eventually(lambda: self.most == self.jobs)  # as many as may work at once
        with self._lock:
            self._at_work -= 1
        if seal == self._fails_at:
            raise RuntimeError("a mistake of the program")
        return SealResult(seal, "built")

    def poll(self) -> None:
        """No build can be lost."""

    end = close = poll


def _run(
    monkeypatch: pytest.MonkeyPatch, folder: Path, executor: _Counting, seals: int, cancellation: Cancellation
) -> BatchRun:
    monkeypatch.setattr("pipeline.batch.run.LocalExecutor", lambda _: executor)
    return BatchRun(Batch(root=folder, seals=tuple(map(str, range(seals)))), cancellation)


def test_the_requested_number_of_builds_run_at_once_and_each_is_reported_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    executor = _Counting(3)
    with _run(monkeypatch, tmp_path, executor, 40, Cancellation()) as run:
        steps = list(run.steps())
    assert sorted((step.place, step.result.seal) for step in steps) == [(n, str(n)) for n in range(40)]
    assert executor.most == 3


def test_an_unexpected_error_fails_its_own_seal_and_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with _run(monkeypatch, tmp_path, _Counting(2, fails_at="5"), 9, Cancellation()) as run:
        results = {step.place: step.result for step in run.steps()}
    assert {place: result.outcome for place, result in results.items()} == {
        place: "failed" if place == 5 else "built" for place in range(9)
    }
    assert (results[5].entry["failure"], results[5].exit_code) == ("internal", 7)
    assert "a mistake of the program" in results[5].entry["message"]
