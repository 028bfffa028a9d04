"""Builds, publications, collections and cache fills killed at random moments, while readers read everything served.

Workers and readers are separate processes (``tests/kills/killed.py``).
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from datasets.layout import MANIFEST, alpha_path, snapshot_path
from datasets.manifest import Manifest, digest
from datasets.provenance.integrity import check_manifest
from datasets.publication.pointers import served
from datasets.storage import open_storage
from pipeline.snapshot_builder import build_seal
from tests.support.processes import REPOSITORY
from tests.support.seals import linked, make_seal

ALPHA = "Test_killed"
GRACE = 3
"""Seconds that gc keeps replaced snapshots, which is also the longest time a reader may take from the pointer to the last byte."""
ATTEMPTS = 10


class KillSchedule:
    """Random delays, spread a little past the end of the work.

    The duration of the work is not known beforehand: on a busy machine it varies by a factor of several. So the caller
    reports whether each kill came in time, and the spread adapts: it shrinks after a late kill and grows after a timely one.

    Parameters
    ----------
    generator
        Random generator of the delays.
    spread
        First guess of the longest delay, in seconds.
    """

    def __init__(self, generator: random.Random, spread: float) -> None:
        self._generator = generator
        self._spread = spread
        self._least = spread / 1000

    def next(self) -> float:
        """Return the seconds to wait before the next kill."""
        return self._generator.uniform(0, self._spread)

    def adapt(self, *, in_time: bool) -> None:
        """Record whether the last kill interrupted anything."""
        # One late kill offsets six timely ones, so about one in seven comes too late on any machine.
        self._spread = max(self._least, self._spread * (1.12 if in_time else 0.5))


@dataclass
class Tally:
    """Outcomes of many kills."""

    kills: Counter[str] = field(default_factory=Counter)
    interrupted: Counter[str] = field(default_factory=Counter)
    passes: int = 0
    slow: int = 0
    snapshots: int = 0

    def as_json(self) -> dict[str, Any]:
        return {
            "kills": dict(self.kills),
            "before_the_end_of_the_work": dict(self.interrupted),
            "passes_of_readers": self.passes,
            "passes_longer_than_the_grace_period": self.slow,
            "snapshots_read": self.snapshots,
        }


class Seals:
    """Seals of one alpha on demand, each sealed later, alternating between two runs."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._runs = [
            make_seal(folder / f"run-{seed}", alpha_id=ALPHA, seed=seed, weeks=14, raw=False, source=False)
            for seed in (1, 2)
        ]
        self._made = 0

    def next(self) -> Path:
        run = self._runs[self._made % 2]
        sealed = datetime(2026, 2, 1, tzinfo=UTC) + timedelta(minutes=self._made)
        self._made += 1
        target = self._folder / f"seal-{self._made}" / ALPHA
        return linked(run, target, sealed_at=sealed.strftime("%Y-%m-%dT%H:%M:%SZ"))


class Worker:
    """A process that runs one task at a time in a child that may be killed.

    Parameters
    ----------
    complaints
        File for its standard error.
    loaded
        Modules to import first.
    """

    def __init__(self, complaints: Path, *loaded: str) -> None:
        self._complaints = complaints
        self._stderr = complaints.open("wb")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.kills.killed", *loaded],
            cwd=REPOSITORY,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            text=True,
        )
        self._pid = 0

    def begin(self, task: dict[str, Any]) -> None:
        """Start a task, and wait until the targeted part has begun."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(task) + "\n")
        self._process.stdin.flush()
        self._pid = int(self._line().removeprefix("pid "))
        first_line = self._line()
        assert first_line == "begun", (first_line, self._complaints.read_text())

    def end(self, number: signal.Signals | None = None) -> list[str]:
        """Send a signal, if any, wait for the child's end, and return its output."""
        if number is not None:
            with contextlib.suppress(ProcessLookupError):  # it ended before the kill
                os.kill(self._pid, number)
        output = list(iter(self._line, "ended"))
        self._pid = 0
        complaints = self._complaints.read_text()
        assert not complaints, complaints
        return output

    def stop(self) -> None:
        """End the process, and its child if a failed test left a reader, which reads until a signal ends it."""
        if self._pid:
            with contextlib.suppress(ProcessLookupError):  # it has ended
                os.kill(self._pid, signal.SIGKILL)
        self._process.communicate()
        self._stderr.close()

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, self._complaints.read_text()
        return line.strip()


