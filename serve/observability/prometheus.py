"""The measurements of a serving process, by the names and units of Prometheus."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics
from prometheus_client.process_collector import ProcessCollector

from serve.compute import REASONS
from serve.observability.health import State

if TYPE_CHECKING:
    from serve.state import ServerState

NAMESPACE: Final = "alpha_results"
SAMPLED: Final = f"{NAMESPACE}_sampled_timestamp_seconds"
COMPONENT: Final = f"{NAMESPACE}_component_state"
BUCKETS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds in seconds."""
UNROUTED: Final = "none"
"""Endpoint of a request whose path is none of ours."""


class Instruments:
    """Counts requests as they end, and samples the parts of the service.

    In a process of several the library keeps the values in files that all of them share; the sums are right there
    whichever process is asked. Gauges say how they are put together: the worst state, the sum of what is in flight.

    Parameters
    ----------
    several
        Whether this is one of several serving processes; their shared folder is then in the environment already.
    """

    def __init__(self, *, several: bool = False) -> None:
        disable_created_metrics()
        self.registry = CollectorRegistry()
        if not several:
            ProcessCollector(registry=self.registry)
        into: dict[str, Any] = {"registry": self.registry, "namespace": NAMESPACE}
        least = {**into, "multiprocess_mode": "livemin"}
        most = {**into, "multiprocess_mode": "livemax"}
        summed = {**into, "multiprocess_mode": "livesum"}
        self._latency = Histogram(
            "request_seconds",
            "Time from the head of a request to the end of its answer.",
            ["endpoint", "status"],
            buckets=BUCKETS,
            **into,
        )
        self._errors = Counter("errors", "Error answers by their code.", ["code"], **into)
        self._in_flight = Gauge("requests_in_flight", "Requests being answered.", **summed)
        self._waiting = Gauge("compute_waiting", "Answers that wait for a compute thread.", **summed)
        self._running = Gauge("compute_running", "Answers being computed.", **summed)
        self._refused = Counter(
            "compute_refused", "Answers that were not computed, by the reason.", ["reason"], **into
        )
        self._lag = Gauge(
            "event_loop_lag_seconds", "How late the event loop lately came to what was due.", **most
        )
        self._decisions = Counter(
            "limiter_decisions",
            "Calls of recognised keys: allowed, or refused for want of room in a window.",
            ["decision"],
            **into,
        )
        self._unreachable = Counter(
            "access_unreachable", "Calls that a store of keys or counts did not answer.", ["part"], **into
        )
        self._caches = _MemoryCaches(into, summed)
        self._age = Gauge(
            "catalogue_age_seconds", "Seconds since the catalogue was last looked at with success.", **most
        )
        self._alphas = Gauge("catalogue_alphas", "Alphas served.", **most)
        self._unreadable = Gauge("catalogue_unreadable", "Alphas whose pointer cannot be read.", **most)
        self._indexed = Gauge(
            "catalogue_indexed",
            "1 where polls go by the index or the folder's time, 0 where they list.",
            **least,
        )
        self._damaged = Gauge(
            "snapshots_damaged", "Alphas served whose manifest or files are not what was published.", **most
        )
        self._opened = Gauge(
            "snapshots_opened", "Snapshots whose manifest a process holds in memory.", **most
        )
        self.component = Gauge("component_state", "2 is well, 1 degraded, 0 down.", ["component"], **least)
        self.sampled = Gauge("sampled_timestamp_seconds", "When a process last looked at itself.", **least)
        self._build = Gauge("build_info", "Always 1; the label tells the build.", ["version"], **most)
        self._latencies: dict[tuple[str | None, int], Histogram] = {}
        self._codes: dict[str, Counter] = {}
        self._seen: dict[str, float] = {}
        self._into = into
        self._cache: _OfCache | None = None
        self._rows: _OfRowsFolder | None = None

    def answered(self, known: Mapping[str, Any]) -> None:
        """Count one request; takes what its log line says."""
        endpoint, family, code = known["endpoint"], known["status"] // 100, known["code"]
        timer = self._latencies.get((endpoint, family))
        if timer is None:
            timer = self._latency.labels(endpoint or UNROUTED, f"{family}xx" if family else UNROUTED)
            self._latencies[endpoint, family] = timer
        timer.observe(known["ms"] / 1e3)
        if code is not None:
            counter = self._codes.get(code)
            if counter is None:
                counter = self._codes[code] = self._errors.labels(code)
            counter.inc()

    def sample(self, service: ServerState, in_flight: int, lag: float = 0.0) -> None:
        """Note how the parts of the service are; costs some microseconds, called once a second."""
        snapshots = service.snapshots
        self._in_flight.set(in_flight)
        self._lag.set(lag)
        self._waiting.set(service.computing.waiting)
        self._running.set(service.computing.running)
        for reason in REASONS:
            self._rise(self._refused.labels(reason), f"refused {reason}", service.computing.refused[reason])
        self._age.set(snapshots.age)
        self._alphas.set(len(snapshots.pointers()))
        self._unreadable.set(len(snapshots.unreadable))
        self._indexed.set(snapshots.indexed)
        self._damaged.set(len(service.damage.alphas))
        for name, state in service.components.states.items():
            self.component.labels(name).set(State(state))
        for name, count in service.access.decisions.items():
            self._rise(self._decisions.labels(name), f"decision {name}", count)
        for name, count in service.access.unreachable.items():
            self._rise(self._unreachable.labels(name), f"unreachable {name}", count)
        for name, counts in service.caches.counts.items():
            self._rise(self._caches.reads.labels(name, "hit"), f"{name} hits", counts.hits)
            self._rise(self._caches.reads.labels(name, "miss"), f"{name} misses", counts.misses)
            self._caches.bytes.labels(name).set(counts.bytes)
            self._caches.entries.labels(name).set(counts.entries)
            self._caches.limit.labels(name).set(counts.limit)
        self._build.labels(service.build).set(1)
        self.sampled.set(time.time())

    def sample_slowly(self, service: ServerState) -> None:
        """Note what takes longer to find out; called every few seconds."""
        self._opened.set(service.snapshots.opened)
        folder = service.rendered.folder
        if folder is not None:
            if self._rows is None:
                self._rows = _OfRowsFolder(self._into)
            done = folder.counts
            self._rise(self._rows.reads.labels("hit"), "rows folder hits", done.hits)
            self._rise(self._rows.reads.labels("miss"), "rows folder misses", done.misses)
            self._rise(self._rows.evictions, "rows folder evictions", done.evictions)
            self._rows.bytes.set(done.bytes)
            self._rows.entries.set(done.entries)
            self._rows.limit.set(done.limit)
        cache = service.cache
        if cache is None:
            return
        counts = cache.counts
        if self._cache is None:
            self._cache = _OfCache(self._into)
        self._rise(self._cache.reads.labels("hit"), "hits", counts.hits)
        self._rise(self._cache.reads.labels("miss"), "misses", counts.misses)
        self._rise(self._cache.fetched, "fetched", counts.fetched_bytes)
        self._rise(self._cache.evictions, "evictions", counts.evictions)
        self._rise(self._cache.evicted, "evicted", counts.evicted_bytes)
        self._cache.used.set(cache.used)
        self._cache.limit.set(cache.max_bytes)

    def _rise(self, counter: Counter, name: str, count: float) -> None:
        """Bring a counter up to a count made elsewhere."""
        counter.inc(count - self._seen.get(name, 0))
        self._seen[name] = count


