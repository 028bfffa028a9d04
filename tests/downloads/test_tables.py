"""Table downloads by signed links: rights, expiry, contents."""

from __future__ import annotations

import base64
import contextlib
import errno
import hashlib
import io
import shutil
import tempfile
from pathlib import Path

import httpx
import polars as pl
import pyarrow.parquet as pq
import pytest

import datasets
from pipeline.snapshot_builder import build_seal
from schemas.tables import PUBLISHED_TABLES
from serve.endpoints import files
from tests.downloads.signed_links import LIST, code, fetched, signed, signed_by, target
from tests.support import contract_app
from tests.support.application import running
from tests.support.client import ApiClient
from tests.support.contract_app import EMPTY, FULL, HIDDEN, PLAIN, UNDECIDED
from tests.support.seals import make_seal
from tests.support.waiting import eventually


@pytest.mark.parametrize("alpha", [FULL, PLAIN, UNDECIDED, HIDDEN, contract_app.BARE])
@pytest.mark.parametrize("with_raw", [False, True])
def test_every_listed_file_matches_its_description(
    api: ApiClient, reader: str, raw: str, alpha: str, with_raw: bool
) -> None:
    token = raw if with_raw else reader
    listed = api.json(f"/v1/alphas/{alpha}/tables", token)["data"]
    assert listed
    for row in listed:
        link = signed(api, token, row["table"], row["book"], alpha)
        response = fetched(api, link["url"])
        assert response.status_code == 200
        assert {x: link[x] for x in ("table", "book", "rows", "size_bytes", "sha256")} == {
            x: row[x] for x in ("table", "book", "rows", "size_bytes", "sha256")
        }
        assert len(response.content) == row["size_bytes"]
        assert hashlib.sha256(response.content).hexdigest() == row["sha256"]
        frame = pl.read_parquet(io.BytesIO(response.content))
        assert frame.height == row["rows"]
        assert frame.columns == [column["name"] for column in row["columns"]]
        assert all(column["meaning"] for column in row["columns"])


@pytest.mark.parametrize("alpha", [FULL, PLAIN, UNDECIDED, HIDDEN, contract_app.BARE])
def test_no_file_for_a_key_without_raw_access_contains_raw_data(
    api: ApiClient, reader: str, alpha: str
) -> None:
    for row in api.json(f"/v1/alphas/{alpha}/tables", reader)["data"]:
        assert not (row["book"] or "").startswith("raw_")
        content = fetched(api, signed(api, reader, row["table"], row["book"], alpha)["url"]).content
        file = pq.ParquetFile(io.BytesIO(content))
        names = file.schema_arrow.names
        assert not [x for x in names if x.startswith("raw_") or x.endswith("_raw") or "unsmoothed" in x]
        declared = PUBLISHED_TABLES[row["table"]]
        assert not [x for x in names if declared[x].raw or "unsmoothed_score" in declared[x].needs]
        assert b"raw_" not in content
        assert b"unsmoothed" not in content
        if "book" in names:
            assert not [x for x in file.read(["book"])["book"].to_pylist() if x.startswith("raw_")]


def test_a_view_without_raw_has_the_rows_of_the_published_table(
    api: ApiClient, root: Path, reader: str
) -> None:
    snapshot = datasets.open(root)[FULL]
    for table in ("decisions", "weekly_signal", "books"):
        published = snapshot.scan(table).collect()
        if table == "books":
            published = published.filter(~pl.col("book").str.starts_with("raw_"))
        content = fetched(api, signed(api, reader, table)["url"]).content
        seen = pl.read_parquet(io.BytesIO(content))
        assert len(seen.columns) > 1
        assert seen.equals(published.select(seen.columns))
        assert pq.read_schema(io.BytesIO(content)).field(0).metadata[b"unit"]


def unnamed_files() -> set[str]:
    """Return this process's open unlinked files."""
    held = set()
    for descriptor in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # the descriptor of the listing itself
            held.add(str(descriptor.readlink()))
    return {name for name in held if name.endswith(" (deleted)")}


def test_an_ended_service_holds_no_view_open(tmp_path: Path) -> None:
    build_seal(str(make_seal(tmp_path, alpha_id=FULL)), tmp_path / "published")
    before = unnamed_files()
    with running(tmp_path / "published") as client:
        assert fetched(client, signed(client, client.key(), "decisions")["url"]).status_code == 200
        assert unnamed_files() - before
    assert not unnamed_files() - before


