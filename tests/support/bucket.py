"""One S3 server for the session, and a separate bucket for every test."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import botocore.session
import pytest
from botocore.config import Config
from s3fs import S3FileSystem

from tests.support.s3 import S3Server, missing_binaries


@dataclass(frozen=True)
class Bucket:
    """An empty bucket on the running server, which the environment's AWS settings point at."""

    name: str
    server: S3Server
    client: Any

    def url(self, prefix: str = "") -> str:
        return f"s3://{self.name}/{prefix}".rstrip("/")

    def objects(self) -> list[str]:
        return [entry["Key"] for entry in self.client.list_objects_v2(Bucket=self.name).get("Contents", [])]


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3Server]:
    missing = missing_binaries()
    if missing:
        pytest.skip(f"no S3 server: {', '.join(missing)} not installed (apt-get install radosgw ceph-mon ceph-osd ceph-common)")  # fmt: skip
    with S3Server() as server:
        yield server


@pytest.fixture
def bucket(s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> Bucket:
    return made_bucket(s3_server, monkeypatch)


def made_bucket(server: S3Server, patch: pytest.MonkeyPatch) -> Bucket:
    """Create a bucket, and point this process's AWS settings at its server."""
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL_S3", "AWS_REGION"):
        patch.delenv(name, raising=False)
    for name, value in server.environment.items():
        patch.setenv(name, value)
    patch.setenv("AWS_CONFIG_FILE", "/dev/null")
    patch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
    patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    client = botocore.session.get_session().create_client(
        "s3", config=Config(s3={"addressing_style": "path"}, retries={"total_max_attempts": 2})
    )
    S3FileSystem.clear_instance_cache()  # connections keep the credentials they were opened with
    name = f"test-{uuid.uuid4().hex[:16]}"
    client.create_bucket(Bucket=name)
    return Bucket(name, server, client)