class _MemoryCaches:
    """The measurements of the caches in memory."""

    def __init__(self, into: dict[str, Any], summed: dict[str, Any]) -> None:
        labels = ["cache"]
        self.reads = Counter("memory_cache_reads", "Entries asked of a cache.", [*labels, "result"], **into)
        self.bytes = Gauge("memory_cache_bytes", "Memory a cache takes.", labels, **summed)
        self.entries = Gauge("memory_cache_entries", "Entries of a cache.", labels, **summed)
        self.limit = Gauge("memory_cache_limit_bytes", "Memory a cache may take.", labels, **summed)


class _OfCache:
    """The measurements of the read-through cache, where there is one."""

    def __init__(self, into: dict[str, Any]) -> None:
        most = {**into, "multiprocess_mode": "livemax"}
        self.reads = Counter("cache_reads", "Files asked of the read-through cache.", ["result"], **into)
        self.fetched = Counter("cache_fetched_bytes", "Bytes copied into the cache.", **into)
        self.evictions = Counter("cache_evictions", "Copies that made room for others.", **into)
        self.evicted = Counter("cache_evicted_bytes", "Bytes of those copies.", **into)
        self.used = Gauge("cache_used_bytes", "Bytes the cache holds.", **most)
        self.limit = Gauge("cache_limit_bytes", "Bytes it may hold.", **most)


class _OfRowsFolder:
    """The measurements of the folder of rendered rows, where there is one."""

    def __init__(self, into: dict[str, Any]) -> None:
        most = {**into, "multiprocess_mode": "livemax"}
        self.reads = Counter(
            "rendered_rows_reads",
            "Tables found in the folder of rendered rows, or rendered.",
            ["result"],
            **into,
        )
        self.evictions = Counter("rendered_rows_evictions", "Tables removed to make room.", **into)
        self.bytes = Gauge("rendered_rows_bytes", "Bytes of that folder.", **most)
        self.entries = Gauge("rendered_rows_entries", "Tables in it.", **most)
        self.limit = Gauge("rendered_rows_limit_bytes", "Bytes it may take.", **most)
