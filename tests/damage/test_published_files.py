"""Published files with flipped bits: wrong figures are never served, and health reports the damage."""

from __future__ import annotations

import contextlib
import json
import random
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import polars as pl
import pytest

from datasets.catalogue.live import Catalogue
from datasets.storage import open_storage
from datasets.storage.file_digests import FileDigests
from schemas.endpoint import AllowListScope
from schemas.endpoints import ENDPOINTS
from schemas.errors import SnapshotCorrupt, SnapshotError
from schemas.tables.books import BOOK_KINDS, CONDITIONED_BOOKS
from tests.damage.damaged import ALPHA, BESIDE, RUN, flip, health, snapshot_folder
from tests.support import published
from tests.support.application import running
from tests.support.client import ApiClient
from tests.support.waiting import eventually

FLIPS_OF_A_FILE: Final = 6


SAME_ID: Final = {"x-request-id": "the-same"}


NO_FILES: Final = {
    "performance.metrics.doc",
    "catalog.alphas.source.download",
    # Signs a link without reading the file; tests/downloads covers the link.
    "catalog.alphas.tables.download",
}


MOMENT: Final = re.compile(rb'"generated_at":"[^"]*",')


def questions(root: Path) -> list[str]:
    """Return every endpoint that reads published files, for every book."""
    weeks = pl.read_parquet(snapshot_folder(root) / "rebalances" / "part-0.parquet")
    week = weeks.filter(pl.col("week_status") == "traded")["date"][8]
    result = ["/v1/alphas"]
    for endpoint in ENDPOINTS.values():
        if endpoint.allow_list is AllowListScope.NONE or endpoint.id in NO_FILES:
            continue
        path = endpoint.path.replace("{alpha}", ALPHA).replace("{date}", str(week))
        names = {parameter.name for parameter in endpoint.parameters}
        books = CONDITIONED_BOOKS if "book" in names and set(endpoint.datasets) & set(BOOK_KINDS) else (None,)
        for book in books:
            query = [f"book={book}"] if book else []
            query += ["limit=5000"] if "limit" in names else []
            query += [f"alphas={BESIDE}"] if "alphas" in names else []
            result.append(f"{path}?{'&'.join(query)}")
    return [*result, f"{RUN}/metrics?panel=1&granularity=yearly"]


def answers(api: ApiClient, token: str, paths: list[str]) -> dict[str, tuple[int, bytes]]:
    results = {path: api.get(path, token, headers=SAME_ID) for path in paths}
    return {path: (answer.status_code, MOMENT.sub(b"", answer.content)) for path, answer in results.items()}


def differing(intact: Mapping[str, Any], now: Mapping[str, Any]) -> set[str]:
    """Return the paths of the members in which two metrics differ."""
    results = set()
    for name in intact.keys() | now.keys():
        if intact.get(name) != now.get(name):
            nested = isinstance(intact.get(name), dict) and isinstance(now.get(name), dict)
            results |= {f"{name}.{x}" for x in differing(intact[name], now[name])} if nested else {name}
    return results


def figures(document: Any) -> Iterator[tuple[str, float]]:
    """Yield every number of a document with its path."""
    pairs = document.items() if isinstance(document, dict) else enumerate(document)
    for name, value in pairs:
        if isinstance(value, dict | list):
            yield from ((f"{name}.{rest}", number) for rest, number in figures(value))
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield str(name), value


def require_right_or_withheld(path: str, intact: tuple[int, bytes], now: tuple[int, bytes]) -> None:
    if now == intact:
        return
    status, body = now
    document = json.loads(body)
    if status == 200 and path.startswith(f"{RUN}/metrics"):
        # Parts of the metrics may be withheld with a reason; every figure that is served must be right.
        assert any(x["code"] == "block_error" for x in document["meta"]["warnings"])
        known = dict(figures(json.loads(intact[1])["data"]))
        assert dict(figures(document["data"])).items() <= known.items()
        return
    if status == 200 and path.startswith(f"{RUN}/snapshots/compare"):
        assert document["data"]["withheld"], "what cannot be compared has its reason"
        known = dict(figures(json.loads(intact[1])["data"]))
        assert dict(figures(document["data"])).items() <= known.items()
        return
    assert status == 503, (path, body[:300])
    assert document["error"]["code"] == "upstream_unavailable"
    assert document["error"]["request_id"] == SAME_ID["x-request-id"]


