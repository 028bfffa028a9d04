"""Source archives from seal to download, and their errors."""

from __future__ import annotations

import hashlib
import io
import logging
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

import datasets
from datasets.provenance.archives import ArchiveState, read_archive_state, write_archive_state
from datasets.storage import open_storage
from pipeline.archive.package import package
from pipeline.seal import Seal
from pipeline.snapshot_builder import build_seal
from schemas.errors import SettingsError
from serve.downloads import archives
from serve.downloads.archives import SourceArchives
from tests.support import plain_http
from tests.support.application import running
from tests.support.bucket import Bucket
from tests.support.client import ApiClient
from tests.support.waiting import eventually

Seals = Callable[..., Path]
PATH = "/v1/alphas/Test_small/source/download"


class Run:
    """One published run, whose archive may be delivered to a bucket."""

    def __init__(self, bucket: Bucket, seal: Path, root: Path) -> None:
        self.bucket, self.root, self.archives = bucket, root, bucket.url("archives")
        self.seal = Seal.open(str(seal))
        self.storage = open_storage(root)
        build_seal(str(seal), root)

    def deliver(self) -> ArchiveState:
        state = package(self.seal, self.storage, self.archives)
        assert state is not None
        return state

    def state(self) -> ArchiveState | None:
        return read_archive_state(self.storage, self.seal.alpha_id, self.seal.digest)


@pytest.fixture
def run(bucket: Bucket, small_seal: Seals, tmp_path: Path) -> Run:
    return Run(bucket, small_seal(), tmp_path / "published")


def failure(api: ApiClient, code: str, status: int) -> httpx.Response:
    result = api.get(PATH, api.key())
    assert (result.status_code, result.json()["error"]["code"]) == (status, code), result.text
    return result


def error_code(response: httpx.Response) -> str:
    match = re.search(r"<Code>(.*?)</Code>", response.text)
    return match.group(1) if match else ""