class Campaign:
    """Kills over one root.

    Parameters
    ----------
    root
        A folder or a bucket.
    folder
        Folder for seals and caches.
    cached
        Whether readers that share one small cache are killed too.
    seed
        Seed of the kill times.
    """

    def __init__(self, root: str, folder: Path, *, cached: bool, seed: int) -> None:
        self._root = root
        # Their interpreters start while the seals are written and the first is built.
        client = ("s3fs",) if "://" in root else ()
        self._workers = Worker(folder / "workers", *client)
        self._readers = {
            where: Worker(folder / f"reader-{'of-the-cache' if where else 'of-the-root'}", *client)
            for where in ("", *((str(folder / "cache"),) if cached else ()))
        }
        self._storage = open_storage(root)
        self._seals = Seals(folder)
        self._cache = str(folder / "cache") if cached else ""
        self._kinds = ("build", "publish", "gc", *(("fill",) if cached else ()))
        self._random = random.Random(seed)
        self._schedules = {"fill": KillSchedule(self._random, 0.3)}
        self._complete, self._served = set[str](), set[str]()
        self.tally = Tally()
        build_seal(str(self._seals.next()), root)
        pointer = served(self._storage, ALPHA)
        assert pointer is not None
        manifest, _ = check_manifest(self._storage, pointer)
        assert manifest is not None
        self.bound = sum(entry.bytes for entry in manifest.files) // 2

    def run(self, kills: int) -> None:
        """Kill that many times, each kind in turn, and check everything after each kill."""
        worker = self._workers
        try:
            self._measure(worker)
            with contextlib.ExitStack() as readers:
                for cache, reader in self._readers.items():
                    readers.enter_context(self._reading(reader, cache))
                for number in range(kills):
                    kind = self._kinds[number % len(self._kinds)]
                    # A kill that came too late is repeated, earlier each time.
                    for _ in range(ATTEMPTS):
                        before = self.tally.interrupted[kind]
                        self._kill(worker, kind)
                        self.tally.kills[kind] += 1
                        self._verify_root()
                        if self.tally.interrupted[kind] > before:
                            break
            self._finish(worker)
        finally:
            for each in (worker, *self._readers.values()):
                each.stop()

    def _task(self, kind: str, cache: str = "", grace: int = GRACE) -> dict[str, Any]:
        seal = str(self._seals.next()) if kind in {"build", "publish"} else ""
        return {
            "kind": kind, "root": self._root, "seal": seal, "cache": cache, "bound": self.bound, "grace": grace,
        }  # fmt: skip

    def _measure(self, worker: Worker) -> None:
        """Measure each kind of work once, undisturbed, and note the files of both runs."""
        for kind in ("build", "publish", "gc"):
            worker.begin(self._task(kind))
            began = time.monotonic()
            assert worker.end()[-1] == "done"
            self._schedules[kind] = KillSchedule(self._random, 1.1 * (time.monotonic() - began))
            self._complete |= self._tables()

    def _kill(self, worker: Worker, kind: str) -> None:
        task = self._task(kind, self._cache if kind == "fill" else "")
        worker.begin(task)
        schedule = self._schedules[kind]
        time.sleep(schedule.next())
        output = worker.end(signal.SIGKILL)
        assert not [line for line in output if "complaint" in line], output
        schedule.adapt(in_time="done" not in output)
        if "done" in output:
            return
        self.tally.interrupted[kind] += 1
        if task["seal"] and self._random.random() < 0.5:
            # Half the time, repeat the interrupted work; otherwise the next build meets its leftovers.
            build_seal(task["seal"], self._root)

    @contextlib.contextmanager
    def _reading(self, worker: Worker, cache: str) -> Iterator[None]:
        """Read continuously; report problems at the end."""
        worker.begin(self._task("read", cache))
        yield
        *output, done = worker.end(signal.SIGTERM)
        assert done == "done"
        messages = [json.loads(line) for line in output]
        assert not [line for line in messages if "complaint" in line], messages
        self.tally.passes += messages[-1]["passes"]
        self.tally.slow += messages[-1]["slow"]
        self.tally.snapshots = max(self.tally.snapshots, messages[-1]["snapshots"])

    def _tables(self) -> set[str]:
        """Return the digests of the tables below a folder, of any snapshot, with or without a manifest."""
        folder = self._storage.folder
        return (
            set() if folder is None else {digest(x.read_bytes()) for x in folder.glob("alphas/**/*.parquet")}
        )

    def _verify_root(self) -> None:
        """Assert that every snapshot with a manifest is complete, whether it is served or not."""
        pointer = served(self._storage, ALPHA)
        assert pointer is not None
        self._served.add(pointer.snapshot)
        manifest, faults = check_manifest(self._storage, pointer)
        assert manifest is not None, faults
        assert faults == []
        self._verify_snapshot(manifest)
        names = [name.removeprefix("snapshot=") for name in self._storage.folders(alpha_path(ALPHA))]
        for name in {*names} - {pointer.snapshot, *pointer.removing}:
            path = f"{snapshot_path(ALPHA, name)}/{MANIFEST}"
            with contextlib.suppress(FileNotFoundError):
                self._verify_snapshot(Manifest.decode(self._storage.read(path), path))
        assert self._tables() <= self._complete, "a table under its final name is half-written"

    def _verify_snapshot(self, manifest: Manifest) -> None:
        folder = snapshot_path(ALPHA, manifest.snapshot)
        result = self._storage.read_many([f"{folder}/{entry.path}" for entry in manifest.files])
        for entry in manifest.files:
            data = result[f"{folder}/{entry.path}"]
            assert data is not None, f"{entry.path} of {manifest.snapshot} is missing"
            assert digest(data) == entry.sha256, (
                f"{entry.path} of {manifest.snapshot} is not what was published"
            )

    def _finish(self, worker: Worker) -> None:
        """Assert that all interrupted work can be finished."""
        last = build_seal(str(self._seals.next()), self._root).snapshot
        worker.begin(self._task("gc", grace=0))
        assert worker.end()[-1] == "done"
        pointer = served(self._storage, ALPHA)
        assert pointer is not None
        assert (pointer.snapshot, pointer.removing) == (last, ())
        self._verify_root()
        # What a killed build left was never served, and is kept longer than the grace period of replaced snapshots.
        there = {name.removeprefix("snapshot=") for name in self._storage.folders(alpha_path(ALPHA))}
        assert there & self._served == {last}
