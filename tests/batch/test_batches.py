"""Many builds in processes of their own: what one comes to is no other's affair."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import IO

import pytest

import datasets
from pipeline.batch.forked import ForkServer
from pipeline.batch.process import Processes
from pipeline.batch.request import Outcome, Request
from pipeline.batch.schedule import run
from tests.support.pipeline_command import build, report
from tests.support.processes import builds, children, tasks
from tests.support.seals import rewrite
from tests.support.waiting import caught, eventually

Seal = Callable[..., Path]
Program = Callable[..., "subprocess.Popen[str]"]


def test_one_refused_run_stops_no_other(tmp_path: Path, seal: Seal) -> None:
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


def test_people_get_a_line_each_and_a_summary(tmp_path: Path, seal: Seal) -> None:
    seal("Test_a")
    (seal("Test_b") / "pnl.parquet").unlink()
    result = build(tmp_path / "root", "--from", str(tmp_path / "seals"))
    assert result.exit_code == 1
    assert "Test_a: published snapshot" in result.output
    assert "Summary" in result.output
    assert "Failures" in result.output


def test_the_exit_code_is_that_of_the_seal_named_first(tmp_path: Path, seal: Seal) -> None:
    nowhere = str(tmp_path / "nowhere")
    refused = str(rewrite(seal("Test_a"), "pnl", lambda rows: rows[1:]))
    assert build(tmp_path / "root", "--jobs", "2", nowhere, refused, "--json").exit_code == 2
    assert build(tmp_path / "root", "--jobs", "2", refused, nowhere, "--json").exit_code == 1


def test_in_one_process_the_answers_are_the_same(tmp_path: Path, seal: Seal) -> None:
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
def test_what_makes_no_sense_is_refused(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    assert build(tmp_path / "root", *arguments).exit_code == 2


_DIES = """
import os, signal, sys
sys.stdin.readline()
print("words of its own", file=sys.stderr)
with open({marks!r}, "a") as marks:
    marks.write("x")
os.kill(os.getpid(), signal.{signal})
"""


@pytest.mark.parametrize("name", ["SIGKILL", "SIGSEGV"])
def test_a_killed_build_is_tried_once_more_and_its_signal_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    marks = tmp_path / "marks"
    _worker_that_runs(monkeypatch, _DIES.format(marks=str(marks), signal=name))
    outcome = Processes(1).build(Request("some/seal", "root"))
    assert marks.read_text() == "xx"
    assert outcome.kind == "crashed"
    assert outcome.exit_code == 7
    assert name in outcome.entry["message"]
    assert "words of its own" in outcome.entry["message"]
    assert outcome.entry["attempts"] == 2


def test_a_build_killed_once_is_published_all_the_same(tmp_path: Path, seal: Seal, program: Program) -> None:
    seal("Test_a", weeks=60, names=200)
    batch = program("--from", str(tmp_path / "seals"), "--json")
    caught(lambda: builds(batch.pid), batch, "a build")
    (first,) = builds(batch.pid)
    caught(lambda: list((tmp_path / "root/.staging").glob("build-*")), batch, "its folder")
    os.kill(first, signal.SIGKILL)
    output, _ = batch.communicate(timeout=180)
    assert batch.returncode == 0
    assert [entry["outcome"] for entry in report(output)["seals"]] == ["built"]
    assert datasets.open(tmp_path / "root")["Test_a"].scan("decisions").collect().height
    assert not list((tmp_path / "root/.staging").glob("build-*")), "what the killed one left is swept"


def test_builds_end_with_a_batch_that_is_killed(tmp_path: Path, seal: Seal, program: Program) -> None:
    seal("Test_a", weeks=60, names=200)
    batch = program("--from", str(tmp_path / "seals"))
    caught(lambda: list((tmp_path / "root/.staging").glob("build-*")), batch, "a build")
    (build_,) = builds(batch.pid)
    batch.kill()
    eventually(lambda: not Path(f"/proc/{build_}").exists(), "the end of the build")


def test_the_libraries_are_loaded_once_for_all_builds(tmp_path: Path, seal: Seal, program: Program) -> None:
    for number in range(6):
        seal(f"Test_{number}", weeks=40, names=100)
    batch = program("--from", str(tmp_path / "seals"), "--jobs", "2", "--json")
    started: dict[int, set[int]] = {}
    while batch.poll() is None:
        for server in children(batch.pid):
            started.setdefault(server, set()).update(children(server))
    ((_, forked),) = started.items()
    assert len(forked) == 6, "each build is a process of its own, and all are forked from one"
    assert report(batch.communicate()[0])["summary"]["built"] == 6


def test_a_batch_goes_on_when_the_process_that_forks_is_killed(
    tmp_path: Path, seal: Seal, program: Program
) -> None:
    for number in range(4):
        seal(f"Test_{number}", weeks=40, names=100)
    batch = program("--from", str(tmp_path / "seals"), "--json")
    caught(lambda: builds(batch.pid), batch, "a build")
    (server,) = children(batch.pid)
    os.kill(server, signal.SIGKILL)
    output, _ = batch.communicate(timeout=180)
    assert batch.returncode == 0
    assert report(output)["summary"] | {"seconds": 0} == {
        "seals": 4, "built": 4, "failures": 0, "seconds": 0,
    }  # fmt: skip


def test_where_nothing_can_be_forked_each_build_is_a_new_interpreter(
    tmp_path: Path, seal: Seal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ForkServer, "start", lambda *_: None)
    processes = Processes(1, forked=True)
    try:
        outcome = processes.build(Request(str(seal("Test_a")), str(tmp_path / "root")))
    finally:
        processes.end()
    assert outcome.kind == "built"


def test_a_build_that_is_forked_computes_with_the_threads_it_was_given(
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


def test_a_signal_lets_what_is_at_work_finish_and_begins_nothing(
    tmp_path: Path, seal: Seal, program: Program
) -> None:
    for number in range(4):
        seal(f"Test_{number}")
    batch = program("--from", str(tmp_path / "seals"), "--json")
    caught(lambda: builds(batch.pid), batch, "a build")
    batch.send_signal(signal.SIGTERM)
    output, complaints = batch.communicate(timeout=180)
    result = report(output)["seals"]
    assert [entry["outcome"] for entry in result] == ["built", *["not started"] * 3]
    assert [entry.get("retryable") for entry in result] == [None, *[True] * 3]
    assert batch.returncode == 130
    assert "finishing what is at work" in complaints


def _worker_that_runs(monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Put another program in the place of the build's: one that ends as no build should."""
    import sys  # noqa: PLC0415 - only here

    def start(_self: Processes, complaints: IO[bytes]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-c", script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=complaints,
        )

    monkeypatch.setattr(Processes, "_start", start)


