"""Publication is atomic."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import datasets
from datasets.catalogue.live import Catalogue
from datasets.layout import CATALOG, MANIFEST, STAGING, pointer_path, snapshot_path
from datasets.pointer import Pointer
from datasets.publication.pointers import Published
from datasets.publication.publish import Publication
from datasets.storage import open_storage
from schemas.errors import (
    AlphaNotPublished,
    KindNotPublished,
    PublicationRefused,
    SnapshotCorrupt,
)
from tests.support.processes import REPOSITORY

Publish = Callable[..., Published]

_STAGE_AND_WAIT = """
import sys, time
from datasets.publication.publish import Publication
from datasets.storage import open_storage

with Publication(open_storage(sys.argv[1]), "Test_tiny") as publication:
    (publication.folder / "half").write_text("half")
    time.sleep(60)
"""


def _files(root: Path) -> dict[str, tuple[int, bytes]]:
    return {
        str(path.relative_to(root)): (path.stat().st_mtime_ns, path.read_bytes())
        for path in root.rglob("*")
        if path.is_file()
    }


def test_published_tables_are_read_back(root: Path, publish: Publish) -> None:
    publish(n_symbols=7)
    snapshot = datasets.open(root)["Test_tiny"]
    assert snapshot.scan("rebalances").collect()["n_symbols"].to_list() == [7, 7]
    assert snapshot.books("positions") == ("long_short", "long_only")
    assert snapshot.scan("positions").collect()["book"].to_list() == ["long_short", "long_only"]
    assert snapshot.scan("positions", "long_only").collect().height == 1
    assert snapshot.relation("positions").filter("quantity > 0").count("*").fetchall() == [(2,)]
    assert sorted(snapshot.arrow("positions").to_table().column("book").to_pylist()) == [
        "long_only",
        "long_short",
    ]
    assert snapshot.description() == {"name": "Tiny", "tldr": "7 names"}


def test_publishing_is_idempotent(root: Path, publish: Publish) -> None:
    assert publish().changed
    before = _files(root)
    assert not publish().changed
    assert _files(root) == before


def test_an_older_seal_does_not_replace_a_newer_one_unless_forced(root: Path, publish: Publish) -> None:
    publish(n_symbols=2, sealed_at="2026-02-01T00:00:00.500000Z")
    with pytest.raises(PublicationRefused, match="--force"):
        publish(n_symbols=1, sealed_at="2026-02-01T00:00:00Z")
    assert datasets.open(root)["Test_tiny"].description() == {"name": "Tiny", "tldr": "2 names"}
    publish(n_symbols=1, sealed_at="2026-02-01T00:00:00Z", force=True)
    assert datasets.open(root)["Test_tiny"].description() == {"name": "Tiny", "tldr": "1 names"}


def test_a_reader_keeps_its_snapshot_while_a_newer_one_is_published(root: Path, publish: Publish) -> None:
    publish(n_symbols=1)
    opened = datasets.open(root)
    old = opened["Test_tiny"]
    publish(n_symbols=2, sealed_at="2026-03-01T00:00:00Z")
    assert old.scan("rebalances").collect()["n_symbols"].to_list() == [1, 1]
    assert opened.catalogue.refresh()
    assert opened["Test_tiny"].scan("rebalances").collect()["n_symbols"].to_list() == [2, 2]
    assert not opened.catalogue.refresh()


def test_an_abandoned_build_is_invisible_and_is_swept(root: Path, publish: Publish) -> None:
    with Publication(open_storage(root), "Test_tiny") as publication:
        (publication.folder / "half").write_text("half")
    assert not list((root / STAGING).glob("build-*"))
    assert not (root / CATALOG).exists(), "nothing was published yet"

    process = subprocess.Popen([sys.executable, "-c", _STAGE_AND_WAIT, str(root)], cwd=REPOSITORY)
    while not list((root / STAGING).glob("build-*/snapshot/half")):
        time.sleep(0.01)
    publish("Test_other")
    assert list((root / STAGING).glob("build-*")), "a build at work was swept"
    process.kill()
    process.wait()
    publish("Test_third")
    assert not list((root / STAGING).glob("build-*"))
    assert sorted(datasets.open(root)) == ["Test_other", "Test_third"]


def test_a_tampered_manifest_is_refused_by_name(root: Path, publish: Publish) -> None:
    published = publish()
    path = root / snapshot_path("Test_tiny", published.snapshot) / MANIFEST
    path.write_bytes(path.read_bytes().replace(b"research", b"tampered"))
    with pytest.raises(SnapshotCorrupt, match=r"manifest\.json"):
        _ = datasets.open(root)["Test_tiny"].manifest


def test_the_list_is_ordered_latest_started_first_then_by_address(root: Path, publish: Publish) -> None:
    publish("Test_b", started_at="2026-01-02T00:00:00Z")
    publish("Test_a", started_at="2026-01-02T00:00:00Z")
    publish("Test_c", started_at="2026-01-02T00:00:00.250000Z")
    publish("Test_d", started_at="2025-01-02T00:00:00Z")
    assert list(datasets.open(root)) == ["Test_c", "Test_a", "Test_b", "Test_d"]
    assert datasets.open(root).list()["alpha_id"].to_list() == ["Test_c", "Test_a", "Test_b", "Test_d"]


@pytest.mark.parametrize("address", ["../etc", "a/b", "", ".hidden", "a..b", "x" * 200, "a\n"])
def test_no_path_is_built_from_a_bad_address(root: Path, publish: Publish, address: str) -> None:
    publish()
    with pytest.raises(AlphaNotPublished):
        pointer_path(address)
    with pytest.raises(AlphaNotPublished):
        datasets.open(root)[address]


def test_a_table_sealed_without_rows_has_its_declared_columns(root: Path, publish: Publish) -> None:
    publish()
    opened = datasets.open(root)
    full, run = opened["Test_tiny"].scan("positions").collect_schema(), opened["Test_tiny"]
    run.__dict__["manifest"] = replace(
        run.manifest, files=tuple(entry for entry in run.manifest.files if entry.dataset != "positions")
    )
    empty = run.scan("positions").collect()
    assert empty.height == 0
    assert list(empty.columns) == list(full.names())
    assert empty.schema["date"] == pl.Date
    assert empty.schema["weight"] == pl.Float64
    assert run.arrow("positions").count_rows() == 0
    assert run.relation("positions").fetchall() == []
    with pytest.raises(KindNotPublished, match=r"no positions of book long_short; the table is empty$"):
        run.scan("positions", "long_short")


def test_a_root_and_an_alpha_describe_themselves_in_a_notebook(root: Path, publish: Publish) -> None:
    published = publish()
    opened = datasets.open(root)
    assert repr(opened) == f"Root({str(root)!r}, 1 alpha)"
    assert repr(opened["Test_tiny"]) == f"Alpha('Test_tiny', snapshot={published.snapshot!r})"


def test_an_absent_dataset_is_refused_with_the_available_ones(root: Path, publish: Publish) -> None:
    publish()
    snapshot = datasets.open(root)["Test_tiny"]
    with pytest.raises(KindNotPublished, match="rebalances, positions"):
        snapshot.scan("trades")
    with pytest.raises(
        KindNotPublished, match=r"positions of book long_short_settlements; .* one of long_short"
    ):
        snapshot.scan("positions", "long_short_settlements")
    with pytest.raises(KindNotPublished, match=r"rebalances of book long_short; .*: name none$"):
        snapshot.scan("rebalances", "long_short")


@given(
    st.lists(
        st.tuples(st.text("aAbßSİ\n ", max_size=4), st.none() | st.text("aAbßSİ\n ", max_size=4)), max_size=6
    ),
    st.text("aAbßSİ\n\0 ", max_size=3),
)
def test_search_agrees_with_a_scan_of_all_alphas(
    tmp_path_factory: pytest.TempPathFactory, texts: list[tuple[str, str | None]], wanted: str
) -> None:
    root = tmp_path_factory.mktemp("root")
    for number, (name, tldr) in enumerate(texts):
        open_storage(root).put(f"catalog/Test_{number}.json", _pointer(f"Test_{number}", name, tldr).encode())
    catalogue = Catalogue(open_storage(root))
    catalogue.refresh()
    assert len(catalogue.listing.pointers) == len(texts), catalogue.broken
    expected = [
        pointer.alpha_id
        for pointer in catalogue.listing.pointers
        if any(
            wanted.casefold() in (text or "").casefold()
            for text in (pointer.alpha_id, pointer.name, pointer.tldr)
        )
    ]
    assert [pointer.alpha_id for pointer in catalogue.listing.search(wanted)] == expected


def _pointer(alpha: str, name: str, tldr: str | None) -> Pointer:
    return Pointer(
        alpha, "0" * 20, "0" * 64, name, tldr, complete=True, missing=(), started_at="2026-01-01T00:00:00Z",
        sealed_at="2026-01-01T00:00:00Z", published_at="2026-01-01T00:00:00Z",
        first_published_at="2026-01-01T00:00:00Z",
    )  # fmt: skip
