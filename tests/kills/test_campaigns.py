"""Kills at random moments never affect served data or readers.

``just kills 200`` runs in full what `.ci/nightly` runs a few times.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from datasets.storage import cache as caching
from datasets.storage import open_storage
from datasets.storage.cache import Cache
from pipeline.housekeeping.verify import verify
from tests.kills.campaign import ALPHA, Campaign
from tests.support.bucket import Bucket
from tests.support.remote_root import cached_bytes

# A given number is split in half. By default the folder gets most kills: there one takes a tenth of a second, in a
# bucket more than one.
_GIVEN = int(os.environ.get("ALPHA_RESULTS_TEST_KILLS", "0"))
ON_A_FOLDER, IN_A_BUCKET = (_GIVEN - _GIVEN // 2, _GIVEN // 2) if _GIVEN else (18, 8)


def _report(campaign: Campaign, where: str, requested: int) -> None:
    sys.stdout.write(json.dumps({"root": where, **campaign.tally.as_json()}, indent=2) + "\n")
    assert sum(campaign.tally.interrupted.values()) > requested // 2, "they came too late"
    assert campaign.tally.passes > campaign.tally.slow


def test_kills_over_a_folder(tmp_path: Path) -> None:
    root = tmp_path / "root"
    campaign = Campaign(str(root), tmp_path, cached=False, seed=20260101)
    campaign.run(ON_A_FOLDER)
    _report(campaign, "a folder", ON_A_FOLDER)
    assert not list((root / ".staging").glob("build-*"))


def test_kills_over_a_bucket_with_a_cache(
    bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = Campaign(bucket.url("root"), tmp_path, cached=True, seed=20260102)
    campaign.run(IN_A_BUCKET)
    _report(campaign, "a bucket", IN_A_BUCKET)
    assert verify(open_storage(bucket.url("root")), ALPHA).faults == []
    monkeypatch.setattr(caching, "IN_USE_SECONDS", 0.0)
    cache = Cache(tmp_path / "cache", campaign.bound)
    assert not list((cache.folder / ".filling").iterdir()), "drafts of the dead are swept"
    assert cached_bytes(cache) <= campaign.bound
