"""A withdrawn alpha is not served until restored, whatever is built, sealed or collected."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import datasets
from datasets.catalogue.live import Catalogue
from datasets.layout import pointer_path
from datasets.storage import open_storage
from pipeline.snapshot_builder import build_seal
from schemas.errors import AlphaNotPublished, PublicationRefused
from tests.support.history import ALPHA, History
from tests.support.seals import make_seal


def _newer(folder: Path, day: str = "2026-01-09") -> Path:
    return make_seal(folder / day, alpha_id=ALPHA, seed=9, sealed_at=f"{day}T00:00:00Z", weeks=14)


def test_a_withdrawn_alpha_is_not_served_until_restored(history: History) -> None:
    catalogue = Catalogue(open_storage(history.root))
    catalogue.refresh()
    assert catalogue.resolve(ALPHA) is not None
    assert history.run("withdraw", ALPHA, "--reason", "wrong prices").exit_code == 0
    assert catalogue.refresh()
    assert catalogue.resolve(ALPHA) is None
    assert catalogue.listing.pointers == ()
    assert list(catalogue.withdrawn) == [ALPHA]
    assert catalogue.broken == {}
    with pytest.raises(AlphaNotPublished):
        _ = datasets.open(history.root)[ALPHA]
    assert (history.root / pointer_path(ALPHA)).exists(), (
        "an emptied catalogue is distinguished from one with withdrawn alphas"
    )
    assert history.run("verify").exit_code == 0
    assert history.run("restore", ALPHA).exit_code == 0
    catalogue.refresh()
    result = catalogue.resolve(ALPHA)
    assert result is not None
    assert result.id == history.snapshots[2]
    assert result.scan("decisions").collect().height
    assert catalogue.withdrawn == {}
    assert history.run("verify").exit_code == 0


def test_no_build_restores_a_withdrawn_alpha(history: History, tmp_path: Path) -> None:
    history.run("withdraw", ALPHA)
    newer = _newer(tmp_path)
    for seal in (*history.seals, newer):
        for force in (False, True):
            with pytest.raises(PublicationRefused, match=f"restore {ALPHA}"):
                build_seal(str(seal), history.root, force=force)
    for options in ((), ("--force",)):
        result = history.run("build", "--from", str(newer), "--json", *options)
        assert result.exit_code == 0
        assert [seal["outcome"] for seal in result.json["seals"]] == ["withdrawn"]
    assert history.run("rollback", ALPHA).exit_code == 3
    assert history.pointer.is_withdrawn
    history.run("restore", ALPHA)
    assert build_seal(str(newer), history.root).changed


def test_a_withdrawn_alphas_snapshots_are_collected_and_a_build_follows_restoration(history: History) -> None:
    history.run("withdraw", ALPHA)
    history.run("gc")
    assert set(history.snapshots) <= history.there(), "within the grace period"
    history.run("gc", "--grace", "0s")
    assert not history.there() & set(history.snapshots), "none of it is kept for its number"
    assert history.run("verify").exit_code == 0
    result = history.run("restore", ALPHA)
    assert result.exit_code == 0
    assert "build its seal" in result.output
    with pytest.raises(AlphaNotPublished):
        _ = datasets.open(history.root)[ALPHA]
    result = history.run("build", "--from", str(history.seals[2]), "--json")
    assert [seal["outcome"] for seal in result.json["seals"]] == ["built"]
    assert datasets.open(history.root)[ALPHA].id == history.snapshots[2]
    assert history.run("verify").exit_code == 0


def test_show_lists_who_decided_when_and_why(history: History) -> None:
    history.run("withdraw", ALPHA, "--reason", "prices of\nMarch are wrong")
    result = history.run("show", ALPHA, "--json").json
    assert result["withdrawn"] is True
    assert result["served"] is None
    (decision,) = result["decisions"]
    assert decision["act"] == "withdraw"
    assert decision["reason"] == "prices of March are wrong"
    assert "@" in decision["by"]
    assert decision["snapshot"] == history.snapshots[2]
    output = history.run("show", ALPHA).output
    assert "withdrawn: nothing is served" in output
    assert "prices of March are wrong" in output
    history.run("restore", ALPHA)
    history.run("rollback", ALPHA)
    acts = [each["act"] for each in history.run("show", ALPHA, "--json").json["decisions"]]
    assert acts == ["withdraw", "restore", "rollback"]
    assert history.run("list", "--json").json["withdrawn"] == []
    assert history.run("withdraw", ALPHA, "--reason", "x" * 501).exit_code == 2


def test_a_reason_that_is_not_utf8_is_refused_and_changes_nothing(history: History) -> None:
    before = sorted(history.root.rglob("*"))
    for command in ("rollback", "withdraw"):
        result = history.run(command, ALPHA, "--reason", os.fsdecode("café prices".encode("latin-1")))
        assert (result.exit_code, "--reason: it holds bytes" in result.output) == (2, True), result.output
    assert sorted(history.root.rglob("*")) == before


def test_a_repeated_withdrawal_and_one_of_a_missing_alpha_are_reported(history: History) -> None:
    assert "not withdrawn" in history.run("restore", ALPHA).output
    history.run("withdraw", ALPHA)
    result = history.run("withdraw", ALPHA)
    assert (result.exit_code, "already" in result.output) == (0, True)
    assert history.run("list", "--json").json["withdrawn"] == [ALPHA]
    assert history.run("withdraw", "Test_none").exit_code == 9
    assert history.run("restore", "Test_none").exit_code == 9


def test_a_damaged_snapshot_is_not_restored(history: History) -> None:
    path = history.place("decisions/part-0.parquet")
    history.run("withdraw", ALPHA)
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    result = history.run("restore", ALPHA)
    assert "decisions/part-0.parquet" in result.output
    assert ALPHA not in datasets.open(history.root)
    build_seal(str(history.seals[2]), history.root)
    assert datasets.open(history.root)[ALPHA].id == history.snapshots[2]
    assert history.run("verify").exit_code == 0


def test_older_readers_neither_serve_nor_overwrite_a_withdrawal(history: History) -> None:
    """Readers see an empty snapshot sealed in the far future."""
    history.run("withdraw", ALPHA)
    pointer = history.pointer
    assert pointer.sealed_at > "9999"
    assert pointer.kinds == ()
    assert pointer.name == ALPHA
    assert pointer.snapshot not in history.snapshots
    assert (history.place("manifest.json")).exists()


def test_the_empty_snapshot_of_a_withdrawal_is_neither_kept_nor_rolled_back_to(
    history: History,
) -> None:
    history.run("withdraw", ALPHA)
    empty = history.pointer.snapshot
    history.run("restore", ALPHA)
    rows = {row["snapshot"]: row for row in history.run("show", ALPHA, "--json").json["snapshots"]}
    assert rows[empty]["state"] == "empty"
    assert rows[empty]["sealed_at"] is rows[empty]["seal_digest"] is None, "no seal was the source of it"
    result = history.run("rollback", ALPHA, "--to", empty)
    assert (result.exit_code, f"withdraw {ALPHA}" in result.output) == (9, True)
    assert history.pointer.snapshot == history.snapshots[2]
    history.run("gc", "--keep", "2", "--grace", "0s")
    assert history.there() == set(history.snapshots[1:]), "it takes the place of no run"
    assert history.run("rollback", ALPHA).exit_code == 0


def test_an_alpha_withdrawn_without_a_served_snapshot_is_restored_to_none(history: History) -> None:
    history.run("withdraw", ALPHA)
    history.run("gc", "--grace", "0s")
    for _ in range(2):
        result = history.run("restore", ALPHA, "--json")
        assert (result.exit_code, result.json["served"]) == (0, False)
        history.run("withdraw", ALPHA)
