"""`export`: one query over all alphas, with the snapshots' rows, while the lease lasts."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Self

import polars as pl
import pytest
from click.testing import CliRunner, Result
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

import datasets
from datasets.catalogue.live import Catalogue
from pipeline.group import cli
from pipeline.snapshot_builder import build_seal
from tests.support.contract_app import FULL, HIDDEN, PLAIN
from tests.support.contract_root import ContractRoot
from tests.support.processes import REPOSITORY, environment
from tests.support.seals import make_seal
from tests.support.small_disk import small_disk


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory, contract_root: ContractRoot) -> Path:
    return contract_root(tmp_path_factory.mktemp("export"))


def export(root: Path, folder: Path, *flags: str) -> Result:
    return CliRunner().invoke(cli, ["export", "--datasets", str(root), "--to", str(folder), *flags])


def opened(folder: Path, table: str) -> Table:
    catalogue = SqlCatalog("alphas", uri=f"sqlite:///{folder}/catalog.db", warehouse=folder.as_uri())
    try:
        return catalogue.load_table(f"alphas.{table}")
    finally:
        catalogue.close()


@pytest.fixture(scope="module")
def exported(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("catalogue") / "new"
    result = export(root, folder, "--json")
    assert result.exit_code == 0, result.output
    return folder


@pytest.mark.parametrize("table", ["decisions", "portfolio", "positions", "rebalances", "weekly_signal"])
def test_every_alpha_has_the_rows_of_its_snapshot(root: Path, exported: Path, table: str) -> None:
    everything = pl.from_arrow(opened(exported, table).scan().to_arrow())
    assert isinstance(everything, pl.DataFrame)
    runs = datasets.open(str(root))
    for name in (FULL, PLAIN, HIDDEN):
        expected = runs[name].scan(table).collect()
        mine = everything.filter(pl.col("alpha_id") == name)
        assert mine.height == expected.height
        texts = pl.col(pl.Categorical, pl.Enum).cast(pl.String)
        columns = [x for x in expected.columns if x in mine.columns]
        assert set(expected.columns) - {"alpha_id"} <= set(columns)
        ordered = [x for x in ("book", "date", "symbol") if x in columns]
        left = mine.select(columns).with_columns(texts).sort(ordered, maintain_order=True)
        right = expected.select(columns).with_columns(texts).sort(ordered, maintain_order=True)
        assert left.select(pl.col(name).cast(kind) for name, kind in right.schema.items()).equals(right)


def test_one_query_reads_all_alphas_and_a_filter_reads_one(exported: Path) -> None:
    table = opened(exported, "portfolio")
    everything = table.scan().to_duckdb("portfolio")
    by_book = everything.sql("SELECT alpha_id, book, count(*) FROM portfolio GROUP BY ALL").fetchall()
    assert {FULL, PLAIN} <= {row[0] for row in by_book}
    assert {"long_short", "long_only"} <= {row[1] for row in by_book}
    one = table.scan(row_filter=f"alpha_id = '{FULL}' and book = 'long_only'")
    assert {file.file.partition[0] for file in one.plan_files()} == {FULL}
    connection = one.to_duckdb("portfolio")
    counted = connection.sql("SELECT count(*), min(book), max(alpha_id) FROM portfolio").fetchall()
    assert counted[0][1:] == ("long_only", FULL)


def test_a_replaced_snapshot_stays_readable_until_the_lease_ends(tmp_path: Path) -> None:
    root, folder = tmp_path / "root", tmp_path / "catalogue"
    build_seal(str(make_seal(tmp_path / "1", weeks=14, seed=1)), root)
    assert export(root, folder, "--days", "30").exit_code == 0
    before = opened(folder, "portfolio").scan().to_arrow()
    later = make_seal(tmp_path / "2", weeks=14, seed=2, sealed_at="2026-02-05T07:30:00Z")
    build_seal(str(later), root)
    flags = ["--datasets", str(root), "--keep", "1", "--grace", "0s"]
    gc = CliRunner().invoke(cli, ["gc", *flags])
    assert gc.exit_code == 0, gc.output
    assert opened(folder, "portfolio").scan().to_arrow().equals(before)
    (lease,) = (root / "leases").glob("export-*.json")
    document = json.loads(lease.read_text())
    assert document["seconds"] == 30 * 86_400
    lease.unlink()
    assert CliRunner().invoke(cli, ["gc", *flags]).exit_code == 0
    with pytest.raises(FileNotFoundError):
        opened(folder, "portfolio").scan().to_arrow()


def test_folders_may_have_names_that_a_url_escapes(tmp_path: Path) -> None:
    root, folder = tmp_path / "published é=1", tmp_path / "my catalogues" / "50% é=1"
    build_seal(str(make_seal(tmp_path / "seals", weeks=14)), root)
    result = export(root, folder)
    assert result.exit_code == 0, result.output
    assert {path.name for path in folder.iterdir()} == {"catalog.db", "alphas"}
    assert {path.name for path in tmp_path.iterdir()} == {"seals", root.name, "my catalogues"}
    table = opened(folder, "portfolio")
    assert Path(table.metadata_location.removeprefix("file://")).is_file()
    assert table.scan().to_arrow().num_rows > 0


def test_a_folder_inside_the_root_is_refused(tmp_path: Path) -> None:
    root = tmp_path / "root"
    build_seal(str(make_seal(tmp_path / "seals", weeks=14)), root)
    before = sorted(root.rglob("*"))
    (tmp_path / "link").symlink_to(root)
    for folder in (root, root / "new", tmp_path / "link/alphas/new"):
        result = export(root, folder)
        assert result.exit_code == 2, result.output
    assert f"error: --to: {folder} is inside the root {root}; name a folder outside it" in result.stderr
    assert sorted(root.rglob("*")) == before


@pytest.mark.parametrize("days", ["x", "0", "3651"])
def test_days_out_of_bounds_are_refused_with_the_bounds(tmp_path: Path, days: str) -> None:
    result = export(tmp_path / "root", tmp_path / "new", "--days", days)
    assert result.exit_code == 2
    assert f"'--days': '{days}' is not a whole number from 1 to 3650" in result.stderr


@pytest.mark.parametrize("name", ["what?", "number#1", os.fsdecode(b"odd\xff")])
def test_a_folder_whose_name_no_address_can_hold_is_refused(tmp_path: Path, name: str) -> None:
    odd, plain = tmp_path / f"{name} root", tmp_path / "root"
    for root in (odd, plain):
        (root / "catalog").mkdir(parents=True)
    (tmp_path / "link").symlink_to(odd)
    for result, option in (
        (export(plain, tmp_path / name), "--to"),
        (export(tmp_path / "link", tmp_path / "new"), "--datasets"),
    ):
        assert result.exit_code == 2, result.output
        assert f"{option}: {tmp_path}/" in result.stderr
        assert "cannot be an address in a catalogue" in result.stderr
    assert {path.name for path in tmp_path.rglob("*")} == {odd.name, "catalog", "root", "link"}


def test_a_folder_in_use_is_refused_unchanged(root: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    result = export(root, tmp_path)
    assert result.exit_code == 2
    assert "--to" in result.output
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_folder_below_a_file_is_refused(root: Path, tmp_path: Path) -> None:
    before = set((root / "leases").glob("*.json"))
    (tmp_path / "file").write_text("mine")
    result = export(root, tmp_path / "file" / "new")
    assert result.exit_code == 2
    assert f"--to: '{tmp_path}/file/new' cannot be a folder: '{tmp_path}/file' is a file" in result.stderr
    assert set((root / "leases").glob("*.json")) == before


def test_of_two_exports_into_one_folder_the_later_is_refused_and_the_other_kept(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both find the folder empty; the other writes to it while the later one reads the root."""
    folder, refresh = tmp_path / "new", Catalogue.refresh
    results: list[Result] = []

    def overtaken(catalogue: Catalogue) -> bool:
        monkeypatch.setattr(Catalogue, "refresh", refresh)
        results.append(export(root, folder))
        return refresh(catalogue)

    monkeypatch.setattr(Catalogue, "refresh", overtaken)
    later = export(root, folder)
    assert (later.exit_code, results[0].exit_code) == (2, 0), later.output
    assert f"another export wrote to {folder}" in later.stderr
    assert opened(folder, "portfolio").scan().to_arrow().num_rows > 0
    assert {path.name for path in folder.iterdir()} == {"catalog.db", "alphas"}