def test_a_key_without_raw_access_sees_no_raw_books_and_tables(api: ApiClient, reader: str, raw: str) -> None:
    listed = {x["table"] for x in api.json(LIST, reader)["data"]}
    all_of_them = {x["table"] for x in api.json(LIST, raw)["data"]}
    assert all_of_them - listed == {"weekly_deciles", "sealed_metrics"}
    for table in ("weekly_deciles", "sealed_metrics"):
        refused = api.get(f"{LIST}/{table}/download", reader)
        assert code(refused) == (404, "table_not_found")
        assert set(refused.json()["error"]["details"]["available"]) == listed
    assert code(api.get(f"{LIST}/positions/download?book=raw_long_short", reader)) == (400, "unknown_book")


def test_missing_tables_are_refused(api: ApiClient, raw: str) -> None:
    assert code(api.get(f"{LIST}/nothing/download", raw)) == (400, "bad_request")
    assert code(api.get(f"{LIST}/decisions/download?book=long_short", raw)) == (400, "bad_request")
    assert code(api.get(f"{LIST}/positions/download?book=", raw)) == (400, "unknown_book")
    assert code(api.get(f"/v1/alphas/{EMPTY}/tables/positions/download", raw)) == (404, "table_not_found")
    assert api.json(f"/v1/alphas/{EMPTY}/tables", raw)["data"] == []


def test_a_key_has_the_tables_whose_rows_it_may_read(api: ApiClient) -> None:
    files = "catalog.alphas.tables.list,catalog.alphas.tables.download"
    bare, pnl = api.key(endpoints=files), api.key(endpoints=f"{files},portfolio.pnl")
    assert api.json(LIST, bare)["data"] == []
    assert {file["table"] for file in api.json(LIST, pnl)["data"]} == {"pnl"}
    assert signed(api, pnl, "pnl")["rows"] > 0
    for table in ("decisions", "portfolio", "equity_curve", "weekly_signal", "trials"):
        assert code(api.get(f"{LIST}/{table}/download", pnl)) == (404, "table_not_found")
        assert api.get(f"{LIST}/{table}/download", pnl).json()["error"]["details"] == {"available": ["pnl"]}


def test_ranges_of_a_file_are_sent(api: ApiClient, reader: str) -> None:
    link = signed(api, reader, "decisions")
    url, size = link["url"], link["size_bytes"]
    full = fetched(api, url)
    assert full.headers["accept-ranges"] == "bytes"
    etag = full.headers["etag"]
    assert etag == f'"{link["sha256"]}"'
    digest = base64.b64encode(hashlib.sha256(full.content).digest()).decode()
    assert full.headers["repr-digest"] == f"sha-256=:{digest}:"
    for header, part, span in (
        ("bytes=0-0", full.content[:1], "0-0"),
        ("bytes=5-99", full.content[5:100], "5-99"),
        (f"bytes={size - 8}-", full.content[-8:], f"{size - 8}-{size - 1}"),
        ("bytes=-8", full.content[-8:], f"{size - 8}-{size - 1}"),
        (f"bytes=0-{size + 50}", full.content, f"0-{size - 1}"),
    ):
        for more in ({}, {"if_range": etag}):
            result = fetched(api, url, range=header, **more)
            assert (result.status_code, result.content) == (206, part)
            assert result.headers["content-range"] == f"bytes {span}/{size}"
            assert result.headers["etag"] == etag
    for header in ("bytes=0-1,4-5", "bytes=9-2", "lines=0-1"):
        assert fetched(api, url, range=header).status_code == 200
    changed = fetched(api, url, range="bytes=0-0", if_range='"another"')
    assert (changed.status_code, changed.content) == (200, full.content)
    beyond = fetched(api, url, range=f"bytes={size}-")
    assert code(beyond) == (416, "range_not_satisfiable")
    assert beyond.headers["content-range"] == f"bytes */{size}"


def test_head_has_the_headers_of_get(api: ApiClient, reader: str) -> None:
    link = signed(api, reader, "positions")
    head, get = api.get(target(link["url"]), method="HEAD"), fetched(api, link["url"])
    assert (head.status_code, head.content) == (200, b"")
    assert {**head.headers, "x-request-id": ""} == {**get.headers, "x-request-id": ""}
    assert int(head.headers["content-length"]) == link["size_bytes"]


def test_an_unchanged_file_is_answered_with_304(api: ApiClient, reader: str) -> None:
    link = signed(api, reader, "positions")
    for tag in (f'"{link["sha256"]}"', f'"x", W/"{link["sha256"]}"', "*"):
        result = fetched(api, link["url"], if_none_match=tag)
        assert (result.status_code, result.content) == (304, b"")
    assert fetched(api, link["url"], if_none_match='"other"').status_code == 200


def test_downloads_of_a_key_are_bounded(tmp_path: Path) -> None:
    build_seal(str(make_seal(tmp_path / "seals", alpha_id=FULL)), tmp_path / "published")
    with running(tmp_path / "published", link_bytes_per_hour=1) as api:
        token = api.key()
        url = signed_by(api, token)
        assert fetched(api, url).status_code == 200
        refused = fetched(api, url)
        assert code(refused) == (429, "link_bytes_exceeded")
        assert 0 < int(refused.headers["retry-after"]) <= 3600
        assert fetched(api, signed_by(api, api.key())).status_code == 200, "another key has bytes of its own"