class _Counting:
    """Builds nothing, and counts how many are at it."""

    def __init__(self, fails_at: int | None = None) -> None:
        self.lost: str | None = None
        self.most = 0
        self.begun = 0
        self._now = 0
        self._lock = threading.Lock()
        self._all_in = threading.Barrier(3, timeout=30)
        self._fails_at = fails_at

    def build(self, request: Request, on_stage: object = None) -> Outcome:
        del on_stage
        with self._lock:
            self.begun += 1
            self._now += 1
            self.most = max(self.most, self._now)
        if request.seal == str(self._fails_at):
            raise RuntimeError("a mistake of the program")
        if int(request.seal) < 3 and self._fails_at is None:
            self._all_in.wait()  # three at once, or nobody gets on
        with self._lock:
            self._now -= 1
        return Outcome({"seal": request.seal, "outcome": "built"})


def test_as_many_are_at_work_as_asked_for_and_every_one_is_reported_once() -> None:
    builder = _Counting()
    requests = [Request(str(number), "") for number in range(40)]
    found = dict(run(iter(requests), builder, 3, stopping=threading.Event()))
    assert {place: outcome.entry["seal"] for place, outcome in found.items()} == {
        n: str(n) for n in range(40)
    }
    assert builder.most == 3


def test_a_stop_begins_nothing_more() -> None:
    stopping = threading.Event()
    builder = _Counting()
    found = []
    for place, _ in run((Request(str(n), "") for n in range(3, 10_000)), builder, 1, stopping=stopping):
        found.append(place)
        stopping.set()
    assert len(found) == builder.begun < 10_000 - 3


def test_a_mistake_of_the_program_costs_its_own_seal_and_is_reported() -> None:
    requests = [Request(str(n), "") for n in range(9)]
    found = dict(run(requests, _Counting(fails_at=5), 2, stopping=threading.Event()))
    assert {place: outcome.kind for place, outcome in found.items()} == {
        place: "failed" if place == 5 else "built" for place in range(9)
    }
    entry = found[5].entry
    assert (entry["failure"], found[5].exit_code) == ("internal", 7)
    assert "a mistake of the program" in entry["message"]