def test_exports_of_one_second_have_a_lease_each(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Clock(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Self:
            return cls(2026, 6, 1, tzinfo=tz)

    monkeypatch.setattr("pipeline.export.command.datetime", Clock)
    for name, days in (("long", "30"), ("short", "1")):
        assert export(root, tmp_path / name, "--days", days).exit_code == 0
    leases = [json.loads(path.read_bytes()) for path in (root / "leases").glob("export-20260601T*.json")]
    assert sorted(lease["seconds"] for lease in leases) == [86_400, 30 * 86_400]


def test_an_alpha_whose_pointer_cannot_be_read_is_not_left_out_silently(tmp_path: Path) -> None:
    root, pointer = tmp_path / "root", tmp_path / "root" / "catalog" / "Test_damaged.json"
    build_seal(str(make_seal(tmp_path / "seals", weeks=14)), root)
    pointer.write_text("{")
    result = export(root, tmp_path / "new")
    assert result.exit_code == 4, result.output
    assert "catalog/Test_damaged.json is not a pointer" in result.stderr
    assert "the catalogue would lack Test_damaged" in result.stderr
    assert not (tmp_path / "new").exists()
    assert list((root / "leases").iterdir()) == []
    pointer.unlink()
    assert export(root, tmp_path / "new").exit_code == 0


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_export_ended_by_a_signal_leaves_no_partial_catalogue_and_no_lease(
    root: Path, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    before = set((root / "leases").glob("*.json"))
    folder = tmp_path / "new"
    program = (
        "import os, pipeline.group, pipeline.export.iceberg\n"
        f"pipeline.export.iceberg._data_file = lambda *_: os.kill(os.getpid(), {int(number)})\n"
        f"pipeline.group.cli(['export', '--datasets', {str(root)!r}, '--to', {str(folder)!r}])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=REPOSITORY, env=environment(), capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (code, b"")
    assert not folder.exists()
    assert set((root / "leases").glob("*.json")) == before


def test_a_file_in_place_of_a_folder_of_the_root_is_named(tmp_path: Path) -> None:
    root = tmp_path / "root"
    build_seal(str(make_seal(tmp_path / "seals", weeks=14)), root)
    (root / "leases").write_text("mine")
    result = export(root, tmp_path / "new")
    assert result.exit_code == 5
    assert f"{root}/leases/export-" in result.stderr
    assert "a file is where one of its folders should be; remove that file" in result.stderr
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("free", [0, 64 << 10])
def test_a_full_disk_is_named_and_leaves_no_partial_catalogue_and_no_lease(
    root: Path, tmp_path: Path, free: int
) -> None:
    before = set((root / "leases").glob("*.json"))
    with small_disk(tmp_path / "disk") as disk:
        folder = disk.folder / "new"
        with disk.full():
            os.truncate(disk.folder / "filler", (disk.folder / "filler").stat().st_size - free)
            result = export(root, folder)
            assert result.exit_code == 5, result.output
            assert f"{folder} cannot be written" in result.output
            assert not folder.exists()
            assert set((root / "leases").glob("*.json")) == before
        assert export(root, folder).exit_code == 0, "space is free again"


def test_a_missing_extra_is_named_before_writing(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "pipeline.export.iceberg", raising=False)
    monkeypatch.setitem(sys.modules, "pyiceberg.catalog.sql", None)
    before = sorted(root.rglob("*"))
    result = export(root, tmp_path / "catalogue")
    assert result.exit_code == 2
    assert "export needs the extra `export`" in result.stderr
    assert (sorted(root.rglob("*")), list(tmp_path.iterdir())) == (before, [])


def test_an_export_from_a_removed_working_folder_is_refused_in_one_line(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "removed").mkdir()
    monkeypatch.chdir(tmp_path / "removed")
    (tmp_path / "removed").rmdir()
    result = export(root, tmp_path / "new")
    assert (result.exit_code, len(result.output.splitlines())) == (2, 1), result.output
    assert "the working folder was removed" in result.output
    assert not (tmp_path / "new").exists()
