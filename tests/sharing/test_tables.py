"""Delta Sharing: lists, signed files and earlier versions."""

from __future__ import annotations

import hashlib
import io
import json
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

import polars as pl
import pytest

from datasets.layout import pointer_path
from datasets.pointer import Pointer
from pipeline.snapshot_builder import build_seal
from serve.sharing.protocol import snapshot_version
from tests.sharing.protocol_requests import files, lines, operation, send
from tests.support import contract_app, published
from tests.support.application import running
from tests.support.contract_app import FULL, HIDDEN, PLAIN, ContractApp
from tests.support.pipeline_command import run_pipeline
from tests.support.seals import make_seal
from tests.support.waiting import eventually


def downloaded(api: ContractApp, file: dict[str, object]) -> pl.DataFrame:
    parts = urlsplit(str(file["url"]))
    answer = api.client.get(f"{parts.path}?{parts.query}")
    assert answer.status_code == 200, answer.text
    assert len(answer.content) == file["size"]
    assert hashlib.sha256(answer.content).hexdigest() == file["id"]
    return pl.read_parquet(io.BytesIO(answer.content))


def test_shares_are_the_alphas_that_a_key_may_list_and_read(api: ContractApp) -> None:
    listed = [row["name"] for row in send(api, "/shares", "testing").json()["items"]]
    assert listed == sorted(row["alpha_id"] for row in api.rows("catalog.alphas.list", key="testing"))
    assert FULL in listed
    assert HIDDEN not in listed


def test_pages_of_a_list_concatenate_to_the_list(api: ContractApp) -> None:
    everything = send(api, "/shares").json()["items"]
    paged, token = [], ""
    while True:
        body = send(api, f"/shares?maxResults=2&pageToken={token}").json()
        assert len(body["items"]) <= 2
        paged += body["items"]
        token = body.get("nextPageToken", "")
        if not token:
            break
    assert paged == everything


@pytest.mark.parametrize(
    "query", [f"maxResults={most}" for most in ("-1", "x", "1.5", "9" * 23, "%EF%BC%91")]
)
def test_an_invalid_page_is_refused_by_parameter_name(api: ContractApp, query: str) -> None:
    answer = send(api, f"/shares?{query}")
    assert answer.status_code == 400
    assert answer.json()["errorCode"] == "BAD_REQUEST"
    assert query.partition("=")[0] in answer.json()["message"]


@pytest.mark.parametrize("key", ["reader", "raw"])
def test_every_file_a_key_may_have_is_shared_with_its_columns(api: ContractApp, key: str) -> None:
    offered = api.ok("catalog.alphas.tables.list", key=key, alpha=FULL)["data"]
    named = [row["name"] for row in operation(api, "all-tables", key, FULL).json()["items"]]
    assert named == sorted({file["table"] for file in offered})
    for table in named:
        answer = operation(api, "query", key, FULL, table)
        shared = files(answer)
        mine = [file for file in offered if file["table"] == table]
        assert [(x["id"], x["size"]) for x in shared] == [(x["sha256"], x["size_bytes"]) for x in mine]
        metadata = lines(answer)[1]["metaData"]
        columns = [x["name"] for x in json.loads(metadata["schemaString"])["fields"]]
        assert metadata["partitionColumns"] == (["book"] if mine[0]["book"] else [])
        frame = downloaded(api, shared[0])
        assert [x for x in columns if x not in metadata["partitionColumns"]] == [
            x for x in frame.columns if x not in metadata["partitionColumns"]
        ]
        assert json.loads(shared[0]["stats"]) == {"numRecords": frame.height}
        assert [x["partitionValues"].get("book") for x in shared] == [x["book"] for x in mine]


def test_a_key_without_raw_access_gets_no_column_and_no_book_of_the_signal_before_smoothing(
    api: ContractApp,
) -> None:
    for table in ("decisions", "portfolio", "books"):
        for file in files(operation(api, "query", "reader", FULL, table)):
            assert not str(file["partitionValues"].get("book", "")).startswith("raw_")
            frame = downloaded(api, file)
            assert not [name for name in frame.columns if name.startswith("raw_")]
            if "book" in frame.columns:
                assert not frame["book"].cast(pl.String).str.starts_with("raw_").any()


