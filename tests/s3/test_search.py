"""Discovery of seals in a bucket."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from datasets.storage import open_storage
from pipeline.group import cli
from pipeline.snapshot_builder import build_seal
from schemas.errors import SealRefused
from schemas.kinds import MAX_BYTES
from tests.support.bucket import Bucket
from tests.support.pipeline_command import report
from tests.support.s3_requests import counted_requests
from tests.support.seals import rewrite


def search(bucket: Bucket, seals: str, *more: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(cli, ["build", "--datasets", bucket.url("root"), "--from", seals, *more])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout, result.stderr


def upload(bucket: Bucket, seal: Path, leave_out: str = "") -> list[str]:
    """Copy a seal to the bucket; return the paths of its files in it."""
    there = open_storage(bucket.url(f"seals/{seal.name}"))
    files = [
        path.relative_to(seal).as_posix()
        for path in seal.rglob("*")
        if path.is_file() and path.name != leave_out
    ]
    for file in files:
        there.put(file, (seal / file).read_bytes())
    return files


@pytest.mark.parametrize("more", [(), ("--watch",)])
def test_a_mistyped_prefix_or_bucket_is_an_error(bucket: Bucket, more: tuple[str, ...]) -> None:
    bucket.client.put_object(Bucket=bucket.name, Key="seals/", Body=b"")
    for wrong in (bucket.url("saels"), "s3://no-such-bucket-here/seals"):
        code, _, result = search(bucket, wrong, *more)
        assert code == 2, result
        assert result.startswith("error: --from: ")
        assert wrong in result


def test_existing_prefixes_and_buckets_may_be_empty(bucket: Bucket) -> None:
    assert search(bucket, bucket.url())[0] == 0
    bucket.client.put_object(Bucket=bucket.name, Key="seals/", Body=b"")
    code, _, result = search(bucket, bucket.url("seals"))
    assert (code, "no finished seal lies below" in result) == (0, True)


def test_refusals_in_a_bucket_are_remembered_until_a_late_file_arrives(
    bucket: Bucket, small_seal: Callable[..., Path]
) -> None:
    seal = small_seal()
    broken = rewrite(small_seal(alpha_id="Test_broken"), "pnl", lambda rows: rows[1:])
    upload(bucket, seal, leave_out="pnl.parquet")
    upload(bucket, broken)

    def outcomes() -> tuple[int, dict[str, str]]:
        code, result, _ = search(bucket, bucket.url("seals"), "--json")
        return code, {entry["seal"].rsplit("/", 1)[-1]: entry["outcome"] for entry in report(result)["seals"]}

    assert outcomes() == (1, {seal.name: "refused", "Test_broken": "refused"})
    assert outcomes() == (8, {seal.name: "still refused", "Test_broken": "still refused"})
    open_storage(bucket.url(f"seals/{seal.name}")).put("pnl.parquet", (seal / "pnl.parquet").read_bytes())
    assert outcomes() == (8, {seal.name: "built", "Test_broken": "still refused"})
    assert sum(key.startswith("root/refused/") for key in bucket.objects()) == 1


def test_a_seal_whose_name_could_be_a_pattern_is_built(
    bucket: Bucket, small_seal: Callable[..., Path]
) -> None:
    seal = small_seal()
    upload(bucket, seal.rename(seal.with_name("momentum[12-1]")))
    code, result, _ = search(bucket, bucket.url("seals"), "--json")
    outcomes = {entry["seal"].rsplit("/", 1)[-1]: entry["outcome"] for entry in report(result)["seals"]}
    assert (code, outcomes) == (0, {"momentum[12-1]": "built"})


def test_a_seal_is_read_with_one_request_for_each_file(
    bucket: Bucket, small_seal: Callable[..., Path], tmp_path: Path
) -> None:
    seal = small_seal()
    files = upload(bucket, seal)
    with counted_requests(bucket.server) as requests:
        build_seal(bucket.url(f"seals/{seal.name}"), tmp_path / "published")
    assert requests == {"GET": len(files)}


def test_an_oversized_file_is_refused(
    bucket: Bucket, small_seal: Callable[..., Path], tmp_path: Path
) -> None:
    seal = small_seal()
    (seal / "seal.json").write_bytes((seal / "seal.json").read_bytes().ljust(MAX_BYTES["seal"] + 1))
    upload(bucket, seal)
    with pytest.raises(SealRefused, match="too large to be read") as refused:
        build_seal(bucket.url(f"seals/{seal.name}"), tmp_path / "published")
    assert [violation["rule"] for violation in refused.value.violations] == ["seal.size"]
