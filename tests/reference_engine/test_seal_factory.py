"""The suite's seal factory: omissions and single changes."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.support.seals import make_seal, resign, rewrite


def kinds(seal: Path) -> dict[str, Any]:
    return dict(json.loads((seal / "seal.json").read_text())["kinds"])


def test_a_seal_is_written_under_its_name_reproducibly(tmp_path: Path) -> None:
    first, second = make_seal(tmp_path / "a"), make_seal(tmp_path / "b")
    assert first == tmp_path / "a" / "Test_small"
    for path in first.rglob("*"):
        if path.is_file():
            assert path.read_bytes() == (second / path.relative_to(first)).read_bytes()


def test_a_name_changes_the_papers_and_not_the_run(tmp_path: Path) -> None:
    plain, named = (
        make_seal(tmp_path),
        make_seal(tmp_path, alpha_id="sim_named", sealed_at="2026-02-01T00:00:00Z"),
    )
    manifest = json.loads((named / "seal.json").read_text())
    assert (manifest["alpha_id"], manifest["sealed_at"]) == ("sim_named", "2026-02-01T00:00:00Z")
    assert (named / "source" / "README.md").read_text().startswith("# sim_named")
    assert kinds(named)["pnl"] == kinds(plain)["pnl"]


def test_kinds_and_columns_can_be_omitted(tmp_path: Path) -> None:
    bare = make_seal(
        tmp_path,
        trades=False,
        metrics=False,
        description=False,
        source=False,
        without_kinds=["pnl"],
        without_columns={"decisions": ["entry_at", "forward_return"]},
    )
    assert set(kinds(bare)) == {"rebalances", "decisions", "portfolio", "positions"}
    files = {path.name for path in bare.iterdir()}
    assert files == {"seal.json", *(f"{kind}.parquet" for kind in kinds(bare))}
    columns = pl.read_parquet(bare / "decisions.parquet").columns
    assert not {"entry_at", "forward_return"} & set(columns)
    assert "maturity_at" in columns


def test_weeks_without_skips_or_a_pending_end(tmp_path: Path) -> None:
    seal = make_seal(tmp_path, skipped=False, pending=False)
    assert pl.read_parquet(seal / "rebalances.parquet")["week_status"].unique().to_list() == ["traded"]


def test_a_rewritten_table_is_signed_again_and_nothing_else_changes(tmp_path: Path) -> None:
    seal = make_seal(tmp_path)
    before = kinds(seal)
    rewrite(seal, "trades", lambda trades: trades.head(3))
    after = kinds(seal)
    content = (seal / "trades.parquet").read_bytes()
    assert after["trades"]["rows"] == 3
    assert after["trades"]["bytes"] == len(content)
    assert after["trades"]["sha256"] == hashlib.sha256(content).hexdigest()
    assert {k: v for k, v in after.items() if k != "trades"} == {
        k: v for k, v in before.items() if k != "trades"
    }


def test_a_rewritten_document_is_signed_again(tmp_path: Path) -> None:
    seal = make_seal(tmp_path)
    rewrite(seal, "metrics", lambda document: {"records": document["records"][:1]})
    content = (seal / "metrics.json").read_bytes()
    assert len(json.loads(content)["records"]) == 1
    assert kinds(seal)["metrics"]["sha256"] == hashlib.sha256(content).hexdigest()


def test_a_rewritten_manifest_is_kept_as_given(tmp_path: Path) -> None:
    seal = make_seal(tmp_path)
    rewrite(seal, "seal", lambda manifest: {**manifest, "seal_version": 2})
    assert json.loads((seal / "seal.json").read_text())["seal_version"] == 2


def test_signing_again_follows_the_files(tmp_path: Path) -> None:
    seal = make_seal(tmp_path)
    (seal / "pnl.parquet").unlink()
    (seal / "source" / "extra.py").write_text("X = 1\n")
    resign(seal)
    assert "pnl" not in kinds(seal)
    assert "extra.py" in kinds(seal)["source"]["files"]


def test_an_unknown_column_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(pl.exceptions.ColumnNotFoundError):
        make_seal(tmp_path, without_columns={"pnl": ["no_such_column"]})