def test_hints_omit_no_file_and_a_limit_shortens_the_list(api: ContractApp) -> None:
    every = files(operation(api, "query", "raw", FULL, "portfolio"))
    one = files(operation(api, "query", "raw", FULL, "portfolio", body={"limitHint": 1}))
    assert [file["id"] for file in one] == [every[0]["id"]]
    assert files(operation(api, "query", "raw", FULL, "portfolio", body={"limitHint": 0})) == []
    for hint in ("", "{", "[]", '{"op": "equal"}', '{"op": "in", "children": 3}'):
        ignored = operation(api, "query", "raw", FULL, "portfolio", body={"jsonPredicateHints": hint})
        assert files(ignored)[-1]["id"] == every[-1]["id"]
        assert len(files(ignored)) == len(every)


@pytest.mark.parametrize(
    ("body", "named"),
    [
        (b"{", "body"),
        (b"[]", "body"),
        (b"x" * 70_000, "body"),
        ({"limitHint": -1}, "limitHint"),
        ({"limitHint": True}, "limitHint"),
        ({"version": "1"}, "version"),
        ({"timestamp": "yesterday"}, "timestamp"),
        ({"timestamp": "2026-01-01T00:00:00"}, "timestamp"),
        ({"version": 1, "timestamp": "2026-01-01T00:00:00Z"}, "timestamp"),
        ({"startingVersion": 0}, "startingVersion"),
    ],
)
def test_a_broken_query_is_refused_by_the_name_of_its_field(
    api: ContractApp, body: object, named: str
) -> None:
    answer = operation(api, "query", "reader", FULL, "portfolio", body=body)
    assert answer.status_code == 400
    assert answer.json()["errorCode"] == "BAD_REQUEST"
    assert named in answer.json()["message"]


def test_a_version_beside_a_timestamp_is_refused_for_the_metadata_too(api: ContractApp) -> None:
    path = f"/shares/{FULL}/schemas/run/tables/portfolio/metadata?version=1&timestamp=2026-01-01T00:00:00Z"
    answer = send(api, path)
    assert (answer.status_code, answer.json()["errorCode"]) == (400, "BAD_REQUEST")
    assert "timestamp: must not be given together with version" in answer.json()["message"]


def test_missing_names_are_404_in_the_form_of_the_protocol(api: ContractApp) -> None:
    for path in (
        f"/shares/{FULL}/schemas/other/tables",
        f"/shares/{FULL}/schemas/run/tables/nothing/metadata",
        f"/shares/{PLAIN}/schemas/run/tables/weekly_deciles/metadata",
        "/shares/Test_nowhere",
        "/nothing",
    ):
        answer = send(api, path)
        assert answer.status_code == 404, path
        assert answer.json().keys() == {"errorCode", "message"}
    assert send(api, f"/shares/{FULL}/schemas/run/tables/portfolio/query").status_code == 404


def test_a_version_names_the_same_rows_while_kept(tmp_path: Path) -> None:
    root = tmp_path / "root"
    build_seal(str(make_seal(tmp_path, alpha_id=FULL, weeks=20)), root)
    with running(root) as client:
        key = client.key()
        api = ContractApp(client, contract_app.Keys({"reader": key}), root)
        first = operation(api, "query", share=FULL, table="portfolio")
        number = int(first.headers["delta-table-version"])
        before = [file["id"] for file in files(first)]
        later = make_seal(tmp_path / "later", alpha_id=FULL, weeks=22, sealed_at="2026-02-05T07:30:00Z")
        build_seal(str(later), root)

        def served() -> int:
            return int(
                operation(api, "version", share=FULL, table="portfolio").headers["delta-table-version"]
            )

        eventually(lambda: served() > number)
        assert [x["id"] for x in files(operation(api, "query", share=FULL, table="portfolio"))] != before
        named = operation(api, "query", share=FULL, table="portfolio", body={"version": number})
        assert [file["id"] for file in files(named)] == before
        assert int(named.headers["delta-table-version"]) == number
        at = datetime.fromtimestamp(number / 1e6 + 1e-3, UTC).isoformat()
        timed = operation(api, "query", share=FULL, table="portfolio", body={"timestamp": at})
        assert [file["id"] for file in files(timed)] == before
        for absent in ({"version": number - 1}, {"timestamp": "2001-01-01T00:00:00Z"}):
            answer = operation(api, "query", share=FULL, table="portfolio", body=absent)
            assert (answer.status_code, answer.json()["errorCode"]) == (404, "SNAPSHOT_NOT_FOUND")


