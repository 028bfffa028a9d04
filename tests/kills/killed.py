"""A process that runs each task in a child, which the tests kill.

It reads one task per line, as JSON, and forks a child for it. The child prints ``pid``, ``begun`` and ``done``, and the
parent prints ``ended`` when the child is gone. The interpreter starts once, so that kills hit the work and not its imports;
modules to import first, such as a bucket's client, are given at the start.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import time
from datetime import timedelta
from typing import Any

import datasets.publication.publish  # noqa: F401 - what gc loads later on
import pipeline.housekeeping.gc_command
import pipeline.maths.weekly_signal  # noqa: F401 - what a build loads later on
from datasets.catalogue.live import Catalogue
from datasets.layout import CATALOG, snapshot_path
from datasets.manifest import digest
from datasets.snapshot import Snapshot
from datasets.storage import cache as caching
from datasets.storage import lock, open_storage
from datasets.storage.cache import Cache
from pipeline.group import cli
from pipeline.snapshot_builder import build_seal


def say(what: str) -> None:
    os.write(1, f"{what}\n".encode())


def work(kind: str, task: dict[str, Any]) -> None:
    """Build, publish or collect; publication, the shortest part of a build, is targeted separately."""
    open_storage(task["root"]).entries(CATALOG)  # connects now, so that kills do not fall into connecting
    if kind == "gc":
        # A killed gc loses its lock after a second, where an operator would wait a quarter of an hour.
        lock.LOCK_LIFETIME = timedelta(seconds=1)  # type: ignore[misc]
        say("begun")
        options = ["--keep", "1", "--grace", f"{task['grace']}s", "--json"]
        cli(["gc", *options, "--datasets", task["root"]], standalone_mode=False)
    else:
        at = "open" if kind == "build" else "publish"
        build_seal(task["seal"], task["root"], on_stage=lambda stage: say("begun") if stage == at else None)
    say("done")


class Reader:
    """Reads continuously from the pointer to every byte, and reports errors."""

    def __init__(self, task: dict[str, Any]) -> None:
        self._grace: float = task["grace"]
        cache = Cache(task["cache"], task["bound"]) if task["cache"] else None
        self._storage = open_storage(task["root"], cache=cache)
        self._catalogue = Catalogue(self._storage)
        self._seen: set[str] = set()
        self._ending = False
        self._counts = {"passes": 0, "slow": 0}

    def run(self) -> None:
        signal.signal(signal.SIGTERM, self._end)
        # Copies are reserved for readers only briefly, so that a small cache constantly copies and evicts.
        caching.IN_USE_SECONDS, caching._FRESH_SECONDS = 2.0, 0.5  # type: ignore[misc]  # noqa: SLF001
        say("begun")
        while not self._ending:
            began = time.monotonic()
            try:
                self._read_all()
            except Exception as error:  # noqa: BLE001 - every error is reported
                # Nothing is guaranteed for a pass longer than the grace period.
                if time.monotonic() - began < self._grace:
                    say(json.dumps({"complaint": repr(error)}))
                self._counts["slow"] += 1
            self._counts["passes"] += 1
            time.sleep(0.02)
        say(json.dumps({**self._counts, "snapshots": len(self._seen)}))
        say("done")

    def _end(self, *_: object) -> None:
        self._ending = True

    def _read_all(self) -> None:
        self._catalogue.refresh()
        pointers = self._catalogue.listing.pointers
        if not pointers or self._catalogue.broken:
            say(json.dumps({"complaint": f"nothing is served, or it is broken: {self._catalogue.broken}"}))
        for pointer in pointers:
            snapshot = self._catalogue.resolve(pointer.alpha_id)
            assert snapshot is not None
            self._seen.add(snapshot.id)
            self._read(snapshot)

    def _read(self, snapshot: Snapshot) -> None:
        manifest = snapshot.manifest
        if (manifest.alpha_id, manifest.snapshot) != (snapshot.alpha_id, snapshot.id):
            say(json.dumps({"complaint": f"{snapshot.id} has the manifest of {manifest.snapshot}"}))
        # Every other pass is slow, so that snapshots are replaced and collected while they are read.
        pause = 0.7 / len(manifest.files) if self._counts["passes"] % 2 else 0.0
        for entry in manifest.files:
            time.sleep(pause)
            if self._storage.cache is None:
                data = self._storage.read(f"{snapshot_path(snapshot.alpha_id, snapshot.id)}/{entry.path}")
            elif entry.path.endswith(".parquet"):
                with open(snapshot.file(entry.dataset, entry.book), "rb") as stream:  # noqa: PTH123 - an address
                    data = stream.read()
            else:
                snapshot.description()  # verified against its digest on every read
                continue
            if digest(data) != entry.sha256:
                say(json.dumps({"complaint": f"{entry.path} of {snapshot.id} is not what its manifest says"}))


def main() -> None:
    for name in sys.argv[1:]:
        importlib.import_module(name)
    for line in iter(sys.stdin.readline, ""):
        task = json.loads(line)
        child = os.fork()
        if child == 0:
            say(f"pid {os.getpid()}")
            try:
                Reader(task).run() if task["kind"] in {"read", "fill"} else work(task["kind"], task)
            except BaseException:  # noqa: BLE001 - shown by the hook, and then ended without the parent's clean-up
                sys.excepthook(*sys.exc_info())
                os._exit(1)
            os._exit(0)
        os.waitpid(child, 0)
        say("ended")


if __name__ == "__main__":
    main()
