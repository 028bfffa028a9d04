"""Many seals through batches that are killed, terminated, and lose their cluster or store.

Each batch is the command as an operator starts it. What it printed is compared with the seals there are and with what is
served: nothing may be missing from a report, and nothing in it may be wrong.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from datasets.catalogue.live import Catalogue
from datasets.layout import ALPHAS
from datasets.provenance.integrity import check_files
from datasets.storage import open_storage
from tests.support.processes import REPOSITORY, builds
from tests.support.seals import linked, make_seal
from tests.support.waiting import PATIENCE

Line = dict[str, Any]


def make_seals(folder: Path, number: int) -> list[str]:
    """Write one small run under many names; the files are shared, only the manifests and their digests differ."""
    template = make_seal(folder / "template", weeks=14, raw=False, source=False)
    names = [f"Test_{place:05d}" for place in range(number)]
    for name in names:
        linked(template, folder / "seals" / name, alpha_id=name)
    return names


class Batch:
    """One run of the command, read line by line."""

    def __init__(self, folder: Path, root: str, *options: str) -> None:
        self._output = folder / f"lines-{time.monotonic_ns()}"
        self._complaints = self._output.with_suffix(".err")
        command = [
            sys.executable,
            "-m",
            "pipeline",
            "build",
            "--from",
            str(folder / "seals"),
            "--datasets",
            root,
        ]
        with self._output.open("wb") as output, self._complaints.open("wb") as complaints:
            self.process = subprocess.Popen(
                [*command, "--json", *options], cwd=REPOSITORY, stdout=output, stderr=complaints
            )

    def lines(self) -> list[Line]:
        """Return the complete lines so far."""
        text = self._output.read_text()
        return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]

    def of_seals(self) -> dict[str, Line]:
        """Return the line of each seal; fail if a seal has two."""
        results = [line for line in self.lines() if "seal" in line]
        by_name = {Path(line["seal"]).name: line for line in results}
        assert len(by_name) == len(results), "a seal is reported twice"
        return by_name

    def count(self, *outcomes: str) -> int:
        return sum(line.get("outcome") in outcomes for line in self.lines())

    def until(self, holds: Callable[[], object], meanwhile: Callable[[], None] = lambda: None) -> None:
        """Repeat an action until a condition holds or the batch ends."""
        deadline = time.monotonic() + PATIENCE * 5
        while self.process.poll() is None and not holds():
            meanwhile()
            assert time.monotonic() < deadline, self.complaints()
            time.sleep(0.01)

    def end(self) -> int:
        """Wait for the end and return the exit code."""
        return self.process.wait(PATIENCE * 5)

    def complaints(self) -> str:
        return self._complaints.read_text()


class Campaign:
    """Batches over one root, each interrupted differently, until one has nothing left to build.

    Parameters
    ----------
    folder
        For seals and reports.
    root
        A folder or a bucket.
    number
        Number of seals.
    seed
        Seed of the kill times and victims.
    """

    def __init__(self, folder: Path, root: str, number: int, seed: int) -> None:
        self._folder = folder
        self._root = root
        self.names = set(make_seals(folder, number))
        self._random = random.Random(seed)
        self._part = max(2, number // 6)
        self._kills = 0
        self.outcomes: dict[str, Any] = {"seals": number}

    def begin(self, *options: str) -> Batch:
        return Batch(self._folder, self._root, *options)

    def served(self) -> dict[str, str]:
        """Return the served snapshot of each alpha."""
        catalogue = Catalogue(open_storage(self._root))
        catalogue.refresh()
        assert not catalogue.broken
        return {pointer.alpha_id: pointer.snapshot for pointer in catalogue.listing.pointers}

    def kill_builds_and_the_batch(self) -> None:
        """Kill builds at random, then the batch: its lines must match the finished builds."""
        batch, kills = self.begin("--jobs", "2"), Counter[str]()
        batch.until(lambda: batch.count("built") >= self._part, lambda: self._kill_one(batch, kills))
        batch.process.kill()
        batch.end()
        # Builds end with their batch; one may have moved its pointer without a report.
        self._note("kill -9 of builds and of the batch", batch, kills)

    def kill_builds_and_end_the_batch(self) -> None:
        """Kill builds, then terminate the batch: every seal must be in its report."""
        before, kills = len(self.served()), Counter[str]()
        batch = self.begin("--jobs", "2")
        batch.until(lambda: len(self.served()) - before >= self._part, lambda: self._kill_one(batch, kills))
        batch.process.send_signal(signal.SIGTERM)
        code = batch.end()
        lines = self._require_all(batch, code)
        assert code in {7, 130}, batch.complaints()
        assert any(line["outcome"] == "not started" for line in lines.values())
        self._note("kill -9 of builds, and SIGTERM", batch, kills)

    def fill_the_disk(self) -> None:
        """Limit file sizes for a while, as on a full disk: failures must be reported and other builds continue."""
        before = len(self.served())
        batch = self.begin("--jobs", "2")
        batch.until(lambda: len(self.served()) - before >= self._part // 2)
        limits = [self._limit(at_work, 0) for at_work in builds(batch.process.pid)]
        assert any(limits)
        batch.until(lambda: batch.count("failed") >= min(5, self._part))
        assert batch.process.poll() is None
        for at_work in builds(batch.process.pid):
            self._limit(at_work, resource.RLIM_INFINITY)
        reported = batch.count("built")
        batch.until(lambda: batch.count("built") >= reported + min(5, self._part))
        batch.process.send_signal(signal.SIGTERM)
        code = batch.end()
        lines = self._require_all(batch, code)
        assert code == 5, batch.complaints()
        failures = [line for line in lines.values() if line["outcome"] == "failed"]
        assert {line["error"] for line in failures} == {"DiskUnavailable"}
        self._note("a disk that is full for a while", batch, Counter())

    def lose_the_cluster(
        self, address: str, kill_a_worker: Callable[[], None], kill_all: Callable[[], None]
    ) -> None:
        """Kill a worker, then the scheduler, during builds on a cluster."""
        before = len(self.served())
        batch = self.begin("--cluster", address, "--cluster-seconds", "3")
        part = min(6, self._part)
        batch.until(lambda: len(self.served()) - before >= part // 2)
        kill_a_worker()
        batch.until(lambda: len(self.served()) - before >= part)
        kill_all()
        code = batch.end()
        self._require_all(batch, code)
        assert code == 5, batch.complaints()
        self._note("kill -9 of a worker and of the scheduler", batch, Counter(worker=1, scheduler=1))

    def lose_the_store(self, away: contextlib.AbstractContextManager[None]) -> None:
        """Stop the store during builds, then start it again."""
        batch = self.begin("--jobs", "2")
        batch.until(lambda: batch.count("built") >= 2)
        with away:
            batch.until(lambda: batch.count("failed") >= 2)
        code = batch.end()
        lines = self._require_all(batch, code)
        assert code == 5, batch.complaints()
        failures = [line for line in lines.values() if line["outcome"] == "failed"]
        assert {line["error"] for line in failures} == {"StorageUnavailable"}
        self._note("a store that goes away", batch, Counter(store=1))

    def finish(self) -> None:
        """Run undisturbed, which builds the remaining seals; run again, which builds none."""
        before = self.served()
        batch = self.begin("--jobs", "2")
        assert batch.end() == 0, batch.complaints()
        lines = self._require_all(batch, 0)
        built = {name for name, line in lines.items() if line["outcome"] == "built"}
        assert built == self.names - set(before), "it completes the rest and nothing more"
        assert {line["outcome"] for name, line in lines.items() if name in before} <= {"unchanged"}
        self._note("undisturbed", batch, Counter())
        after = self.served()
        assert after.keys() == self.names
        assert {name: after[name] for name in before} == before
        storage = open_storage(self._root)
        catalogue = Catalogue(storage)
        catalogue.refresh()
        left = 0
        for name, snapshot in after.items():
            result = catalogue.resolve(name)
            assert result is not None
            assert check_files(storage, result.manifest, name, snapshot) == []
            folders = storage.folders(f"{ALPHAS}/alpha_id={name}")
            assert f"snapshot={snapshot}" in folders
            left += len(folders) - 1
        # A build killed between its last file and the pointer leaves a snapshot that is served nowhere; the next one may
        # differ from it, since notices compare a run with the runs that are served by then.
        assert left <= self._kills, "one snapshot each, but for builds that were killed"
        if storage.folder is not None:
            assert not list((storage.folder / ".staging").glob("build-*")), "what the killed left is swept"
        again = self.begin("--jobs", "2")
        assert again.end() == 0
        assert {line["outcome"] for line in self._require_all(again, 0).values()} == {"unchanged"}
        assert self.served() == after

    def _require_all(self, batch: Batch, code: int) -> dict[str, Line]:
        """Assert that the report has every seal once, with its true outcome."""
        lines = batch.of_seals()
        assert lines.keys() == self.names, self.names ^ lines.keys()
        last = batch.lines()[-1]
        assert last["summary"]["seals"] == len(self.names)
        assert last["exit_code"] == code
        for name, line in lines.items():
            if line["outcome"] not in {"built", "unchanged"}:
                assert line["retryable"] is True, (name, line)
        return lines

    def _note(self, what: str, batch: Batch, kills: Counter[str]) -> None:
        self._kills += sum(kills.values()) + 2  # running builds end with their batch
        lines, served = batch.of_seals(), self.served()
        for name, line in lines.items():
            if line["outcome"] in {"built", "unchanged"}:
                assert served[name] == line["snapshot"], name
        self.outcomes[what] = {
            "lines": dict(Counter(line["outcome"] for line in lines.values())),
            "kills": dict(kills),
            "served": len(served),
        }

    def _kill_one(self, batch: Batch, kills: Counter[str]) -> None:
        at_work = builds(batch.process.pid)
        # In a bucket a build is slow: without a bound every attempt would be killed.
        if at_work and kills["build"] < self._part and self._random.random() < 0.04:
            self._kill(self._random.choice(at_work), kills, "build")

    @staticmethod
    def _kill(pid: int, kills: Counter[str], what: str) -> None:
        with contextlib.suppress(ProcessLookupError):  # it ended before the kill
            os.kill(pid, signal.SIGKILL)
            kills[what] += 1

    @staticmethod
    def _limit(pid: int, size: int) -> bool:
        with contextlib.suppress(ProcessLookupError):
            _, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, hard))
            return True
        return False
