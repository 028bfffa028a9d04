"""--watch builds new seals until it is terminated."""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import date
from pathlib import Path
from typing import Any, ClassVar

import polars as pl
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

import datasets
from datasets.layout import CATALOG
from pipeline.batch.batch import Batch
from pipeline.batch.command_line import follow
from pipeline.batch.output import Output
from pipeline.batch.process import LocalExecutor
from pipeline.batch.result import SealResult
from pipeline.batch.run import Step
from pipeline.seal.signature import signed_envelope
from tests.batch.conftest import Watch
from tests.support.seals import rewrite
from tests.support.small_disk import small_disk
from tests.support.waiting import eventually

Seal = Callable[..., Path]
Watching = Callable[..., AbstractContextManager[Watch]]


def _served(root: Path) -> set[str]:
    return {path.stem for path in (root / CATALOG).glob("*.json")}


def test_new_seals_are_served(tmp_path: Path, seal: Seal, watch: Watching) -> None:
    root = tmp_path / "root"
    seal("Test_a")
    broken = rewrite(seal("Test_broken"), "pnl", lambda rows: rows[1:])
    with watch() as watcher:
        eventually(lambda: _served(root) == {"Test_a"}, "the first run")
        unfinished = seal("Test_b", "elsewhere")
        (unfinished / "seal.json").rename(tmp_path / "seal.json")
        seal("Test_c")
        eventually(lambda: "Test_c" in _served(root), "a run sealed later")
        assert "Test_b" not in _served(root), "an unfinished seal was built"
        (tmp_path / "seal.json").rename(unfinished / "seal.json")
        eventually(lambda: "Test_b" in _served(root), "the run whose manifest came last")
    *result, last = watcher.rest
    assert (last["summary"]["built"], last["summary"]["refused"], last["exit_code"]) == (3, 1, 0)
    by_alpha = [(Path(entry["seal"]).name, entry["outcome"]) for entry in result]
    assert sorted(by_alpha) == [
        ("Test_a", "built"), ("Test_b", "built"), ("Test_broken", "refused"), ("Test_c", "built"),
    ]  # fmt: skip
    assert broken.name not in datasets.open(root)


def test_a_refused_seal_is_retried_when_resealed(seal: Seal, watch: Watching) -> None:
    made = seal("Test_a")
    content = {path.name: path.read_bytes() for path in made.iterdir() if path.is_file()}
    rewrite(made, "pnl", lambda rows: rows[1:])
    with watch() as watcher:
        assert watcher.line()["outcome"] == "refused"
        for name in sorted(content, key=lambda name: name == "seal.json"):
            (made / name).write_bytes(content[name])
        assert watcher.line()["outcome"] == "built"


def test_a_forced_seal_is_published_once(seal: Seal, watch: Watching) -> None:
    seal("Test_a")
    with watch("--force") as watcher:
        assert watcher.line()["outcome"] == "built"
        seal("Test_b")
        later = watcher.line()
    assert (Path(later["seal"]).name, later["outcome"]) == ("Test_b", "built"), "it was built again"


def test_no_earlier_seal_is_built_in_place_of_one_whose_pointer_is_damaged(
    tmp_path: Path, seal: Seal, watch: Watching
) -> None:
    pointer = tmp_path / "root" / CATALOG / "Test_a.json"
    pointer.parent.mkdir(parents=True)
    pointer.write_text("{")
    seal("Test_a", "v1", sealed_at="2026-01-01T00:00:00Z")
    seal("Test_a", "v2", seed=2, sealed_at="2026-01-02T00:00:00Z")
    with watch() as watcher:
        damaged = watcher.line()
        assert (Path(damaged["seal"]).parent.name, damaged["error"]) == ("v2", "SnapshotCorrupt")
        seal("Test_b", "v3")
        later = watcher.line()
    assert (Path(later["seal"]).name, later["outcome"]) == ("Test_b", "built")


