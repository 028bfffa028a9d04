"""Refused seals: what is served instead, and when they are checked again."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

import datasets
from pipeline import release
from pipeline.batch.process import LocalExecutor
from pipeline.batch.result import SealResult
from pipeline.seal.signature import signed_envelope
from tests.batch.conftest import Watch
from tests.support.other_release import other_release
from tests.support.pipeline_command import CommandResult, build
from tests.support.seals import rewrite

Seal = Callable[..., Path]
Watching = Callable[..., AbstractContextManager[Watch]]


def cron(tmp_path: Path, *more: str) -> CommandResult:
    return build(tmp_path / "root", "--from", str(tmp_path / "seals"), "--json", *more)


def outcomes(result: CommandResult) -> dict[str, str]:
    return {Path(entry["seal"]).parent.name: entry["outcome"] for entry in result.json["seals"]}


def broken(seal: Path) -> Path:
    return rewrite(seal, "pnl", lambda rows: rows[1:])


def sealed_at(root: Path) -> str:
    return datasets.open(root)["Test_a"].manifest.sealed_at


def test_a_broken_later_seal_does_not_hide_a_good_earlier_one(tmp_path: Path, seal: Seal) -> None:
    for day in ("01", "02", "03", "04"):
        made = seal("Test_a", f"v{day}", seed=int(day), sealed_at=f"2026-01-{day}T00:00:00Z")
        if day > "02":
            broken(made)
    result = cron(tmp_path)
    assert outcomes(result) == {"v04": "refused", "v03": "refused", "v02": "built", "v01": "superseded"}
    assert result.exit_code == 1
    assert sealed_at(tmp_path / "root") == "2026-01-02T00:00:00Z"


@pytest.mark.parametrize("spoil", ["refused", "unreadable"])
def test_an_unreadable_seal_does_not_hide_others(tmp_path: Path, seal: Seal, spoil: str) -> None:
    seal("Test_a", "v1", sealed_at="2026-01-01T00:00:00Z")
    later = seal("Test_a", "v2", seed=2, sealed_at="2026-01-02T00:00:00Z")
    (later / "pnl.parquet").unlink() if spoil == "refused" else (later / "seal.json").write_text("{")
    assert outcomes(cron(tmp_path)) == {"v1": "built", "v2": "refused"}


def test_a_seal_from_the_future_is_refused_and_hides_no_other(tmp_path: Path, seal: Seal) -> None:
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    seal("Test_a", "v1", sealed_at="2026-01-01T00:00:00Z")
    seal("Test_a", "v2", seed=2, sealed_at=tomorrow)
    result = cron(tmp_path)
    assert outcomes(result) == {"v2": "refused", "v1": "built"}
    (refused,) = [entry for entry in result.json["seals"] if entry["outcome"] == "refused"]
    assert [violation["rule"] for violation in refused["violations"]] == ["seal.clock"]
    # It will be valid tomorrow, so the refusal is not remembered.
    assert outcomes(cron(tmp_path)) == {"v2": "refused", "v1": "unchanged"}


def test_a_watcher_refuses_a_seal_with_an_impossible_start_once(
    tmp_path: Path, seal: Seal, watch: Watching
) -> None:
    old = seal("Test_a", "old", started_at="1960-01-01T00:00:00Z")
    ahead = seal("Test_b", "ahead", started_at="2200-01-01T00:00:00Z")
    with watch() as watcher:
        refused = [watcher.line() for _ in range(2)]
        assert {entry["seal"] for entry in refused} == {str(old), str(ahead)}
        assert all(entry["violations"][0]["rule"] == "seal.clock" for entry in refused)
        seal("Test_c", "later")
        later = watcher.line()
    assert (Path(later["seal"]).parent.name, later["outcome"]) == ("later", "built")
    # The first refusal never lapses.
    assert outcomes(cron(tmp_path)) == {"old": "still refused", "ahead": "refused", "later": "unchanged"}


def test_a_refusal_is_remembered_and_reported_once(
    tmp_path: Path, seal: Seal, monkeypatch: pytest.MonkeyPatch
) -> None:
    seal("Test_a", "good")
    broken(seal("Test_b", "bad"))
    first = cron(tmp_path)
    assert (first.exit_code, outcomes(first)) == (1, {"good": "built", "bad": "refused"})

    def nothing(*_: object) -> None:
        raise AssertionError("a build was started")

    with monkeypatch.context() as patch:
        patch.setattr("pipeline.batch.process.LocalExecutor.build", nothing)
        again = cron(tmp_path)
    assert (again.exit_code, outcomes(again)) == (8, {"good": "unchanged", "bad": "still refused"})
    (entry,) = [entry for entry in again.json["seals"] if entry["outcome"] == "still refused"]
    assert "pnl.total" in [violation["rule"] for violation in entry["violations"]]
    broken(seal("Test_c", "new"))
    worse = cron(tmp_path)
    assert worse.exit_code == 1
    assert outcomes(worse) == {"good": "unchanged", "bad": "still refused", "new": "refused"}
    assert outcomes(cron(tmp_path, "--recheck"))["bad"] == "refused"


@pytest.mark.parametrize("changed", ["pipeline/rules/holding_rules.py", "pipeline/reconciliation/tables.py"])
def test_a_refused_seal_is_checked_again_by_a_program_whose_rules_or_their_arithmetic_changed(
    tmp_path: Path, seal: Seal, monkeypatch: pytest.MonkeyPatch, changed: str
) -> None:
    broken(seal("Test_a", "bad"))
    assert outcomes(cron(tmp_path)) == {"bad": "refused"}
    assert outcomes(cron(tmp_path)) == {"bad": "still refused"}
    with monkeypatch.context() as patch:
        patch.setattr(release, "_REPOSITORY", other_release(tmp_path / "product", changed))
        release.release.cache_clear()
        assert outcomes(cron(tmp_path)) == {"bad": "refused"}
    release.release.cache_clear()


def test_resealed_runs_are_checked_again_and_removed_ones_forgotten(tmp_path: Path, seal: Seal) -> None:
    made = seal("Test_a", "v1")
    content = {path.name: path.read_bytes() for path in made.iterdir() if path.is_file()}
    broken(made)
    assert outcomes(cron(tmp_path)) == {"v1": "refused"}
    assert len(list((tmp_path / "root/refused").iterdir())) == 1
    for name in sorted(content, key=lambda name: name == "seal.json"):
        (made / name).write_bytes(content[name])
    result = cron(tmp_path)
    assert (result.exit_code, outcomes(result)) == (0, {"v1": "built"})
    assert list((tmp_path / "root/refused").iterdir()) == []


def test_a_seal_published_by_recheck_is_no_longer_among_the_refused(tmp_path: Path, seal: Seal) -> None:
    seal("Test_a", "v1")
    keys = tmp_path / "keys.json"
    public = Ed25519PrivateKey.generate().public_key().public_bytes_raw()
    keys.write_text(json.dumps({"desk": [base64.b64encode(public).decode()]}))
    assert outcomes(cron(tmp_path, "--seal-keys", str(keys))) == {"v1": "refused"}
    assert len(list((tmp_path / "root/refused").iterdir())) == 1
    assert outcomes(cron(tmp_path, "--recheck")) == {"v1": "built"}
    assert list((tmp_path / "root/refused").iterdir()) == []


def test_an_unsigned_seal_is_checked_again_once_it_is_signed_or_its_key_is_added(
    tmp_path: Path, seal: Seal
) -> None:
    made, keys = seal("Test_a", "v1"), tmp_path / "keys.json"
    own, other = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()

    def outcome_with(key: Ed25519PrivateKey) -> str:
        public = base64.b64encode(key.public_key().public_bytes_raw()).decode()
        keys.write_text(json.dumps({"desk": [public]}))
        return outcomes(cron(tmp_path, "--seal-keys", str(keys)))["v1"]

    assert [outcome_with(other) for _ in range(2)] == ["refused", "still refused"]
    (made / "seal.dsse.json").write_bytes(signed_envelope((made / "seal.json").read_bytes(), own))
    assert [outcome_with(other) for _ in range(2)] == ["refused", "still refused"]
    assert outcome_with(own) == "built"


def test_late_files_cause_another_check_of_the_same_manifest(tmp_path: Path, seal: Seal) -> None:
    made = seal("Test_a", "v1")
    (made / "pnl.parquet").rename(tmp_path / "pnl.parquet")
    assert outcomes(cron(tmp_path)) == {"v1": "refused"}
    result = cron(tmp_path)
    assert (result.exit_code, outcomes(result)) == (8, {"v1": "still refused"})
    (tmp_path / "pnl.parquet").rename(made / "pnl.parquet")
    result = cron(tmp_path)
    assert (result.exit_code, outcomes(result)) == (0, {"v1": "built"})


def test_a_seal_whose_files_went_away_during_its_check_is_checked_again(
    tmp_path: Path, seal: Seal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when its disk is unmounted: later the files are there again, the same as before."""
    file, elsewhere = seal("Test_a", "v1") / "pnl.parquet", tmp_path / "pnl.parquet"
    build_seal = LocalExecutor.build

    def losing(executor: LocalExecutor, *arguments: Any) -> SealResult:
        file.rename(elsewhere)
        return build_seal(executor, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(LocalExecutor, "build", losing)
        assert outcomes(cron(tmp_path)) == {"v1": "refused"}
    elsewhere.rename(file)
    assert outcomes(cron(tmp_path)) == {"v1": "built"}


@pytest.mark.parametrize(("make", "remove"), [(os.mkfifo, Path.unlink), (Path.mkdir, Path.rmdir)])
def test_a_manifest_that_is_not_a_file_is_remembered_too(
    tmp_path: Path, seal: Seal, make: Callable[[Path], None], remove: Callable[[Path], None]
) -> None:
    made = seal("Test_a", "v1")
    (made / "seal.json").rename(tmp_path / "seal.json")
    make(made / "seal.json")
    assert (cron(tmp_path).exit_code, cron(tmp_path).exit_code) == (1, 8)
    remove(made / "seal.json")
    (tmp_path / "seal.json").rename(made / "seal.json")
    assert outcomes(cron(tmp_path)) == {"v1": "built"}


def test_builds_proceed_when_refusals_cannot_be_recorded(tmp_path: Path, seal: Seal) -> None:
    seal("Test_a", "good")
    broken(seal("Test_b", "bad"))
    (tmp_path / "root").mkdir()
    (tmp_path / "root/refused").write_text("a file in its place")
    for expected in ("built", "unchanged"):
        result = cron(tmp_path)
        assert (result.exit_code, outcomes(result)) == (1, {"good": expected, "bad": "refused"})


def test_a_watcher_builds_a_seal_whose_files_arrive_after_its_manifest(
    tmp_path: Path, seal: Seal, watch: Watching
) -> None:
    made = seal("Test_a")
    late = sorted(made.glob("*.parquet"))
    for path in late:
        path.rename(tmp_path / path.name)
    with watch() as watcher:
        assert watcher.line()["outcome"] == "refused"
        for path in late:
            (tmp_path / path.name).rename(path)
        assert watcher.line()["outcome"] == "built"
    assert list((tmp_path / "root/refused").iterdir()) == []


def test_a_watcher_refuses_a_seal_with_a_warning_once(tmp_path: Path, seal: Seal, watch: Watching) -> None:
    made = seal("Test_a")
    manifest = json.loads((made / "seal.json").read_text())
    (made / "seal.json").write_text(json.dumps({**manifest, "misspelt": 1}))
    with watch("--strict") as watcher:
        assert "seal.unknown" in [violation["rule"] for violation in watcher.line()["violations"]]
        seal("Test_b")
        later = watcher.line()
    assert Path(later["seal"]).name == "Test_b", "the refused seal was checked again"
    assert not (tmp_path / "root/refused").exists(), "a build without --strict would publish it"


def test_a_watcher_serves_the_earlier_seal_at_the_same_scan(seal: Seal, watch: Watching) -> None:
    seal("Test_a", "v1", sealed_at="2026-01-01T00:00:00Z")
    broken(seal("Test_a", "v2", seed=2, sealed_at="2026-01-02T00:00:00Z"))
    with watch(interval="600") as watcher:
        assert [watcher.line()["outcome"] for _ in range(2)] == ["refused", "built"]