def test_a_timestamp_reads_what_was_served_then(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    week = {"rebalances": published.rebalances()}
    days = ("2026-01-05T07:30:00Z", "2026-01-06T07:30:00Z")
    _, second = (published.publish(root, week, alpha_id=FULL, sealed_at=day).snapshot for day in days)
    for command in ("rollback", "withdraw", "restore"):
        assert run_pipeline(command, root, FULL).exit_code == 0
    pointer = Pointer.decode((root / pointer_path(FULL)).read_bytes(), "the pointer")
    rolled_back = pointer.earlier[second]
    (withdrawn,) = (x for snapshot, x in pointer.earlier.items() if snapshot != second)
    with running(root) as client:
        api = ContractApp(client, contract_app.Keys({"reader": client.key()}), root)

        def version_at(timestamp: str) -> int:
            body = {"timestamp": timestamp}
            answer = operation(api, "query", share=FULL, table="rebalances", body=body)
            assert len(files(answer)) == 1
            return int(answer.headers["delta-table-version"])

        served = snapshot_version(pointer.first_published_at)
        assert version_at(pointer.first_published_at) == served
        assert version_at(rolled_back.published_at) == snapshot_version(rolled_back.published_at)
        for again in (rolled_back.replaced_at, withdrawn.replaced_at, "9999-12-31T23:59:59Z"):
            assert version_at(again) == served
        for at in (withdrawn.published_at, "2001-01-01T00:00:00Z"):
            body = {"timestamp": at}
            answer = operation(api, "query", share=FULL, table="rebalances", body=body)
            assert (answer.status_code, answer.json()["errorCode"]) == (404, "SNAPSHOT_NOT_FOUND")
            assert ("withdrawn" in answer.json()["message"]) is (at == withdrawn.published_at)
        path = f"/shares/{FULL}/schemas/run/tables/rebalances/version?startingTimestamp="
        assert send(api, path + withdrawn.published_at).status_code == 400, "no version began since"


def test_a_timestamp_between_two_withdrawals_reads_what_was_served_then(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    published.publish(root, {"rebalances": published.rebalances()}, alpha_id=FULL)
    times = []
    for command in ("withdraw", "restore") * 2:
        assert run_pipeline(command, root, FULL).exit_code == 0
        times.append(datetime.now(UTC).isoformat())
    with running(root) as client:
        api = ContractApp(client, contract_app.Keys({"reader": client.key()}), root)
        answers = [
            operation(api, "query", share=FULL, table="rebalances", body={"timestamp": at}) for at in times
        ]
        assert [answer.status_code for answer in answers] == [404, 200, 404, 200]
        assert ["withdrawn" in answer.text for answer in answers] == [True, False, True, False]


def test_damage_found_by_a_client_degrades_the_health(tmp_path: Path) -> None:
    root = tmp_path / "published"
    build_seal(str(make_seal(tmp_path / "one", alpha_id=FULL)), root)
    (manifest,) = root.glob("alphas/*/*/manifest.json")
    manifest.unlink()
    with running(root) as api:
        answer = api.get(f"/delta-sharing/shares/{FULL}/schemas/run/tables", api.key())
        assert (answer.status_code, answer.json()["errorCode"]) == (503, "UPSTREAM_UNAVAILABLE")
        assert api.get("/v1/health").json()["affected_alphas"] == 1