@pytest.mark.parametrize("option", ["--seal-keys", "--prices"])
def test_a_seal_waits_for_the_correction_of_the_keys_or_prices_that_could_not_be_used(
    tmp_path: Path, seal: Seal, watch: Watching, option: str
) -> None:
    key, file, good = Ed25519PrivateKey.generate(), tmp_path / "file", tmp_path / "good"
    public = base64.b64encode(key.public_key().public_bytes_raw()).decode()
    good.write_text(json.dumps({"desk": [public]}))
    if option == "--prices":
        pl.DataFrame({"date": [date(2026, 1, 2)], "symbol": ["AAA"], "close": [1.0]}).write_parquet(good)

    def signed(alpha: str) -> None:
        made = seal(alpha)
        (made / "seal.dsse.json").write_bytes(signed_envelope((made / "seal.json").read_bytes(), key))

    def place(content: bytes) -> None:
        (tmp_path / "draft").write_bytes(content)
        (tmp_path / "draft").replace(file)

    place(good.read_bytes())
    signed("Test_a")
    with watch(option, str(file)) as watcher:
        assert watcher.line()["outcome"] == "built"
        place(b"neither keys nor prices")
        signed("Test_b")
        failed = watcher.line()
        assert (failed["outcome"], failed["error"]) == ("failed", "SettingsError")
        assert str(file) in failed["message"]
        place(good.read_bytes())
        later = watcher.line()
    assert (Path(later["seal"]).name, later["outcome"]) == ("Test_b", "built")
    assert _served(tmp_path / "root") == {"Test_a", "Test_b"}


def _is_reported_and_searched_again(
    tmp_path: Path,
    seal: Seal,
    watch: Watching,
    lose: Callable[[], object],
    restore: Callable[[], object],
    reason: str,
) -> None:
    metrics = tmp_path / "build.prom"
    seal("Test_a")
    with watch("--metrics-file", str(metrics)) as watcher:
        assert watcher.line()["outcome"] == "built"
        lose()
        assert watcher.process.stderr is not None
        assert f"--from: {reason}" in watcher.process.stderr.readline()
        eventually(lambda: "alpha_results_build_stores_reachable 0.0" in metrics.read_text(), "the metric")
        restore()
        seal("Test_b")
        later = watcher.line()
        assert (Path(later["seal"]).name, later["outcome"]) == ("Test_b", "built")
    assert watcher.errors.splitlines()[0] == "the store answers again", "it was reported twice"


def test_a_removed_folder_is_reported_once_and_searched_again(
    tmp_path: Path, seal: Seal, watch: Watching
) -> None:
    folder, elsewhere = tmp_path / "seals", tmp_path / "elsewhere"
    _is_reported_and_searched_again(
        tmp_path,
        seal,
        watch,
        lambda: folder.rename(elsewhere),
        lambda: elsewhere.rename(folder),
        f"there is no folder {folder} any more",
    )


def test_an_unmounted_folder_is_reported_once_and_searched_again(
    tmp_path: Path, seal: Seal, watch: Watching
) -> None:
    folder = tmp_path / "seals"
    with small_disk(folder):
        _is_reported_and_searched_again(
            tmp_path,
            seal,
            watch,
            lambda: subprocess.run(["umount", "--lazy", str(folder)], check=True),
            lambda: subprocess.run(["mount", "-t", "tmpfs", "none", str(folder)], check=True),
            f"{folder} is on another disk than before, without any seal",
        )


def test_a_seal_that_could_not_be_read_because_its_folder_went_away_is_built_when_it_is_back(
    tmp_path: Path, seal: Seal, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, elsewhere = tmp_path / "seals", tmp_path / "elsewhere"
    seal("Test_a")
    build, lost = LocalExecutor.build, iter([True])

    def losing(executor: LocalExecutor, *arguments: Any) -> SealResult:
        if next(lost, False):
            folder.rename(elsewhere)
        return build(executor, *arguments)

    class Recorded(Output):
        outcomes: ClassVar[list[str]] = []
        scans = 0

        def scanned(self, *, worked: bool = True) -> None:
            if not worked:
                elsewhere.rename(folder)
            self.scans += 1
            if self.scans > 4:
                os.kill(os.getpid(), signal.SIGTERM)

        def add(self, step: Step) -> None:
            self.outcomes.append(step.result.outcome)

    monkeypatch.setattr(LocalExecutor, "build", losing)
    batch = Batch(root=tmp_path / "root", searched=str(folder))
    output = Recorded(batch, as_json=True, metrics=None, endless=True)
    assert follow(batch, output, 0.01) == 0
    assert output.outcomes == ["failed", "built"]
