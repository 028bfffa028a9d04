"""A root in a bucket with a real node: build, serve, rebuild, collect, roll back, download, outages."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from datasets.catalogue import live as catalogues
from datasets.catalogue.live import Catalogue
from datasets.layout import alpha_path
from datasets.storage import object_store, open_storage
from datasets.storage.cache import Cache
from pipeline.group import cli
from pipeline.snapshot_builder import build_seal
from schemas.errors import AlphaNotPublished, StorageUnavailable
from tests.s3.node import node
from tests.support import plain_http
from tests.support.application import running
from tests.support.bucket import Bucket
from tests.support.pipeline_command import CommandResult
from tests.support.waiting import eventually, eventually_is

Seals = Callable[..., Path]
SCORES = "alphas/Test_small/scores?limit=500"


def pipeline(*arguments: str, exit_code: int = 0) -> Any:
    done = CliRunner().invoke(cli, [*arguments, "--json"])
    assert done.exit_code == exit_code, done.output
    return CommandResult(done.exit_code, done.stdout).json


def uploaded(bucket: Bucket, seal: Path, prefix: str) -> str:
    """Upload a seal, its manifest last, and return its address."""
    for path in sorted(seal.rglob("*"), key=lambda path: path.name == "seal.json"):
        if path.is_file():
            key = f"{prefix}/{path.relative_to(seal).as_posix()}"
            bucket.client.put_object(Bucket=bucket.name, Key=key, Body=path.read_bytes())
    return bucket.url(prefix)


def test_a_run_in_a_bucket_is_built_served_replaced_and_collected(
    bucket: Bucket, small_seal: Seals, tmp_path: Path
) -> None:
    root, archives = bucket.url("root"), bucket.url("archives")
    seals = []
    for seed in (1, 2):
        seal = small_seal(seed=seed, sealed_at=f"2026-01-0{seed}T00:00:00Z").rename(tmp_path / f"seal-{seed}")
        seals.append(uploaded(bucket, seal, f"seals/{seed}/Test_small"))
    where = ("--datasets", root)
    (first,) = pipeline("build", seals[0], "--archives", archives, *where)["seals"]
    storage = open_storage(root)

    def there() -> set[str]:
        return {name.removeprefix("snapshot=") for name in storage.folders(alpha_path("Test_small"))}

    with node(tmp_path, root, archives=archives) as api:
        old = api.body(SCORES)
        build_seal(seals[0], tmp_path / "local" / "published")
        with running(tmp_path / "local" / "published") as local:
            theirs, ours = json.loads(local.get(f"/v1/{SCORES}", local.key()).content), json.loads(old)
            # The time of first publication differs between roots.
            assert theirs["meta"].pop("published_at") != ours["meta"].pop("published_at")
            assert theirs == ours, "a bucket answers as a folder does"
        # Rebuilt from a later seal by a search, as a scheduled job does.
        result = pipeline("build", "--from", bucket.url("seals"), "--archives", archives, *where)
        assert sorted(entry["outcome"] for entry in result["seals"]) == ["built", "unchanged"]
        second = next(entry["snapshot"] for entry in result["seals"] if entry["outcome"] == "built")
        eventually(lambda: api.body(SCORES) != old)
        new = api.body(SCORES)
        # The serving node holds a lease on the snapshot that was just replaced.
        result = pipeline("gc", "--keep", "1", "--grace", "0s", *where)
        assert result["removed_snapshots"] == 0
        reasons = {row["snapshot"]: row["kept_because"] for row in result["alphas"]["Test_small"]}
        assert reasons == {first["snapshot"]: "a reader's lease", second: "served"}
        assert pipeline("rollback", "Test_small", *where)["snapshot"] == first["snapshot"]
        eventually_is(lambda: api.body(SCORES), old)
        # The seal that was rolled back is not served again until a build is forced.
        result = pipeline("build", "--from", bucket.url("seals"), *where)
        assert {entry["outcome"] for entry in result["seals"]} == {"rolled back", "unchanged"}
        pipeline("build", seals[1], "--force", *where)
        eventually_is(lambda: api.body(SCORES), new)
        data = api.get("alphas/Test_small/source/download").json()["data"]
    fetched = plain_http.get(data["url"])
    assert fetched.status_code == 200
    assert hashlib.sha256(fetched.content).hexdigest() == data["sha256"]
    assert plain_http.get(data["url"][:-1] + ("0" if data["url"][-1] != "0" else "1")).status_code == 403
    assert there() == {first["snapshot"], second}
    assert pipeline("gc", "--keep", "1", "--grace", "0s", *where)["removed_snapshots"] == 1, (
        "its lease went with it"
    )
    assert there() == {second}
    pipeline("rollback", "Test_small", *where, exit_code=AlphaNotPublished.exit_code)
    (verdict,) = pipeline("verify", *where)["alphas"]
    assert verdict["faults"] == []
    assert not [key for key in bucket.objects() if key.startswith("root/leases/")]


def test_a_killed_store_recovers_while_serving(bucket: Bucket, small_seal: Seals, tmp_path: Path) -> None:
    root = bucket.url("root")
    for alpha in ("Test_cached", "Test_not"):
        build_seal(str(small_seal(alpha_id=alpha)), root)
    cached = [
        "alphas/Test_cached/scores?limit=500",
        "alphas/Test_cached/positions?book=long_only",
        "alphas",
        "alphas/Test_cached",
    ]
    with node(tmp_path, root) as api:
        before = {path: api.body(path) for path in cached[:3]}
        described = json.loads(api.body(cached[3]))["data"]
        bucket.server.kill()
        try:
            eventually_is(api.health, "degraded")
            assert {path: api.body(path) for path in cached[:3]} == before
            assert json.loads(api.body(cached[3]))["data"] == described
            # Another page of a copied file is computed from it; other books and alphas have no copy.
            assert api.get("alphas/Test_cached/scores?limit=7&offset=7&symbol=SIM001").status_code == 200
            for path in (
                "alphas/Test_not/scores",
                "alphas/Test_cached/positions?book=long_short",
                "alphas/Test_not",
            ):
                result = api.get(path)
                assert (result.status_code, result.json()["error"]["code"]) == (503, "upstream_unavailable")
                assert int(result.headers["retry-after"]) >= 1
                assert "127.0.0.1" not in result.text
                assert bucket.name not in result.text
            assert api.health() == "degraded"
        finally:
            bucket.server.start()
        eventually_is(api.health, "ok")
        assert api.get("alphas/Test_not/scores").status_code == 200
        assert {path: api.body(path) for path in cached[:3]} == before
        assert api.process.poll() is None
    # Started while the store is down, from the cache alone.
    with bucket.server.away(), node(tmp_path, root) as api:
        assert api.health() == "degraded"
        assert {path: api.body(path) for path in cached[:3]} == before
        assert api.failure("alphas/Test_not/positions?book=long_only") == (503, "upstream_unavailable")


def test_a_hanging_store_is_waited_for_once(
    bucket: Bucket, small_seal: Seals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build_seal(str(small_seal()), bucket.url("root"))
    for name, value in (("READ_SECONDS", 1.0), ("ATTEMPTS", 1), ("HUNG_SECONDS", 0.5)):
        monkeypatch.setattr(object_store, name, value)
    storage = open_storage(bucket.url("root"), cache=Cache(tmp_path / "cache", 100_000_000))
    catalogue = Catalogue(storage)
    catalogue.refresh()
    snapshot = catalogue.resolve("Test_small")
    assert snapshot is not None
    cached = snapshot.file("decisions")
    with bucket.server.hanging():
        with pytest.raises(StorageUnavailable, match="did not answer"):
            snapshot.file("rebalances")
        # No other request waits for it, and cached copies are still used.
        with pytest.raises(StorageUnavailable, match="was not requested"):
            snapshot.file("weekly_signal")
        assert snapshot.file("decisions") == cached
        with pytest.raises(StorageUnavailable, match="did not answer"):
            catalogue.refresh()
    assert not catalogue.refresh()
    assert Path(snapshot.file("weekly_signal")).is_file()


def test_a_damaged_pointer_is_still_reported_after_a_restart(
    bucket: Bucket, small_seal: Seals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalogues, "_SAVE_SECONDS", 0.0)
    root = bucket.url("root")
    build_seal(str(small_seal()), root)

    def started() -> Catalogue:
        catalogue = Catalogue(open_storage(root, cache=Cache(tmp_path / "cache", 100_000_000)))
        catalogue.refresh()
        return catalogue

    first = started()
    (key,) = (key for key in bucket.objects() if key.endswith("catalog/Test_small.json"))
    intact = bucket.client.get_object(Bucket=bucket.name, Key=key)["Body"].read()
    bucket.client.put_object(Bucket=bucket.name, Key=key, Body=b"damaged")
    first.refresh()
    second = started()
    for catalogue in (first, second):
        assert list(catalogue.broken) == ["Test_small"]
        assert catalogue.resolve("Test_small") is not None, "the previous snapshot is still served"
    bucket.client.put_object(Bucket=bucket.name, Key=key, Body=intact)
    second.refresh()
    assert not second.broken


def test_a_file_damaged_in_the_bucket_is_never_served(
    bucket: Bucket, small_seal: Seals, tmp_path: Path
) -> None:
    root = bucket.url("root")
    build_seal(str(small_seal()), root)
    full = {}
    for key in bucket.objects():
        if "/decisions/" in key or "/book=long_only/" in key:
            data = full[key] = bucket.client.get_object(Bucket=bucket.name, Key=key)["Body"].read()
            wrong = data[:-9] if "/decisions/" in key else data[:99] + bytes([data[99] ^ 1]) + data[100:]
            bucket.client.put_object(Bucket=bucket.name, Key=key, Body=wrong)
    ledger = "alphas/Test_small/portfolio?book=long_only"
    with node(tmp_path, root) as api:
        assert api.failure(SCORES) == (503, "upstream_unavailable")
        assert api.failure(ledger) == (503, "upstream_unavailable")
        assert api.get("alphas/Test_small/portfolio?book=long_short").status_code == 200
        for key, data in full.items():
            bucket.client.put_object(Bucket=bucket.name, Key=key, Body=data)
        assert api.get(SCORES).status_code == 200
        assert api.get(ledger).status_code == 200
        result = api.log.read_text()
    assert "decisions/part-0.parquet is not what its manifest says" in result
