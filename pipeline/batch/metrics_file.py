"""Metrics of builds in Prometheus' text format, as a file for the node exporter."""

from __future__ import annotations

import time
from typing import Any, Final

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    write_to_textfile,
)

from pipeline.batch.result import NOT_STARTED, STILL_REFUSED, SUCCESSES, SealResult
from schemas.console.terminal import echo
from schemas.errors import ArchiveNotDelivered, SettingsError

OUTCOMES: Final = (*SUCCESSES, "refused", STILL_REFUSED, "failed", "crashed", NOT_STARTED)
"""All outcomes; each has a series from the start, because alerts on increases need one."""
_SECONDS: Final = (1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800)

_GAUGES: Final = {
    "build_looked_timestamp_seconds": "Time of the last successful search for seals.",
    "build_stores_reachable": "Whether the stores answered the last search for seals.",
    "build_started_timestamp_seconds": "When the command began.",
    "build_finished_timestamp_seconds": "When the command ended; 0 while it runs.",
    "build_exit_code": "Exit code of the command; -1 while it runs.",
}


class MetricsFile:
    """Counts since the command started, written atomically after each change.

    No series names an alpha or a seal: their number is unbounded, and everyone who may read the machine's metrics reads
    the file.

    Raises
    ------
    SettingsError
        When the file cannot be written.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._warned = False
        disable_created_metrics()
        self._registry = CollectorRegistry()
        into: dict[str, Any] = {"registry": self._registry, "namespace": "alpha_results"}
        self._builds = Counter("builds", "Seals by outcome since the command began.", ["outcome"], **into)
        for outcome in OUTCOMES:
            self._builds.labels(outcome)
        self._seconds = Histogram("build_seconds", "Seconds a build took.", buckets=_SECONDS, **into)
        self._stages = Counter("build_stage_seconds", "Seconds builds spent in a stage.", ["stage"], **into)
        self._bytes = Counter("build_published_bytes", "Bytes published.", **into)
        self._undelivered = Counter(
            "build_archives_undelivered", "Snapshots published without their source archive.", **into
        )
        self._gauges = {name: Gauge(name, meaning, **into) for name, meaning in _GAUGES.items()}
        self._gauges["build_started_timestamp_seconds"].set(time.time())
        self._gauges["build_exit_code"].set(-1)
        try:
            write_to_textfile(path, self._registry)
        except OSError as error:
            raise SettingsError(
                f"--metrics-file: {path} cannot be written ({error.strerror}): name a file in a folder that exists"
            ) from error

    def add(self, result: SealResult) -> None:
        """Count the outcome of one seal."""
        self._builds.labels(result.outcome).inc()
        if result.outcome == "built":
            seconds = result.details["seconds"]
            self._seconds.observe(sum(seconds.values()))
            for stage, duration in seconds.items():
                self._stages.labels(stage).inc(duration)
            self._bytes.inc(result.details["bytes"])
        if isinstance(result.error, ArchiveNotDelivered):
            self._undelivered.inc()
        self._save()

    def scanned(self, *, worked: bool = True) -> None:
        """Record a search for seals, and whether the stores answered."""
        self._gauges["build_stores_reachable"].set(worked)
        if worked:
            self._gauges["build_looked_timestamp_seconds"].set(time.time())
        self._save()

    def ended(self, exit_code: int) -> None:
        """Record the end of the command."""
        self._gauges["build_exit_code"].set(exit_code)
        self._gauges["build_finished_timestamp_seconds"].set(time.time())
        self._save()

    def _save(self) -> None:
        try:
            # Written under another name and renamed, so that readers never see a partial file.
            write_to_textfile(self._path, self._registry)
        except OSError as error:
            if not self._warned:
                echo(f"--metrics-file: {self._path} cannot be written: {error.strerror}", err=True)
            self._warned = True
