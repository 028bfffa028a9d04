"""Builds on a Dask cluster from a bucket into a bucket: a killed worker's build is retried, and the run published once."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import datasets
from datasets.provenance.integrity import check_files
from datasets.storage import open_storage
from tests.support.bucket import Bucket
from tests.support.dask import Dask
from tests.support.pipeline_command import report
from tests.support.processes import REPOSITORY, children
from tests.support.waiting import PATIENCE, eventually

Seals = Callable[..., Path]


def test_a_worker_killed_while_building_into_a_bucket_is_replaced(
    bucket: Bucket, small_seal: Seals, dask: Dask, tmp_path: Path
) -> None:
    seal, root = small_seal(weeks=50, names=120), bucket.url("root")
    seals = open_storage(bucket.url("seals/Test_small"))
    for path in sorted(seal.rglob("*"), key=lambda path: path.name == "seal.json"):
        if path.is_file():
            seals.put(path.relative_to(seal).as_posix(), path.read_bytes())
    first = dask.worker("first")
    batch = subprocess.Popen(
        [sys.executable, "-m", "pipeline", "build", "--datasets", root, "--from", bucket.url("seals"),
         "--cluster", dask.address, "--json"],
        cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        eventually(
            lambda: list(tmp_path.glob("alpha-results-build-*/snapshot/*/*")), "the first files of a build"
        )
        (at_work,) = children(first.pid)
        first.send_signal(signal.SIGKILL)
        eventually(lambda: not Path(f"/proc/{at_work}").exists(), "the end of the build with its worker")
        dask.worker("second")
        output, complaints = batch.communicate(timeout=PATIENCE)
    finally:
        batch.kill()
        batch.wait()
    assert batch.returncode == 0, complaints
    (entry,) = report(output)["seals"]
    assert (entry["outcome"], entry["changed"]) == ("built", True)
    snapshot = datasets.open(root)["Test_small"]
    assert snapshot.id == entry["snapshot"]
    assert check_files(open_storage(root), snapshot.manifest, "Test_small", snapshot.id) == []
    keys = [key.split("/") for key in bucket.objects() if key.startswith("root/alphas/")]
    folders = {folder for *_, folder, _ in keys if folder.startswith("snapshot=")}
    assert folders == {f"snapshot={snapshot.id}"}
