"""A store without conditional writes is detected and refused, unless `single_writer` is set."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from s3fs import S3FileSystem

import datasets
from datasets.publication.pointers import served
from datasets.storage import open_storage
from pipeline.group import cli
from schemas.errors import SettingsError, StorageUnavailable
from tests.s3.proxy import Fault, Proxy, careless
from tests.support.bucket import Bucket
from tests.support.pipeline_command import CommandResult

Seals = Callable[..., Path]


@pytest.fixture
def through(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Fault], Proxy]]:
    """Return a function that puts a faulty proxy in front of the bucket."""
    running = []

    def start(fault: Fault) -> Proxy:
        context = careless(bucket.server, fault)
        running.append(context)
        proxy = context.__enter__()
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.endpoint)
        S3FileSystem.clear_instance_cache()
        return proxy

    yield start
    for context in running:
        context.__exit__(None, None, None)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments))


def run_command(*arguments: str) -> Any:
    done = run(*arguments, "--json")
    assert done.exit_code == 0, done.output
    return CommandResult(done.exit_code, done.stdout).json


def test_a_store_with_conditional_writes_is_used_and_the_probe_removed(
    bucket: Bucket, small_seal: Seals
) -> None:
    open_storage(bucket.url("root")).require_safe_writers()
    assert bucket.objects() == []
    run_command("build", str(small_seal()), "--datasets", bucket.url("root"))
    assert not [key for key in bucket.objects() if ".staging" in key]


@pytest.mark.parametrize("fault", Fault)
def test_a_store_without_conditional_writes_is_refused_before_writing(
    bucket: Bucket, small_seal: Seals, through: Callable[[Fault], Proxy], fault: Fault
) -> None:
    through(fault)
    done = run("build", str(small_seal()), "--datasets", bucket.url("root"))
    assert done.exit_code == SettingsError.exit_code
    assert "--single-writer" in done.output
    assert f"the store of {bucket.url('root')} " in done.output
    assert bucket.objects() == []


def test_a_batch_is_refused_before_its_first_process(
    bucket: Bucket, small_seal: Seals, through: Callable[[Fault], Proxy]
) -> None:
    through(Fault.IGNORES_BOTH)
    seal = small_seal()
    done = run("build", "--from", str(seal.parent), "--datasets", bucket.url("root"))
    assert done.exit_code == SettingsError.exit_code
    assert "--single-writer" in done.output
    assert bucket.objects() == []


def test_a_single_writer_may_use_a_store_without_conditional_writes(
    bucket: Bucket, small_seal: Seals, through: Callable[[Fault], Proxy], tmp_path: Path
) -> None:
    through(Fault.IGNORES_BOTH)
    where = ("--datasets", bucket.url("root"))
    seals = [
        small_seal(seed=n, sealed_at=f"2026-01-0{n}T00:00:00Z").rename(tmp_path / str(n)) for n in (1, 2)
    ]
    first = run_command("build", str(seals[0]), *where, "--single-writer")["seals"][0]["snapshot"]
    second = run_command("build", str(seals[1]), *where, "--single-writer")["seals"][0]["snapshot"]
    before = bucket.objects()
    for command in (
        ("rollback", "Test_small"),
        ("withdraw", "Test_small"),
        ("gc", "--keep", "1", "--grace", "0s"),
    ):
        refused = run(*command, *where)
        assert refused.exit_code == SettingsError.exit_code, refused.output
    assert bucket.objects() == before
    assert datasets.open(bucket.url("root"))["Test_small"].id == second, "readers need nothing"
    run_command("rollback", "Test_small", *where, "--single-writer")
    assert datasets.open(bucket.url("root"))["Test_small"].id == first
    assert (
        run_command("gc", "--keep", "1", "--grace", "0s", *where, "--single-writer")["removed_snapshots"] == 1
    )


def test_a_single_writer_detects_another_writer(bucket: Bucket, through: Callable[[Fault], Proxy]) -> None:
    through(Fault.IGNORES_BOTH)
    storage = open_storage(bucket.url("root"), single_writer=True)
    assert storage.put_if("x", b"one", None)
    assert not storage.put_if("x", b"two", None)
    assert storage.read("x") == b"one"


def test_the_result_of_the_probe_is_remembered(bucket: Bucket, through: Callable[[Fault], Proxy]) -> None:
    proxy = through(Fault.IGNORES_BOTH)
    for _ in range(3):
        with pytest.raises(SettingsError, match="If-None-Match"):
            open_storage(bucket.url("root")).put_if("x", b"one", None)
    assert len(proxy.conditional) == 2


def test_an_unavailable_store_is_probed_again(bucket: Bucket) -> None:
    storage = open_storage(bucket.url("root"))
    with bucket.server.away(), pytest.raises(StorageUnavailable):
        storage.require_safe_writers()
    storage.require_safe_writers()
    assert served(storage, "Test_small") is None


def test_a_single_writer_may_not_build_in_parallel(tmp_path: Path) -> None:
    for more in (("--jobs", "2"), ("--cluster", "tcp://127.0.0.1:1")):
        done = run(
            "build", "--from", str(tmp_path), "--datasets", str(tmp_path / "r"), "--single-writer", *more
        )
        assert done.exit_code == 2
        assert "one seal at a time" in done.output
