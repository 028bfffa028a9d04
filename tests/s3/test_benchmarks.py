"""Market data in a bucket: an unavailable store is distinguished from missing data."""

from __future__ import annotations

import datetime as dt
import io
from pathlib import Path

import polars as pl
import pytest
from s3fs import S3FileSystem

from tests.support.application import running
from tests.support.bucket import Bucket
from tests.support.client import ApiClient
from tests.support.waiting import eventually_is

PATH = "/v1/benchmarks/ABC/daily"


def put(bucket: Bucket, key: str, last: float) -> None:
    frame = pl.DataFrame(
        {
            "date": [dt.date(2024, 1, 2), dt.date(2024, 1, 3)],
            "symbol": ["ABC", "ABC"],
            "close": [100.0, last],
        }
    )
    content = io.BytesIO()
    frame.write_parquet(content)
    bucket.client.put_object(Bucket=bucket.name, Key=key, Body=content.getvalue())


def outcome(api: ApiClient, token: str) -> str:
    result = api.get(PATH, token)
    return "served" if result.status_code == 200 else str(result.json()["error"]["code"])


def test_market_data_in_a_bucket_are_served(bucket: Bucket, tmp_path: Path) -> None:
    (tmp_path / "published").mkdir()
    put(bucket, "market/abc.parquet", 110.0)
    for address in (bucket.url("market/abc.parquet"), bucket.url("market")):
        with running(tmp_path / "published", market_data=address) as api:
            body = api.json(PATH, api.key())
            assert [row["close"] for row in body["data"]] == [100.0, 110.0]


def test_unavailable_and_missing_data_are_distinguished_and_recover_without_restart(
    bucket: Bucket, tmp_path: Path
) -> None:
    (tmp_path / "published").mkdir()
    bucket.server.stop()
    try:
        with running(tmp_path / "published", market_data=bucket.url("market")) as api:
            token = api.key()
            away = api.get(PATH, token)
            assert (away.status_code, away.json()["error"]["code"]) == (503, "benchmark_unavailable")
            assert int(away.headers["retry-after"]) >= 1
            assert api.get("/v1/alphas", token).status_code == 200
            bucket.server.start()
            eventually_is(lambda: outcome(api, token), "benchmark_not_configured")
            put(bucket, "market/abc.parquet", 110.0)
            eventually_is(lambda: outcome(api, token), "served")
            with bucket.server.away():
                assert outcome(api, token) == "served", "what is cached is served while the store is away"
    finally:
        bucket.server.stop()
        bucket.server.start()


def test_a_missing_or_refusing_bucket_is_a_configuration_error(
    bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "published").mkdir()
    put(bucket, "market/abc.parquet", 110.0)
    for address in ("s3://no-such-bucket-here/market", bucket.url("nothing/here")):
        with running(tmp_path / "published", market_data=address) as api:
            assert outcome(api, api.key()) == "benchmark_not_configured"
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "not-the-secret")
    S3FileSystem.clear_instance_cache()
    with running(tmp_path / "published", market_data=bucket.url("market")) as api:
        assert outcome(api, api.key()) == "benchmark_not_configured"
