"""Reading of seals, and refusals."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pipeline.batch.result import failed
from pipeline.seal import Seal
from pipeline.seal.manifest import parse_manifest
from pipeline.seal.store import lexical_fault, shown_address
from pipeline.snapshot_builder import build_seal
from schemas.errors import SealRefused, SealUnreadable
from schemas.tables import SEALED_TABLES
from tests.support.processes import REPOSITORY, WITHOUT_RIGHTS
from tests.support.seals import declare, make_seal, rewrite


def broken_rule(read: Callable[[], Any]) -> str:
    with pytest.raises(SealRefused) as refusal:
        read()
    (violation,) = refusal.value.violations
    return str(violation["rule"])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_seal(tmp_path, source_alpha_id="research-1", tried=(1.0,))


def test_the_manifest_is_read(folder: Path) -> None:
    seal = Seal.open(str(folder))
    assert (seal.alpha_id, seal.source_alpha_id) == ("Test_small", "research-1")
    assert seal.started_at == datetime(2026, 1, 5, 6, tzinfo=UTC)
    assert seal.sealed_at.tzinfo is not None
    assert seal.equity_basis == 1.0
    assert seal.digest == hashlib.sha256((folder / "seal.json").read_bytes()).hexdigest()
    assert seal.has("trades")
    assert not seal.has("weather")


def test_without_a_source_id_the_alpha_id_is_used(tmp_path: Path) -> None:
    assert Seal.open(str(make_seal(tmp_path))).source_alpha_id == "Test_small"


@pytest.mark.parametrize("kind", SEALED_TABLES)
def test_tables_have_the_declared_columns_in_their_order(folder: Path, kind: str) -> None:
    rewrite(folder, kind, lambda frame: frame.select(reversed(frame.columns)).with_columns(more=pl.lit(1)))
    seal = Seal.open(str(folder))
    declared = [column.name for column in SEALED_TABLES[kind].sealed_columns]
    result = seal.table(kind).columns
    assert result == [name for name in declared if name in result]
    assert seal.decode(kind).extra == ("more",)


def test_documents_and_sources_are_read(folder: Path) -> None:
    seal = Seal.open(str(folder))
    description = seal.description()
    assert description is not None
    assert "name" in description
    metrics = seal.metrics()
    assert metrics is not None
    assert metrics.columns == ["name", "scope", "period", "value", "unit", "source_kind", "annualised"]
    for path, digest in seal.source_files().items():
        assert hashlib.sha256(seal.read("source", path)).hexdigest() == digest
    assert seal.source_files()


def test_unsealed_kinds_are_none(tmp_path: Path) -> None:
    seal = Seal.open(str(make_seal(tmp_path, metrics=False, description=False, source=False)))
    assert seal.metrics() is None
    assert seal.description() is None
    assert seal.source_files() == {}


@pytest.mark.parametrize("name", ["metrics.json", "description.json", "trades.parquet"])
def test_a_file_with_a_wrong_digest_is_refused(folder: Path, name: str) -> None:
    with (folder / name).open("ab") as file:
        file.write(b" ")
    kind = name.split(".", maxsplit=1)[0]
    assert broken_rule(lambda: Seal.open(str(folder)).read(kind)) == "seal.digest"


def test_a_source_file_that_was_changed_is_refused(folder: Path) -> None:
    seal = Seal.open(str(folder))
    path = next(iter(seal.source_files()))
    (folder / "source" / path).write_text("changed")
    assert broken_rule(lambda: seal.read("source", path)) == "seal.digest"


@pytest.mark.parametrize(
    "path", ["../pnl.parquet", "/etc/hostname", "a/../../b", "..\\b", "", "./pnl.parquet", "a//b"]
)
def test_no_path_leaves_the_seal(folder: Path, path: str) -> None:
    declare(folder, "pnl", path=path)
    assert broken_rule(lambda: Seal.open(str(folder)).table("pnl")) == "seal.path"


def test_no_link_is_followed(folder: Path) -> None:
    outside = folder.parent / "outside.json"
    (folder / "metrics.json").rename(outside)
    (folder / "metrics.json").symlink_to(outside)
    assert broken_rule(lambda: Seal.open(str(folder)).metrics()) == "seal.path"


def test_the_seal_itself_may_be_reached_through_a_link(folder: Path) -> None:
    link = folder.parent / "latest"
    link.symlink_to(folder)
    assert Seal.open(str(link)).table("rebalances").height > 0


@pytest.mark.parametrize(
    ("path", "sound"),
    [
        ("pnl.parquet", True),
        ("parts/pnl.parquet", True),
        (".env", True),
        ("a..b", True),
        ("..", False),
        ("a/..", False),
        ("a\x00b", False),
        ("a\nb", False),
        ("c:/x", False),
        ("s3://bucket/x", False),
        ("x/", False),
    ],
)
def test_paths_as_text(path: str, sound: bool) -> None:
    assert (lexical_fault(path) is None) is sound


@pytest.mark.parametrize("address", ["nowhere", "nope://bucket/prefix"])
def test_a_missing_seal_is_reported(tmp_path: Path, address: str) -> None:
    with pytest.raises(SealUnreadable, match=address):
        Seal.open(address if "://" in address else str(tmp_path / address))


def test_an_unfinished_seal_is_unreadable(folder: Path) -> None:
    (folder / "seal.json").unlink()
    with pytest.raises(SealUnreadable, match=r"no seal\.json"):
        Seal.open(str(folder))


def test_a_file_url_is_read_as_a_path(folder: Path) -> None:
    there, here = Seal.open(f"file://{folder}"), Seal.open(str(folder))
    assert there.digest == here.digest
    assert there.table("positions").equals(here.table("positions"))
    assert there.read("source", next(iter(there.source_files())))


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("ftp://me:hunter2@host/run?token=abc", "ftp://host/run"),
        ("/data/a?b@c", "/data/a?b@c"),
        ("s3://bucket/runs@2024/a", "s3://bucket/runs@2024/a"),
        ("http://host:9000/run", "http://host:9000/run"),
    ],
)
def test_addresses_are_shown_without_their_passwords(address: str, shown: str) -> None:
    assert shown_address(address) == shown


@pytest.mark.parametrize(
    "address",
    [
        "s3://me:hunter2@bucket/run",
        "s3://me:hunt@hunter2@bucket/run",
        "s3://me:hunter2/hunter2@bucket/run",
        "s3://me:?hunter2@bucket/run",
        "s3://bucket?token=hunter2@hunter2",
        "s3://bucket/run?token=hunter2@x/y",
    ],
)
def test_no_part_of_a_password_is_shown_in_any_encoding(address: str) -> None:
    assert "hunter2" not in shown_address(address)


LAWFUL: dict[str, Any] = {
    "seal_version": 1,
    "alpha_id": "a",
    "source_alpha_id": None,
    "started_at": "2026-01-05T06:00:00Z",
    "sealed_at": "2026-01-05T07:30:00.250Z",
    "engine": {"name": "e", "version": "1"},
    "equity_basis": 1,
    "smoothing": {"applied": False, "half_life_weeks": None, "detail": None},
    "kinds": {"pnl": {"path": "pnl.parquet", "sha256": "0" * 64, "bytes": 0, "rows": 0}},
}


def problem_keys(**changes: Any) -> list[str]:
    document = {key: value for key, value in (LAWFUL | changes).items() if value is not ...}
    return [problem.key for problem in parse_manifest(json.dumps(document).encode())[1]]


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"smoothing": None},
        {"smoothing": ...},
        {"source_alpha_id": ...},
        {"equity_basis": 2.5e6},
        {"alpha_id": "A" * 128},
        {"alpha_id": "0.a_b-c"},
        {"kinds": {}},
        {"kinds": {"metrics": {"path": "m", "sha256": "AB" * 32, "bytes": 1}}},
        {"kinds": {"source": {"path": "source/", "files": {}}}},
        {"engine": {}},
    ],
    ids=str,
)
def test_valid_manifests(change: dict[str, Any]) -> None:
    assert problem_keys(**change) == []


PNL = LAWFUL["kinds"]["pnl"]
NO_IDS: tuple[Any, ...] = ("", 7, [])


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"seal_version": 2}, "seal_version"),
        ({"seal_version": True}, "seal_version"),
        ({"seal_version": "1"}, "seal_version"),
        ({"seal_version": ...}, "seal_version"),
        *[
            ({"alpha_id": bad}, "alpha_id")
            for bad in ("", "a/b", "a..b", ".a", "-a", "a\n", "A" * 129, None, 7, "ä", ...)
        ],
        *[({"source_alpha_id": bad}, "source_alpha_id") for bad in NO_IDS],
        *[
            ({"started_at": bad}, "started_at")
            for bad in (
                "2026-01-05T06:00:00",
                "2026-01-05T06:00:00+00:00",
                "2026-01-05",
                "2026-02-30T06:00:00Z",
                7,
                None,
                ...,
            )
        ],
        ({"sealed_at": "2026-01-05T24:30:00Z"}, "sealed_at"),
        ({"engine": "x"}, "engine"),
        ({"engine": ...}, "engine"),
        *[({"equity_basis": bad}, "equity_basis") for bad in (0, -1, True, "1", None, 10**400, ...)],
        ({"smoothing": "none"}, "smoothing"),
        ({"smoothing": {"applied": 1}}, "smoothing.applied"),
        ({"smoothing": {"applied": True, "half_life_weeks": "2"}}, "smoothing.half_life_weeks"),
        ({"smoothing": {"applied": True, "detail": 2}}, "smoothing.detail"),
        ({"kinds": []}, "kinds"),
        ({"kinds": ...}, "kinds"),
        ({"kinds": {"pnl": []}}, "kinds.pnl"),
        ({"kinds": {"pnl": PNL | {"path": 3}}}, "kinds.pnl.path"),
        ({"kinds": {"pnl": PNL | {"sha256": "0" * 63}}}, "kinds.pnl.sha256"),
        ({"kinds": {"pnl": PNL | {"sha256": None}}}, "kinds.pnl.sha256"),
        ({"kinds": {"pnl": PNL | {"bytes": -1}}}, "kinds.pnl.bytes"),
        ({"kinds": {"pnl": PNL | {"bytes": 1.0}}}, "kinds.pnl.bytes"),
        ({"kinds": {"pnl": PNL | {"rows": None}}}, "kinds.pnl.rows"),
        ({"kinds": {"pnl": PNL | {"rows": True}}}, "kinds.pnl.rows"),
        ({"kinds": {"source": {"path": "source/"}}}, "kinds.source.files"),
        ({"kinds": {"source": {"path": "source/", "files": {"a": 1}}}}, "kinds.source.files.a"),
    ],
    ids=str,
)
def test_manifests_that_break_their_types(change: dict[str, Any], key: str) -> None:
    assert problem_keys(**change) == [key]


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"[]",
        b"{",
        b"\xff\xfe{}",
        b'{"seal_version": 1, "seal_version": 1}',
        b'{"equity_basis": NaN}',
        b'{"equity_basis": 1e999}',
        b'{"alpha_id": "\\ud800"}',
        b"[" * 100_000,
        b'{"a": ' + b"9" * 5000 + b"}",
    ],
    ids=lambda raw: repr(raw[:30]),
)
def test_manifests_that_are_no_json_object(tmp_path: Path, raw: bytes) -> None:
    (tmp_path / "seal.json").write_bytes(raw)
    assert broken_rule(lambda: Seal.open(str(tmp_path))) == "seal.manifest"


def test_an_unreadable_file_is_not_reported_as_broken(folder: Path) -> None:
    (folder / "pnl.parquet").chmod(0)
    check = [*WITHOUT_RIGHTS, sys.executable, "-m", "pipeline", "check", str(folder), "--json"]
    done = subprocess.run(check, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == SealUnreadable.exit_code, done.stderr
    (result,) = json.loads(done.stdout)["seals"]
    assert result["error"] == "SealUnreadable"
    assert result["message"].endswith("reading pnl.parquet is not permitted; let this user read it")


def test_a_refusal_never_shows_the_addresss_password(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "s3://me:hunter2@bucket/run"
    made = rewrite(make_seal(tmp_path), "pnl", lambda rows: rows[1:])
    opened = Seal.open(str(made))
    opened.address = shown_address(secret)
    monkeypatch.setattr(Seal, "open", lambda _: opened)
    with pytest.raises(SealRefused) as refused:
        build_seal(secret, tmp_path / "root")
    assert "s3://bucket/run" in str(refused.value)
    assert "hunter2" not in f"{refused.value} {refused.value.violations}"
    assert "hunter2" not in str(failed(shown_address(secret), refused.value).entry)
