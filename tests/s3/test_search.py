"""Discovery of seals in a bucket."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from datasets.storage import open_storage
from pipeline.__main__ import cli
from tests.support.bucket import Bucket
from tests.support.pipeline_command import report
from tests.support.seals import rewrite


def search(bucket: Bucket, seals: str, *more: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(cli, ["build", "--datasets", bucket.url("root"), "--from", seals, *more])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout, result.stderr


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
    for folder in (seal, broken):
        there = open_storage(bucket.url(f"seals/{folder.name}"))
        for path in folder.rglob("*"):
            if path.is_file() and (folder, path.name) != (seal, "pnl.parquet"):
                there.put(path.relative_to(folder).as_posix(), path.read_bytes())

    def outcomes() -> tuple[int, dict[str, str]]:
        code, result, _ = search(bucket, bucket.url("seals"), "--json")
        return code, {entry["seal"].rsplit("/", 1)[-1]: entry["outcome"] for entry in report(result)["seals"]}

    assert outcomes() == (1, {seal.name: "refused", "Test_broken": "refused"})
    assert outcomes() == (8, {seal.name: "still refused", "Test_broken": "still refused"})
    open_storage(bucket.url(f"seals/{seal.name}")).put("pnl.parquet", (seal / "pnl.parquet").read_bytes())
    assert outcomes() == (8, {seal.name: "built", "Test_broken": "still refused"})
    assert sum(key.startswith("root/refused/") for key in bucket.objects()) == 1
