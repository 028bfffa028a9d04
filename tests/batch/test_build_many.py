"""`build_many`: results as they happen, retryable failures marked, a clean end at any time."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import datasets
from pipeline import Cancellation, build_from, build_many
from pipeline.batch.process import WorkerProcess
from pipeline.batch.result import failed
from schemas import errors
from schemas.errors import AlphaResultsError, SealRefused, SettingsError, StorageUnavailable
from tests.support.harmful_calls import die
from tests.support.pipeline_command import build, report
from tests.support.processes import children
from tests.support.seals import rewrite
from tests.support.waiting import PATIENCE, eventually

Seal = Callable[..., Path]
Program = Callable[..., "subprocess.Popen[str]"]


def test_each_result_is_yielded_as_soon_as_it_is_known(
    tmp_path: Path, seal: Seal, capfd: pytest.CaptureFixture[str]
) -> None:
    cancellation = Cancellation()
    seals = [seal(f"Test_{number}") for number in range(5)]
    results = []
    for result in build_many(seals, tmp_path / "root", cancellation=cancellation):
        cancellation.finish()  # builds that have not started never start
        results.append(result)
    first, last = results[0], results[-1]
    assert (first.outcome, first.error, first.exit_code) == ("built", None, 0)
    assert datasets.open(tmp_path / "root")[str(first.alpha_id)].id == first.snapshot
    assert (last.outcome, last.retryable, last.exit_code) == ("not started", True, 130)
    assert len(results) == 5
    assert sorted(result.at for result in results) == [result.at for result in results]
    assert capfd.readouterr() == ("", "")


def test_retryable_failures_are_marked(tmp_path: Path, seal: Seal, monkeypatch: pytest.MonkeyPatch) -> None:
    refused, nowhere = rewrite(seal("Test_refused"), "pnl", lambda rows: rows[1:]), tmp_path / "nowhere"
    away, killed = seal("Test_away"), seal("Test_killed")
    in_its_process = WorkerProcess.call

    def call(self: WorkerProcess, function: Any, seal: str, *arguments: Any, **options: Any) -> Any:
        if seal == str(away):
            return failed(seal, StorageUnavailable("the store did not answer"))
        if seal == str(killed):
            return in_its_process(self, die, "words of its own")
        return in_its_process(self, function, seal, *arguments, **options)

    monkeypatch.setattr(WorkerProcess, "call", call)
    results = {
        Path(each.seal).name: each for each in build_many([refused, nowhere, away, killed], tmp_path / "root")
    }
    assert {name: (each.outcome, each.retryable, type(each.error).__name__) for name, each in results.items()} == {
        "Test_refused": ("refused", False, "SealRefused"),
        "nowhere": ("failed", False, "SealUnreadable"),
        "Test_away": ("failed", True, "StorageUnavailable"),
        "Test_killed": ("crashed", True, "BuildCrashed"),
    }  # fmt: skip
    assert "words of its own" in str(results["Test_killed"].error)
    with pytest.raises(SealRefused) as caught:
        results["Test_refused"].raise_for_failure()
    assert "pnl.total" in [violation["rule"] for violation in caught.value.violations]
    assert {each.to_line()["retryable"] for each in results.values()} == {True, False}


def _every(kind: type[AlphaResultsError]) -> Iterator[type[AlphaResultsError]]:
    yield kind
    for below in kind.__subclasses__():
        yield from _every(below)


BUILD_ERRORS = [
    kind
    for kind in _every(AlphaResultsError)
    if not issubclass(kind, errors.ApiError | errors.SnapshotNotKept)
]
"""Every error but those of the API, which no build raises."""


@pytest.mark.parametrize("kind", BUILD_ERRORS)
def test_an_error_round_trips_between_processes(kind: type[AlphaResultsError]) -> None:
    result = failed("a/seal", kind("what went wrong"))
    assert type(result.error) is kind
    assert (str(result.error), result.retryable) == ("what went wrong", kind.retryable)
    assert result.exit_code == kind.exit_code


def test_an_undelivered_archive_is_retryable_although_the_run_is_served(tmp_path: Path, seal: Seal) -> None:
    archives = tmp_path / "archives"
    archives.mkdir()
    (archives / "Test_a").write_text("a file where the folder should be")
    (result,) = build_many([seal("Test_a")], tmp_path / "root", archives=archives)
    assert (result.outcome, result.exit_code, result.retryable) == ("built", 6, True)
    assert "Test_a" in datasets.open(tmp_path / "root")


def test_closing_the_iterator_ends_running_builds_and_leaves_no_process(tmp_path: Path, seal: Seal) -> None:
    before = set(children(os.getpid()))
    small, large = seal("Test_small"), seal("Test_large", weeks=300, names=300)
    # two concurrent builds may end in either order
    results = build_many([small, large], tmp_path / "root", jobs=1)
    assert next(results).alpha_id == "Test_small"
    results.close()
    eventually(lambda: set(children(os.getpid())) <= before, "the end of the builds")
    assert list(datasets.open(tmp_path / "root")) == ["Test_small"]
    again = {result.alpha_id: result.outcome for result in build_many([small, large], tmp_path / "root")}
    assert again == {"Test_small": "unchanged", "Test_large": "built"}


def test_an_abort_kills_the_builds_and_reports_every_seal_as_retryable(tmp_path: Path, seal: Seal) -> None:
    seals, cancellation = [seal("Test_a", weeks=120, names=200), seal("Test_b")], Cancellation()

    def abort_the_first() -> None:
        eventually(lambda: list((tmp_path / "root/.staging").glob("build-*")), "a build")
        cancellation.abort()

    threading.Thread(target=abort_the_first).start()
    results = list(build_many(seals, tmp_path / "root", cancellation=cancellation))
    assert [(result.outcome, result.retryable) for result in results] == [
        ("not started", True),
        ("not started", True),
    ]
    assert [each.outcome for each in build_many(seals, tmp_path / "root")] == ["built", "built"]


def test_a_folder_is_built_like_the_command_builds_it(tmp_path: Path, seal: Seal) -> None:
    seal("Test_a", "old", seed=1, sealed_at="2026-01-01T00:00:00Z")
    seal("Test_a", "new", seed=2, sealed_at="2026-01-02T00:00:00Z")
    rewrite(seal("Test_b"), "pnl", lambda rows: rows[1:])
    lines = [
        json.loads(json.dumps(each.to_line())) for each in build_from(tmp_path / "seals", tmp_path / "root")
    ]
    of_the_command = build(tmp_path / "other", "--from", str(tmp_path / "seals"), "--json").json["seals"]

    def known(line: dict[str, object]) -> dict[str, object]:
        return {name: value for name, value in line.items() if name not in {"at", "seconds"}}

    assert list(map(known, lines)) == list(map(known, of_the_command))
    by_outcome = {str(line["outcome"]): line for line in lines}
    assert by_outcome["superseded"]["snapshot"] == by_outcome["built"]["snapshot"]
    assert {each.outcome for each in build_from(tmp_path / "seals", tmp_path / "root")} == {
        "superseded", "unchanged", "still refused",
    }  # fmt: skip
    (again,) = (
        each
        for each in build_from(tmp_path / "seals", tmp_path / "root", recheck=True)
        if "Test_b" in each.seal
    )
    assert again.outcome == "refused"


def test_invalid_arguments_are_refused_at_the_call(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(SettingsError, match="build_from"):
        build_many("a/seal", tmp_path)
    with pytest.raises(SettingsError, match="a file, not a folder"):
        build_many([], file)
    for wrong in ({"jobs": 0}, {"single_writer": True, "jobs": 2}, {"archives": "gs://bucket/archives"}):
        options: dict[str, Any] = wrong
        with pytest.raises(SettingsError):
            build_many([], tmp_path, **options)
    with pytest.raises(SettingsError):
        list(build_from(tmp_path / "nowhere", tmp_path / "root"))
    assert list(build_many([], tmp_path / "root")) == []


def test_json_lines_written_before_a_kill_are_complete(tmp_path: Path, seal: Seal, program: Program) -> None:
    seal("Test_a")
    seal("Test_b", weeks=300, names=300)
    batch = program("--from", str(tmp_path / "seals"), "--json")
    assert batch.stdout is not None
    line = json.loads(batch.stdout.readline())
    assert batch.poll() is None, "the line was there before the end"
    assert (next(iter(line)), line["alpha_id"], line["outcome"]) == ("at", "Test_a", "built")
    batch.send_signal(signal.SIGKILL)
    batch.wait()
    done = program("--from", str(tmp_path / "seals"), "--json")
    output, _ = done.communicate(timeout=PATIENCE)
    assert {entry["alpha_id"]: entry["outcome"] for entry in report(output)["seals"]} == {
        "Test_a": "unchanged",
        "Test_b": "built",
    }


def test_a_message_that_names_an_undecodable_path_is_printed_as_json(
    tmp_path: Path, seal: Seal, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = os.fsdecode(b"/odd\xff")

    def call(_: WorkerProcess, __: Any, seal: str, *___: Any, **____: Any) -> Any:
        return failed(
            seal, errors.DiskUnavailable(f"{folder} cannot be written: no space is left on its disk")
        )

    monkeypatch.setattr(WorkerProcess, "call", call)
    result = build(tmp_path / "root", str(seal("Test_a")), "--json")
    line, _ = map(json.loads, result.output.splitlines())
    assert (line["error"], result.exit_code) == ("DiskUnavailable", 5)
    assert line["message"] == "/odd\\udcff cannot be written: no space is left on its disk"


@pytest.mark.parametrize("seals", [1, 2])
def test_a_summary_with_the_exit_code_is_the_last_line(tmp_path: Path, seal: Seal, seals: int) -> None:
    addresses = [str(seal(f"Test_{number}")) for number in range(seals)]
    result = build(tmp_path / "root", *addresses, "--json")
    last = json.loads(result.output.splitlines()[-1])
    assert (last["summary"]["built"], last["exit_code"]) == (seals, result.exit_code)


def test_a_batch_that_cannot_start_prints_one_line(tmp_path: Path) -> None:
    result = build(tmp_path / "root", "--from", str(tmp_path / "nowhere"), "--json")
    line = json.loads(result.output)
    assert (line["error"], line["retryable"], line["exit_code"]) == ("SettingsError", False, 2)
    assert line["at"].endswith("Z")
