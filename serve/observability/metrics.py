"""The Prometheus metrics of a serving process: requests are counted as they end, all others sampled every few seconds."""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric, disable_created_metrics
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from prometheus_client.process_collector import ProcessCollector

_log = structlog.get_logger("serve.observability")

NAMESPACE: Final = "alpha_results"
BUCKETS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds in seconds."""
UNROUTED: Final = "none"
"""Label of requests whose path is not routed."""
_INTERVAL_SECONDS: Final = 1.0
"""Seconds between two samples."""


class Declared(NamedTuple):
    """A metric that is sampled.

    Attributes
    ----------
    aggregation
        How the values of several workers are combined; counters are summed, including those of ended workers.
    """

    help: str
    labels: tuple[str, ...] = ()
    aggregation: Literal["total", "livesum", "livemin", "livemax"] = "livemax"


SAMPLED: Final[dict[str, Declared]] = {
    "requests_in_flight": Declared("Requests being answered.", aggregation="livesum"),
    "compute_waiting": Declared("Answers that wait for a compute thread.", aggregation="livesum"),
    "compute_running": Declared("Answers being computed.", aggregation="livesum"),
    "compute_refused": Declared("Answers that were not computed, by reason.", ("reason",), "total"),
    "event_loop_lag_seconds": Declared("Delay of the event loop at the last sample."),
    "memory_cache_reads": Declared("Look-ups in a memory cache.", ("cache", "result"), "total"),
    "memory_cache_bytes": Declared("Memory used by a cache.", ("cache",), "livesum"),
    "memory_cache_limit_bytes": Declared("Maximum memory of a cache.", ("cache",), "livesum"),
    "catalogue_age_seconds": Declared("Seconds since the catalogue was last refreshed."),
    "catalogue_alphas": Declared("Alphas served."),
    "catalogue_unreadable": Declared("Alphas whose pointer cannot be read."),
    "snapshots_damaged": Declared("Alphas served whose manifest or files failed a check."),
    "component_state": Declared("2 is OK, 1 degraded, 0 down.", ("component",), "livemin"),
    "rendered_rows_reads": Declared(
        "Tables opened from the folder of rendered rows, or built.", ("result",), "total"
    ),
    "rendered_rows_evictions": Declared("Tables evicted from the folder of rendered rows.", (), "total"),
    "rendered_rows_bytes": Declared("Bytes in the folder of rendered rows."),
    "rendered_rows_limit_bytes": Declared("Maximum bytes in the folder of rendered rows."),
    "cache_reads": Declared("Files read through the cache of a remote root.", ("result",), "total"),
    "cache_fetched_bytes": Declared("Bytes copied into the cache of a remote root.", (), "total"),
    "cache_evictions": Declared("Copies evicted from the cache of a remote root.", (), "total"),
    "cache_evicted_bytes": Declared("Bytes of the evicted copies.", (), "total"),
    "cache_used_bytes": Declared("Bytes in the cache of a remote root."),
    "cache_limit_bytes": Declared("Maximum bytes in the cache of a remote root."),
    "sampled_monotonic_seconds": Declared(
        "When a process was last sampled, by the machine's monotonic clock.", aggregation="livemin"
    ),
    "build_info": Declared("Always 1; the label is the build.", ("version",)),
}
"""Name without namespace, and without `_total` for counters -> metric. A metric is exported once it has a value."""

Value = tuple[str, tuple[str, ...], float]
"""Name, labels and value of a sample."""


class Instruments:
    """The metrics of one serving process.

    Parameters
    ----------
    multiprocess
        Whether this is one of several serving processes, whose shared folder is in the environment.
    """

    def __init__(self, *, multiprocess: bool = False) -> None:
        disable_created_metrics()
        self.registry = CollectorRegistry()
        if not multiprocess:
            ProcessCollector(registry=self.registry)
        self._options: dict[str, Any] = {"registry": self.registry, "namespace": NAMESPACE}
        self._latency = Histogram(
            "request_seconds",
            "Time from the head of a request to the end of its answer.",
            ["endpoint", "status"],
            buckets=BUCKETS,
            **self._options,
        )
        self._errors = Counter("errors", "Error answers by code.", ["code"], **self._options)
        self._sampled: dict[str, Counter | Gauge] = {}
        self._counted: dict[tuple[str, tuple[str, ...]], float] = {}

    def count_request(self, fields: Mapping[str, Any]) -> None:
        """Count one request; takes the fields of its log line."""
        family = fields["status"] // 100
        status = f"{family}xx" if family else UNROUTED
        self._latency.labels(fields["endpoint"] or UNROUTED, status).observe(fields["ms"] / 1e3)
        if fields["code"] is not None:
            self._errors.labels(fields["code"]).inc()

    def set(self, name: str, labels: tuple[str, ...], value: float) -> None:
        """Set a declared metric; a counter is incremented to the value."""
        declared = SAMPLED[name]
        metric = self._sampled.get(name)
        if metric is None:
            if declared.aggregation == "total":
                metric = Counter(name, declared.help, declared.labels, **self._options)
            else:
                options = {**self._options, "multiprocess_mode": declared.aggregation}
                metric = Gauge(name, declared.help, declared.labels, **options)
            self._sampled[name] = metric
        child = metric.labels(*labels) if labels else metric
        if isinstance(child, Counter):
            child.inc(value - self._counted.get((name, labels), 0))
            self._counted[name, labels] = value
        else:
            child.set(value)

    def sample(self, values: Callable[[], Iterable[Value]], lag: float = 0.0) -> None:
        """Set all sampled metrics."""
        try:
            for name, labels, value in values():
                self.set(name, labels, value)
            self.set("event_loop_lag_seconds", (), lag)
            self.set("sampled_monotonic_seconds", (), time.monotonic())
        except Exception:  # noqa: BLE001 - a sampling error must not stop the service
            _log.exception("sampling_failed")

    @contextlib.asynccontextmanager
    async def sampling(self, values: Callable[[], Iterable[Value]]) -> AsyncIterator[None]:
        """Sample while the context lasts, also once before and once after it."""

        async def sample_periodically() -> None:
            loop = asyncio.get_running_loop()
            while True:
                due = loop.time() + _INTERVAL_SECONDS
                await asyncio.sleep(_INTERVAL_SECONDS)
                self.sample(values, max(0.0, loop.time() - due))

        self.sample(values)
        task = asyncio.create_task(sample_periodically())
        try:
            yield
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            self.sample(values)


def worker_registry(folder: str) -> CollectorRegistry:
    """Return a registry that combines the values of all workers when it is read."""
    registry = CollectorRegistry()
    registry.register(_Workers(folder))
    return registry


class _Workers(MultiProcessCollector):
    """Drops the gauges of ended workers; their counters stay in the sums."""

    def __init__(self, folder: str) -> None:
        super().__init__(None, path=folder)  # type: ignore[no-untyped-call]  # it has no types yet
        self._folder = folder
        self._dropping = threading.Lock()

    def collect(self) -> Iterable[Metric]:
        with self._dropping:  # the port answers on several threads, and a file can be removed once
            alive = {child.pid for child in multiprocessing.active_children()}
            measured = {
                int(path.stem.rpartition("_")[2]) for path in Path(self._folder).glob("gauge_live*.db")
            }
            for pid in measured - alive:
                mark_process_dead(pid, self._folder)
        metrics: Iterable[Metric] = super().collect()  # type: ignore[no-untyped-call]  # as above
        return metrics
