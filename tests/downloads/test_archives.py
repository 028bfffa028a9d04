"""Source archives in a folder: the service signs and answers their links."""

from __future__ import annotations

import hashlib
import io
import shutil
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from datasets.storage import open_storage
from pipeline.archive.package import package
from pipeline.seal import Seal
from pipeline.snapshot_builder import build_seal
from schemas.errors import SettingsError
from tests.support.application import running
from tests.support.client import ApiClient
from tests.support.contract_app import FULL, HIDDEN
from tests.support.seals import make_seal

HOST = "https://files.example.org"
PATH = f"/v1/alphas/{FULL}/source/download"


@dataclass(frozen=True)
class Deployment:
    """A running application with an archive in a folder."""

    api: ApiClient
    archives: Path


@pytest.fixture(scope="module")
def packaged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with two published runs and their archives."""
    folder = tmp_path_factory.mktemp("packaged")
    root, archives = folder / "published", folder / "archives"
    for alpha in (FULL, HIDDEN):
        seal = make_seal(folder / "seals", alpha_id=alpha, seed=len(alpha))
        build_seal(str(seal), root)
        assert package(Seal.open(str(seal)), open_storage(root), str(archives)) is not None
    return folder


@pytest.fixture
def deployed(packaged: Path, tmp_path: Path) -> Iterator[Deployment]:
    shutil.copytree(packaged, tmp_path, dirs_exist_ok=True)
    root, archives = tmp_path / "published", tmp_path / "archives"
    with running(root, archives=str(archives), archives_public_endpoint=HOST) as api:
        yield Deployment(api, archives)


def link_of(api: ApiClient, token: str) -> str:
    parts = urlsplit(api.json(PATH, token)["data"]["url"])
    return f"{parts.path}?{parts.query}"


def code(response: httpx.Response) -> tuple[int, str]:
    return response.status_code, response.json()["error"]["code"]


def test_an_archive_in_a_folder_is_fetched_by_a_link(deployed: Deployment) -> None:
    api, token = deployed.api, deployed.api.key()
    data = api.json(PATH, token)["data"]
    assert list(data) == ["url", "expires_in", "filename", "size_bytes", "sha256"]
    link = link_of(api, token)
    assert data["url"].startswith(f"{HOST}/files/{FULL}/")
    response = api.get(link)
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/zip"
    assert response.headers["content-disposition"] == f'attachment; filename="{FULL}.zip"'
    assert len(response.content) == data["size_bytes"]
    assert hashlib.sha256(response.content).hexdigest() == data["sha256"]
    assert zipfile.ZipFile(io.BytesIO(response.content)).testzip() is None
    part = api.get(link, headers={"range": "bytes=2-5"})
    assert (part.status_code, part.content) == (206, response.content[2:6])


def test_an_archive_link_opens_only_its_archive_and_ends_with_its_key(deployed: Deployment) -> None:
    api = deployed.api
    link = link_of(api, api.key())
    assert code(api.get(link.replace(FULL, HIDDEN))) == (403, "link_invalid")
    assert code(api.get(link.replace("expires=1", "expires=2"))) == (403, "link_invalid")
    assert code(api.get(link.partition("?")[0])) == (403, "link_invalid")
    tables = api.json(f"/v1/alphas/{FULL}/tables/decisions/download", api.key())["data"]["url"]
    query = urlsplit(tables).query
    assert code(api.get(f"{link.partition('?')[0]}?{query}")) == (403, "link_invalid")


def test_a_removed_or_changed_archive_is_reported_missing(deployed: Deployment) -> None:
    api, token = deployed.api, deployed.api.key()
    link = link_of(api, token)
    (file,) = deployed.archives.glob(f"{FULL}/*.zip")
    content = file.read_bytes()
    file.write_bytes(content[:-1])
    assert code(api.get(PATH, token)) == code(api.get(link)) == (404, "source_object_missing")
    file.unlink()
    assert code(api.get(PATH, token)) == code(api.get(link)) == (404, "source_object_missing")
    file.write_bytes(content)
    assert api.get(link).status_code == 200


def test_an_unavailable_archive_folder_is_reported_by_downloads(deployed: Deployment) -> None:
    api, token = deployed.api, deployed.api.key()
    link = link_of(api, token)
    away = deployed.archives.rename(deployed.archives.with_name("unmounted"))
    assert code(api.get(PATH, token)) == code(api.get(link)) == (503, "source_download_unavailable")
    assert api.get(link).headers["retry-after"]
    deployed.archives.mkdir()
    assert code(api.get(PATH, token)) == (503, "source_download_unavailable")
    deployed.archives.rmdir()
    away.rename(deployed.archives)
    assert api.get(link).status_code == 200


def test_a_folder_without_an_https_host_offers_no_downloads(packaged: Path, tmp_path: Path) -> None:
    shutil.copytree(packaged, tmp_path, dirs_exist_ok=True)
    root, archives = tmp_path / "published", tmp_path / "archives"
    with running(root, archives=str(archives)) as api:
        assert code(api.get(PATH, api.key())) == (503, "source_download_not_configured")
        assert api.get("/v1/health").json()["status"] == "ok"
    with (
        pytest.raises(SettingsError, match="ALPHA_RESULTS_ARCHIVES_PUBLIC_ENDPOINT"),
        running(root, archives=str(archives), archives_public_endpoint="http://files.example.org"),
    ):
        pass
