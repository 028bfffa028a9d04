"""gc killed at random moments: served snapshots stay complete, and the next run finishes."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import datasets
from datasets.manifest import digest
from pipeline.snapshot_builder import build_seal
from schemas.errors import PublicationRefused
from tests.support.history import ALPHA, History
from tests.support.processes import REPOSITORY

KILLS = int(os.environ.get("ALPHA_RESULTS_TEST_KILLS", "8"))
ALL = ("--keep", "1", "--grace", "0s")
_GC = """
import sys
from pipeline.group import cli
import datasets.publication.publish, pipeline.housekeeping.gc_command  # what the command loads when it runs
print("ready", flush=True)
cli(["gc", "--keep", "1", "--grace", "0s", "--datasets", sys.argv[1]])
"""


def test_kills_leave_served_snapshots_complete(history: History) -> None:
    """Kill gc at random moments; the served snapshot stays complete, and the next run finishes."""
    generator = random.Random(5)
    full = {entry.path: entry.sha256 for entry in datasets.open(history.root)[ALPHA].manifest.files}
    for _ in range(KILLS):
        process = subprocess.Popen(
            [sys.executable, "-c", _GC, str(history.root)], cwd=REPOSITORY, stdout=subprocess.PIPE
        )
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(generator.uniform(0, 0.08))
        process.kill()
        process.stdout.close()
        process.wait()
        served = datasets.open(history.root)[ALPHA]
        assert served.id == history.snapshots[2]
        for path, sha256 in full.items():
            assert digest(history.place(path).read_bytes()) == sha256
        for seal in history.seals[:2]:
            # Restore something to remove: the older snapshots in turn, then the last.
            _serve(history, seal)
        _serve(history, history.seals[2])
    history.run("gc", *ALL)
    assert history.there() == {history.snapshots[2]}
    assert history.run("verify").exit_code == 0


def _serve(history: History, seal: Path) -> None:
    try:
        build_seal(str(seal), history.root, force=True)
    except PublicationRefused:
        history.run("gc")  # the killed gc had announced it
        build_seal(str(seal), history.root, force=True)