def test_an_archive_is_signed_and_fetched(
    run: Run, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    state = run.deliver()
    caplog.set_level(logging.DEBUG)
    with running(run.root, archives=run.archives) as api:
        answer = api.get(PATH, api.key())
        other = api.json(PATH, api.key())["data"]
    logged = caplog.text + "".join(capfd.readouterr())
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store"
    body = answer.json()
    data = body["data"]
    assert list(data) == ["url", "expires_in", "filename", "size_bytes", "sha256"]
    assert (data["expires_in"], data["filename"]) == (3600, "Test_small.zip")
    assert (data["size_bytes"], data["sha256"]) == (state.size_bytes, state.sha256)
    assert body["meta"]["run"] == "Test_small"
    assert {"request_id", "generated_at", "source"} <= set(body["meta"])
    query = parse_qs(urlsplit(data["url"]).query)
    assert query["X-Amz-Algorithm"] == ["AWS4-HMAC-SHA256"]
    assert query["X-Amz-Expires"] == ["3600"]
    fetched = plain_http.get(data["url"])
    assert fetched.status_code == 200
    assert fetched.headers["content-disposition"] == 'attachment; filename="Test_small.zip"'
    assert len(fetched.content) == data["size_bytes"]
    assert hashlib.sha256(fetched.content).hexdigest() == data["sha256"]
    with zipfile.ZipFile(io.BytesIO(fetched.content)) as archive:
        assert "README.md" in archive.namelist()
        assert not [name for name in archive.namelist() if ".env" in name or "__pycache__" in name]
    assert plain_http.get(other["url"]).status_code == 200
    assert "source/download" in logged
    assert query["X-Amz-Signature"][0] not in logged, "a signed address is never logged"


def test_a_signed_address_opens_one_object_to_readers_only_until_it_expires(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    run.deliver()
    run.bucket.client.put_object(Bucket=run.bucket.name, Key="archives/other.zip", Body=b"of another run")
    with running(run.root, archives=run.archives) as api:
        url = api.json(PATH, api.key())["data"]["url"]
        monkeypatch.setattr(archives, "SOURCE_LIFETIME", 1)
        short = api.json(PATH, api.key())["data"]["url"]
    signature = parse_qs(urlsplit(url).query)["X-Amz-Signature"][0]
    path = urlsplit(url).path
    forged = ("1" if signature[0] == "0" else "0") + signature[1:]
    for tampered in (
        url.replace(signature, forged),
        url.replace("X-Amz-Expires=3600", "X-Amz-Expires=7200"),
        url.replace(path, f"/{run.bucket.name}/archives/other.zip"),
        url.replace("Test_small.zip", "other.zip"),
    ):
        assert tampered != url
        refused = plain_http.get(tampered)
        assert (refused.status_code, error_code(refused)) == (403, "SignatureDoesNotMatch")
    assert plain_http.get(url.split("?", maxsplit=1)[0]).status_code == 403
    assert httpx.put(url, content=b"evil").status_code == 403
    assert httpx.delete(url).status_code == 403
    eventually(lambda: plain_http.get(short).status_code == 403)
    assert error_code(plain_http.get(short)) == "AccessDenied"
    assert plain_http.get(url).status_code == 200


def test_urls_are_signed_for_the_stores_public_address(run: Run) -> None:
    run.deliver()
    port = urlsplit(run.bucket.server.endpoint).port
    public = f"http://localhost:{port}"
    with running(run.root, archives=run.archives, archives_public_endpoint=public) as api:
        url = api.json(PATH, api.key())["data"]["url"]
    assert url.startswith(f"{public}/{run.bucket.name}/archives/Test_small/")
    assert plain_http.get(url).status_code == 200
    elsewhere = url.replace("localhost", "127.0.0.1")
    assert plain_http.get(elsewhere).status_code == 403, "the host is part of what is signed"


def test_an_unfinished_archive_is_reported_with_its_state(run: Run) -> None:
    with running(run.root, archives=run.archives) as api:
        never = failure(api, "source_not_ready", 404).json()["error"]
        assert never["details"] is None
        for status in ("packaging", "failed"):
            write_archive_state(
                run.storage,
                ArchiveState("Test_small", run.seal.digest, status, "2026-01-05T07:30:00Z", "Test_small.zip"),
            )
            error = failure(api, "source_not_ready", 404).json()["error"]
            assert error["details"] == {"status": status}
        run.deliver()
        assert api.get(PATH, api.key()).status_code == 200


def test_a_run_without_source_has_no_archive(bucket: Bucket, small_seal: Seals, tmp_path: Path) -> None:
    run = Run(bucket, small_seal(source=False), tmp_path / "published")
    assert package(run.seal, run.storage, run.archives) is None
    with running(run.root, archives=run.archives) as api:
        assert failure(api, "source_not_ready", 404).json()["error"]["details"] is None


def test_a_removed_or_changed_object_is_not_signed(run: Run) -> None:
    state = run.deliver()
    key = f"archives/{state.key}"
    with running(run.root, archives=run.archives) as api:
        run.bucket.client.put_object(Bucket=run.bucket.name, Key=key, Body=b"something shorter")
        failure(api, "source_object_missing", 404)
        run.bucket.client.delete_object(Bucket=run.bucket.name, Key=key)
        failure(api, "source_object_missing", 404)
        assert package(run.seal, run.storage, run.archives) is not None
        assert api.get(PATH, api.key()).status_code == 200, "packaging again restores it"


def test_an_unavailable_store_is_reported_and_recovers_without_restart(run: Run) -> None:
    run.deliver()
    with running(run.root, archives=run.archives) as api:
        assert api.get(PATH, api.key()).status_code == 200
        with run.bucket.server.away():
            away = failure(api, "source_download_unavailable", 503)
            assert int(away.headers["retry-after"]) >= 1
            assert "127.0.0.1" not in away.text
            assert api.get("/v1/alphas/Test_small/portfolio", api.key()).status_code == 200
        assert api.get(PATH, api.key()).status_code == 200


def test_wrong_credentials_sign_no_link(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run.deliver()
    for name, wrong in (("AWS_SECRET_ACCESS_KEY", "not-the-secret"), ("AWS_ACCESS_KEY_ID", "NOBODYSKEY")):
        with monkeypatch.context() as changed:
            changed.setenv(name, wrong)
            with running(run.root, archives=run.archives) as api:
                refused = failure(api, "source_download_unavailable", 503)
                assert wrong not in refused.text
    with running(run.root, archives=run.archives) as api:
        assert api.get(PATH, api.key()).status_code == 200


@pytest.mark.parametrize("archives", [None, "without credentials"])
def test_without_an_address_or_credentials_downloads_are_not_configured(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, archives: str | None
) -> None:
    run.deliver()
    address = None if archives is None else run.archives
    if archives == "without credentials":
        monkeypatch.delenv("AWS_ACCESS_KEY_ID")
        monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
        monkeypatch.setenv("HOME", str(tmp_path))
    with running(run.root, archives=address) as api:
        failure(api, "source_download_not_configured", 503)


def test_access_is_checked_before_the_archive(run: Run) -> None:
    run.deliver()
    with running(run.root, archives=run.archives) as api:
        other = api.key(runs="list:Test_other")
        for alpha in ("Test_small", "Test_absent"):
            error = api.json(f"/v1/alphas/{alpha}/source/download", other, 403)["error"]
            assert error["code"] == "run_not_allowed"
        missing = api.json("/v1/alphas/Test_absent/source/download", api.key(), 404)["error"]
        assert missing["code"] == "run_not_found"
        closed = api.json(PATH, api.key(endpoints="meta.me"), 403)["error"]
        assert closed["details"] == {"endpoint": "catalog.alphas.source.download"}


def test_a_failed_upload_is_recorded_and_retried(run: Run) -> None:
    with run.bucket.server.away():
        failed = run.deliver()
        assert failed.status == "failed"
        assert failed.reason is not None
        assert run.archives in failed.reason
        assert run.state() == failed
    assert datasets.open(run.root)["Test_small"].scan("rebalances").collect().height, "the data is served"
    assert run.deliver().status == "delivered"
    assert run.deliver() == run.state()
    assert [key for key in run.bucket.objects() if key.startswith("archives/")] == [
        f"archives/{run.deliver().key}"
    ]


def test_invalid_settings_are_refused_at_start(tmp_path: Path) -> None:
    storage = open_storage(tmp_path)
    with pytest.raises(SettingsError, match="names no bucket"):
        SourceArchives(storage, "s3://")
    with pytest.raises(SettingsError, match="PUBLIC_ENDPOINT"):
        SourceArchives(storage, "s3://bucket", "archives.example.org")