def test_too_many_concurrent_downloads_are_refused_temporarily(
    api: ApiClient, reader: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = signed_by(api, reader)
    monkeypatch.setattr(files, "MAX_DOWNLOADS_PER_KEY", 0)
    busy = fetched(api, url)
    assert code(busy) == (503, "upstream_unavailable")
    assert int(busy.headers["retry-after"]) >= 1


def test_a_replaced_snapshot_is_downloadable_until_removed(tmp_path: Path) -> None:
    root = tmp_path / "published"
    build_seal(str(make_seal(tmp_path / "one", alpha_id=FULL)), root)
    with running(root) as api:
        token = api.key()
        links = [signed(api, token, *x) for x in (("decisions",), ("positions", "long_short"))]
        first = [fetched(api, link["url"]).content for link in links]
        old = api.json(LIST, token)["meta"]["snapshot"]
        again = make_seal(tmp_path / "two", alpha_id=FULL, seed=2, sealed_at="2026-01-06T07:30:00Z")
        build_seal(str(again), root)
        eventually(lambda: api.json(LIST, token)["meta"]["snapshot"] != old)
        assert [fetched(api, link["url"]).content for link in links] == first
        pinned = api.json(f"{LIST}/decisions/download?snapshot={old}", token)["data"]
        assert pinned["sha256"] == links[0]["sha256"] != signed(api, token, "decisions")["sha256"]
        # As gc does: remove the snapshot from the pointer, then delete its folder.
        pointer = root / "catalog" / f"{FULL}.json"
        pointer.write_text(pointer.read_text().replace(old, "0" * 20))
        assert pointer.exists()
        eventually(lambda: code_or_none(fetched(api, links[0]["url"])) == (404, "snapshot_not_found"))


def test_a_file_that_gc_removes_before_its_view_is_written_is_of_a_snapshot_that_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "published"
    build_seal(str(make_seal(tmp_path / "one", alpha_id=FULL)), root)
    old = datasets.open(root)[FULL].id
    again = make_seal(tmp_path / "two", alpha_id=FULL, seed=2, sealed_at="2026-01-06T07:30:00Z")
    build_seal(str(again), root)
    read = pq.ParquetFile

    def removed_before(path: str) -> pq.ParquetFile:
        pointer = root / "catalog" / f"{FULL}.json"
        pointer.write_text(pointer.read_text().replace(old, "0" * 20))
        shutil.rmtree(root / "alphas" / f"alpha_id={FULL}" / f"snapshot={old}")
        return read(path)

    with running(root) as api:
        token = api.key()
        monkeypatch.setattr(pq, "ParquetFile", removed_before)
        refused = api.get(f"{LIST}/decisions/download?snapshot={old}", token)
        assert code(refused) == (404, "snapshot_not_found")


def code_or_none(response: httpx.Response) -> tuple[int, str] | None:
    return None if response.status_code == 200 else code(response)


def test_a_damaged_file_is_never_sent(tmp_path: Path) -> None:
    root = tmp_path / "published"
    build_seal(str(make_seal(tmp_path / "one", alpha_id=FULL)), root)
    with running(root, verify_seconds=0) as api:
        token = api.key(raw=True)
        link = signed(api, token, "decisions")
        (path,) = root.glob("alphas/*/*/decisions/part-0.parquet")
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.chmod(0o644)
        path.write_bytes(data)
        assert code(fetched(api, link["url"])) == (503, "upstream_unavailable")
        assert api.get("/v1/health").json()["affected_alphas"] == 1


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("gettempdir", FileNotFoundError(errno.ENOENT, "No usable temporary directory found in ['/tmp']")),
        ("TemporaryFile", OSError(errno.ENOSPC, "No space left on device")),
    ],
)
def test_a_view_without_room_for_temporary_files_is_refused_temporarily_and_damages_no_snapshot(
    root: Path, monkeypatch: pytest.MonkeyPatch, name: str, error: OSError
) -> None:
    def refuse(**_: object) -> str:
        raise error

    with running(root, counts=root.with_name(f"counts-{name}")) as api:
        token = api.key()
        with monkeypatch.context() as patched:
            patched.setattr(tempfile, name, refuse)
            refused = api.get(f"{LIST}/decisions/download", token)
            assert code(refused) == (503, "upstream_unavailable")
            assert int(refused.headers["retry-after"]) >= 1
        assert "affected_alphas" not in api.get("/v1/health").json()
        assert signed(api, token, "decisions")["rows"]