def test_a_flipped_bit_never_changes_an_answer(root: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """In any published file, after the server has read it."""
    draw = random.Random(5)
    files = sorted(path for path in snapshot_folder(root).rglob("*") if path.is_file())
    paths = questions(root)
    with running(root, memory_bytes=1, rows_bytes=0) as api:
        token = api.key()
        full = answers(api, token, paths)
        assert {status for status, _ in full.values()} == {200}
        refused = 0
        for path in files:
            size = path.stat().st_size
            concerned = paths
            for place in [0, size - 1, size - 6, *(draw.randrange(size) for _ in range(FLIPS_OF_A_FILE - 3))]:
                bit = draw.randrange(8)
                flip(path, place, bit)
                now = answers(api, token, concerned)
                flip(path, place, bit)
                for requested, answer in now.items():
                    require_right_or_withheld(requested, full[requested], answer)
                spoilt = [requested for requested in concerned if now[requested] != full[requested]]
                refused += bool(spoilt)
                if place == 0:
                    # A file with a damaged first byte cannot be read, so unchanged answers do not depend on it.
                    concerned = spoilt
        assert refused > len(files) / 2, "most files are of some use"
        assert answers(api, token, paths) == full, "what was mended is answered again"
        eventually(lambda: health(api) == ("ok", 0))
    log = "".join(capfd.readouterr())
    assert "Traceback" not in log
    assert "panicked" not in log


def test_a_bit_flipped_before_the_start_is_detected_although_the_file_version_is_unchanged(
    sound: Path, tmp_path: Path
) -> None:
    draw = random.Random(6)
    paths = questions(sound)
    with running(sound, memory_bytes=1, rows_bytes=0) as api:
        full = answers(api, api.key(), paths)
    for number, name in enumerate(("decisions", "sealed_metrics", "portfolio/book=long_short", "rebalances")):
        root = tmp_path / str(number)
        shutil.copytree(sound, root)
        path = snapshot_folder(root) / name / "part-0.parquet"
        flip(path, draw.randrange(4, path.stat().st_size // 2), draw.randrange(8))
        with running(root, memory_bytes=1, rows_bytes=0) as api:
            now = answers(api, api.key(), paths)
            for requested, answer in now.items():
                require_right_or_withheld(requested, full[requested], answer)
            assert now != full
            assert health(api) == ("degraded", 1)


@pytest.mark.parametrize(
    ("dataset", "blocks"),
    [
        ("sealed_metrics", {"checked", "core", "rank_ic", "periods", "nwt.ic"}),
        ("weekly_signal", {"core", "rank_ic", "nwt.ic", "nwt.ic_score_panel", "ic_deciles", "panel"}),
        ("weekly_deciles", {"ic_deciles", "panel"}),
        ("portfolio/book=long_short", {"core", "nwt.ir", "sessions_per_year"}),
    ],
)
def test_an_unreadable_file_withholds_only_its_own_metrics_blocks(
    root: Path, dataset: str, blocks: set[str]
) -> None:
    path = snapshot_folder(root) / dataset / "part-0.parquet"
    target = f"{RUN}/metrics?panel=1&granularity=yearly"
    with running(root, memory_bytes=1, rows_bytes=0) as api:
        token = api.key(raw=True)
        full = api.json(target, token)["data"]
        flip(path, 40, 3)
        answer = api.json(target, token)
        warned = [x for x in answer["meta"]["warnings"] if x["code"] == "block_error"]
        changed = {".".join(name.split(".")[:2]) for name in differing(full, answer["data"])}
        assert {x if x.startswith("nwt") else x.split(".")[0] for x in changed} <= blocks | {"periods"}
        assert {x["block"].split(".")[0] for x in warned} <= {x.split(".")[0] for x in blocks | {"periods"}}
        assert warned
        assert dict(figures(answer["data"])).items() <= dict(figures(full)).items()
        flip(path, 40, 3)
        assert api.json(target, token)["data"] == full, "a part that was withheld is not remembered as such"


def test_unreadable_metrics_are_503(root: Path) -> None:
    for path in snapshot_folder(root).rglob("part-0.parquet"):
        flip(path, 40, 3)
    with running(root) as api:
        assert api.get(f"{RUN}/metrics", api.key()).status_code == 503


def test_a_bit_flipped_in_a_pointer_affects_no_other_alpha(tmp_path: Path) -> None:
    """Each byte in turn: the pointer is rejected, fails its digest, or is still equivalent."""
    published.publish(tmp_path, {"rebalances": published.rebalances()}, alpha_id="Test_other")
    published.publish(tmp_path, published.full(), description={"name": "By hand"}, name="By hand")
    pointer = tmp_path / "catalog" / "Test_hand.json"
    draw = random.Random(8)
    storage = open_storage(str(tmp_path))
    served = Catalogue(storage)
    served.refresh()
    full = served.resolve("Test_hand")
    assert full is not None
    columns = full.columns("decisions")
    for place in range(pointer.stat().st_size):
        bit = draw.randrange(8)
        flip(pointer, place, bit)
        catalogue = Catalogue(storage)
        catalogue.refresh()
        assert catalogue.resolve("Test_other") is not None
        result = catalogue.resolve("Test_hand")
        if result is not None:
            with contextlib.suppress(SnapshotError):
                assert result.columns("decisions") == columns
        flip(pointer, place, bit)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("started_at", "2026-13-05T06:00:00Z"),
        ("sealed_at", "2026-01-05T06:00:00"),
        ("published_at", 7),
        ("snapshot", "../../elsewhere"),
        ("manifest_sha256", "g" * 64),
        ("name", None),
        ("tldr", 1),
        ("complete", "yes"),
        ("missing", ["nothing"]),
    ],
)
def test_an_invalid_pointer_field_is_named_and_affects_no_other_alpha(
    tmp_path: Path, field: str, value: object
) -> None:
    published.publish(tmp_path, {"rebalances": published.rebalances()}, alpha_id="Test_other")
    published.publish(tmp_path, published.full())
    pointer = tmp_path / "catalog" / "Test_hand.json"
    pointer.write_text(json.dumps({**json.loads(pointer.read_text()), field: value}))
    catalogue = Catalogue(open_storage(str(tmp_path)))
    catalogue.refresh()
    assert field in catalogue.broken["Test_hand"]
    assert [pointer.alpha_id for pointer in catalogue.listing.pointers] == ["Test_other"]


def test_the_datasets_package_refuses_a_damaged_file(root: Path) -> None:
    import datasets  # noqa: PLC0415 - the analysts' way in

    snapshot = datasets.open(root)[ALPHA]
    assert snapshot.scan("decisions").collect().height
    flip(snapshot_folder(root) / "decisions" / "part-0.parquet", 777, 0)
    for read in (snapshot.scan, snapshot.relation, snapshot.arrow, snapshot.file):
        with pytest.raises(SnapshotCorrupt, match=r"decisions/part-0\.parquet"):
            read("decisions")


def test_the_entity_tag_of_the_alpha_list_depends_only_on_what_the_caller_sees(tmp_path: Path) -> None:
    def publish(alpha_id: str) -> None:
        published.publish(tmp_path, {"rebalances": published.rebalances()}, alpha_id=alpha_id)

    publish("Test_mine")
    publish("Test_theirs")
    with running(tmp_path) as api:
        everything, mine = api.key(), api.key(alphas="list:Test_mine")

        def tags(query: str = "") -> tuple[str, str]:
            results = [api.get(f"/v1/alphas{query}", token) for token in (everything, mine)]
            return results[0].headers["etag"], results[1].headers["etag"]

        for _ in range(3):  # computed once, cached, and sent unchanged
            before = tags(), tags("?limit=1")
        publish("Test_more")
        eventually(lambda: tags()[0] != before[0][0])
        assert tags()[1] == before[0][1]
        assert tags("?limit=1")[1] == before[1][1]
        for _ in range(3):
            again = api.get("/v1/alphas", mine, headers={"if-none-match": before[0][1]})
            assert again.status_code == 304


def test_an_undecodable_table_is_503_to_a_key_that_sees_a_part_of_it(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = snapshot_folder(root) / "decisions" / "part-0.parquet"
    content = path.read_bytes()
    monkeypatch.setattr(FileDigests, "intact", lambda *_: True)
    for damaged in (b"PAR1" + content[4:40], content[:4] + bytes(2000) + content[2004:]):
        path.write_bytes(damaged)
        with running(root) as api:
            assert api.get(f"{RUN}/tables", api.key()).status_code == 503
            assert health(api) == ("degraded", 1)
