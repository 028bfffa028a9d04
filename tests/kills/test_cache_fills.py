"""Processes that share a small cache are killed at random moments; the cache stays correct."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

from datasets.manifest import digest
from datasets.storage import cache as caching
from datasets.storage.cache import Cache
from tests.support.processes import REPOSITORY
from tests.support.remote_root import Remote, cached_bytes, copies

KILLS = int(os.environ.get("ALPHA_RESULTS_TEST_KILLS", "8"))

# Uses count only briefly, so that copies are constantly evicted; digests are checked after every use.
_FILL = """
import random, sys
from datasets.storage import cache as caching
from datasets.storage.cache import Cache
from datasets.manifest import digest
from datasets.pointer import Pointer
from datasets.snapshot import Snapshot
from datasets.storage import open_storage
from tests.support.web_storage import register
register()
caching.IN_USE_SECONDS, caching._FRESH_SECONDS = 0.5, 0.1
url, folder, bound, pointer, seed = sys.argv[1:]
snapshot = Snapshot(open_storage(url, cache=Cache(folder, int(bound))), Pointer.decode(pointer.encode(), "pointer"))
tables = [entry for entry in snapshot.manifest.files if entry.path.endswith(".parquet")]
generator = random.Random(int(seed))
print("ready", flush=True)
while True:
    entry = generator.choice(tables)
    with open(snapshot.file(entry.dataset, entry.book), "rb") as stream:
        assert digest(stream.read()) == entry.sha256, entry.path
"""


def test_kills_leave_only_complete_copies_within_the_bound(remote: Remote, tmp_path: Path) -> None:
    snapshot = remote.snapshot(None)
    entries = {entry.path: entry for entry in snapshot.manifest.files}
    bound = sum(entry.bytes for entry in entries.values()) // 2
    folder = tmp_path / "cache"
    pointer = snapshot.pointer.encode().decode()

    def start(seed: int) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-c", _FILL, remote.url, str(folder), str(bound), pointer, str(seed)],
            cwd=REPOSITORY,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stdout is not None
        process.stdout.readline()
        return process

    generator = random.Random(11)
    steady = start(0)
    for kill in range(1, KILLS + 1):
        victim = start(kill)
        time.sleep(generator.uniform(0, 0.4))
        victim.kill()
        _, complaints = victim.communicate()
        assert not complaints, complaints.decode()
        assert steady.poll() is None, "the other process met something wrong"
        # Not rglob, which fails on a folder that is removed meanwhile.
        for path in (Path(where, name) for where, _, names in os.walk(folder) for name in names):
            if path.suffix != ".parquet":
                continue
            try:
                data = path.read_bytes()
            except FileNotFoundError:
                continue  # evicted meanwhile
            entry = entries[path.as_posix().partition(f"snapshot={snapshot.id}/")[2]]
            assert digest(data) == entry.sha256
    steady.kill()
    _, complaints = steady.communicate()
    assert not complaints, complaints.decode()
    time.sleep(0.5)
    before, caching.IN_USE_SECONDS = caching.IN_USE_SECONDS, 0.0  # type: ignore[misc]
    try:
        cache = Cache(folder, bound)
    finally:
        caching.IN_USE_SECONDS = before  # type: ignore[misc]
    assert not list((folder / ".filling").iterdir()), "drafts of the dead are swept"
    assert cached_bytes(cache) <= bound
    assert copies(cache)
    assert remote.snapshot(cache).scan("decisions").collect().height
