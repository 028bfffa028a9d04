"""An interrupted batch reports every seal, and the next one builds exactly the rest.

``just kills-batch 1000`` does in earnest what `.ci/nightly` does with a few.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.batch_kills.campaign import Campaign
from tests.support.bucket import Bucket
from tests.support.dask import Dask

SEALS = int(os.environ.get("ALPHA_RESULTS_TEST_SEALS", "60"))
IN_A_BUCKET = max(16, SEALS // 20)


def print_report(campaign: Campaign) -> None:
    sys.stdout.write(json.dumps(campaign.outcomes, indent=2) + "\n")


def test_batches_over_a_folder_survive_kills_signals_full_disks_and_a_lost_cluster(
    tmp_path: Path, dask: Dask
) -> None:
    campaign = Campaign(tmp_path, str(tmp_path / "root"), SEALS, seed=20260101)
    campaign.kill_builds_and_the_batch()
    campaign.kill_builds_and_end_the_batch()
    campaign.fill_the_disk()
    first = dask.worker("first")
    dask.worker("second")

    def kill_a_worker() -> None:
        first.send_signal(signal.SIGKILL)
        dask.worker("third")

    campaign.lose_the_cluster(dask.address, kill_a_worker, lambda: dask.scheduler.send_signal(signal.SIGKILL))
    dask.end()  # builds that its workers were running
    campaign.finish()
    print_report(campaign)


@contextlib.contextmanager
def killed(bucket: Bucket) -> Iterator[None]:
    """Kill the store, and start it again after the block."""
    bucket.server.kill()
    try:
        yield
    finally:
        bucket.server.start()


def test_batches_into_a_bucket_survive_a_lost_store(tmp_path: Path, bucket: Bucket) -> None:
    campaign = Campaign(tmp_path, bucket.url("root"), IN_A_BUCKET, seed=20260102)
    campaign.kill_builds_and_the_batch()
    campaign.lose_the_store(killed(bucket))
    campaign.finish()
    print_report(campaign)
