"""Measurements of several serving processes, put together by their parent."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from prometheus_client import CollectorRegistry, Metric
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

from serve.observability import SHARED_FOLDER


@contextlib.contextmanager
def shared_folder() -> Iterator[Path]:
    """Make the folder in which the workers to be started keep their values; it is removed at the end."""
    with tempfile.TemporaryDirectory(prefix="alpha-results-metrics-") as folder:
        os.environ[SHARED_FOLDER] = folder
        try:
            yield Path(folder)
        finally:
            os.environ.pop(SHARED_FOLDER, None)


def registry_of_workers(folder: Path) -> CollectorRegistry:
    """Return a registry whose values are those of all workers, put together whenever it is read."""
    registry = CollectorRegistry()
    registry.register(_Workers(folder))
    return registry


class _Workers(MultiProcessCollector):
    """Counts of ended workers stay in the sums; their gauges go."""

    def __init__(self, folder: Path) -> None:
        super().__init__(None, path=str(folder))  # type: ignore[no-untyped-call]  # it has no types yet
        self._folder = folder

    def collect(self) -> Iterable[Metric]:
        for pid in {_pid(path) for path in self._folder.glob("gauge_live*.db")}:
            if not _is_child(pid):
                mark_process_dead(pid, str(self._folder))
        found: Iterable[Metric] = super().collect()  # type: ignore[no-untyped-call]  # as above
        return found


def _pid(path: Path) -> int:
    return int(path.stem.rpartition("_")[2])


def _is_child(pid: int) -> bool:
    """Whether a process is one that this one started and that has not ended."""
    try:
        # The name of the program stands in brackets and may hold anything; what follows is its state and parent.
        state, parent = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[:2]
    except (OSError, ValueError):
        return False
    return int(parent) == os.getpid() and state != "Z"
