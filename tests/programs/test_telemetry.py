"""The metrics port of real processes under real calls."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.support import plain_http, published
from tests.support.ports import free_port
from tests.support.processes import REPOSITORY, command, workers
from tests.support.redis import RedisServer
from tests.support.server import served, token_for
from tests.support.waiting import PATIENCE, eventually

ALPHA = "Test_hand"


class Port:
    """The metrics port."""

    def __init__(self, port: int) -> None:
        self.base = f"http://127.0.0.1:{port}"

    def text(self) -> str:
        result = plain_http.get(f"{self.base}/metrics")
        assert result.status_code == 200
        return result.text

    def value(self, name: str, **labels: str) -> float:
        """Return the sum of the samples of a name that have these labels."""
        results = [
            sample.value
            for family in text_string_to_metric_families(self.text())
            for sample in family.samples
            if sample.name == f"alpha_results_{name}" and labels.items() <= sample.labels.items()
        ]
        assert results, f"there is no {name} {labels}"
        return sum(results)

    def fetch(self, path: str) -> tuple[int, dict[str, object]]:
        result = plain_http.get(f"{self.base}{path}")
        return result.status_code, result.json()

    def ready(self) -> tuple[int, str]:
        status, body = self.fetch("/ready")
        return status, str(body["status"])


@contextmanager
def measured(root: Path, *arguments: str, **variables: str) -> Iterator[tuple[int, str, Port]]:
    port = free_port()
    with served(root, "--metrics-port", str(port), *arguments, variables=variables) as (process, base):
        yield process.pid, base, Port(port)


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


def test_calls_are_counted_by_endpoint_outcome_and_window_and_no_label_names_a_caller(
    server_root: Path, token: str
) -> None:
    narrow = token_for(server_root, "per_second=2,per_minute=2")
    with measured(server_root) as (_, base, port), plain_http.connect(base_url=base) as client:
        assert port.ready() == (200, "ok")
        for _ in range(3):
            assert client.get(f"/v1/alphas/{ALPHA}/scores", headers=bearer(token)).status_code == 200
        assert client.get("/v1/alphas/Test_none/scores", headers=bearer(token)).status_code == 404
        assert client.get("/v1/nowhere").status_code == 404
        assert [client.get("/v1/me", headers=bearer(narrow)).status_code for _ in range(4)] == [
            200,
            200,
            429,
            429,
        ]
        eventually(lambda: port.value("request_seconds_count", endpoint="meta.me") == 4)
        assert port.value("request_seconds_count", endpoint="signals.scores", status="2xx") == 3
        assert port.value("request_seconds_count", endpoint="signals.scores", status="4xx") == 1
        assert port.value("request_seconds_count", endpoint="none", status="4xx") == 1
        assert port.value("request_seconds_sum", endpoint="signals.scores", status="2xx") > 0
        assert port.value("errors_total", code="run_not_found") == 1
        assert port.value("errors_total", code="rate_limit_minute") == 2
        assert port.value("catalogue_alphas") == 1
        assert port.value("requests_in_flight") == 0
        eventually(lambda: port.value("memory_cache_reads_total", cache="bodies", result="hit") == 2)
        for cache in ("bodies", "rows"):
            assert port.value("memory_cache_reads_total", cache=cache, result="miss") == 1
        text = port.text()
        for secret in (ALPHA, "Test_none", *token.split("."), "example.org"):
            assert secret not in text
        assert port.fetch("/elsewhere")[0] == 404
        assert "sampling_failed" not in (server_root.parent / "server.log").read_text()
        document = (REPOSITORY / "docs" / "monitoring.md").read_text()
        for family in text_string_to_metric_families(text):
            if family.name.startswith("alpha_results_"):
                total = "_total" if family.type == "counter" else ""
                assert f"`{family.name}{total}`" in document
        assert port.fetch("/live") == (200, {"status": "ok", "silent_seconds": pytest.approx(0, abs=30)})


def test_a_line_of_the_log_and_its_answer_have_one_request_id_and_refused_calls_name_their_key(
    server_root: Path,
) -> None:
    one = token_for(server_root, "per_second=1,per_minute=1")
    with served(server_root) as (_, base), plain_http.connect(base_url=base) as client:
        answers = [client.get("/v1/me?token=never-logged", headers=bearer(one)) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [400, 429]
    ids = [answer.headers["x-request-id"] for answer in answers]
    assert answers[0].json()["error"]["request_id"] == ids[0]
    assert answers[1].json()["error"]["request_id"] == ids[1]
    log = (server_root.parent / "server.log").read_text()
    assert "never-logged" not in log
    shown, _, secret = one.partition(".")
    assert secret not in log
    lines = {line["request_id"]: line for line in map(json.loads, log.splitlines()) if "request_id" in line}
    assert [lines[request]["status"] for request in ids] == [400, 429]
    assert {lines[request]["key_id"] for request in ids} == {shown.rpartition("_")[2]}
    assert lines[ids[1]]["code"] in {"rate_limit_second", "rate_limit_minute"}
    assert all(lines[request]["ms"] > 0 for request in ids)


def test_readiness_is_degraded_while_the_root_is_unavailable(server_root: Path, token: str) -> None:
    away = server_root.with_name("away")
    with measured(server_root, "--market-data", str(server_root / "no-such-folder")) as (_, base, port):
        eventually(lambda: port.ready() == (200, "degraded"))
        assert port.fetch("/ready")[1]["components"] == {
            "access_store": "ok",
            "catalogue": "ok",
            "limiter": "ok",
            "market_data": "degraded",
            "snapshots": "ok",
        }
    with measured(server_root) as (_, base, port):
        server_root.rename(away)
        try:
            eventually(lambda: port.ready() == (200, "degraded"))
            eventually(lambda: plain_http.get(f"{base}/v1/health").json()["status"] == "degraded")
            # Other effects of the lost root may be noticed before the catalogue is.
            eventually(lambda: port.value("component_state", component="catalogue") == 1)
            eventually(lambda: port.value("catalogue_age_seconds") > 0.5)
        finally:
            away.rename(server_root)
        eventually(lambda: port.ready() == (200, "ok"))
        assert plain_http.get(f"{base}/v1/me", headers=bearer(token)).status_code == 200


def test_several_workers_are_counted_together_and_a_limiter_that_hangs_takes_them_out_of_service(
    server_root: Path, token: str, redis_server: RedisServer
) -> None:
    variables = {"ALPHA_RESULTS_REDIS": redis_server.url}
    with measured(server_root, "--workers", "2", **variables) as (parent, base, port):
        eventually(lambda: port.ready() == (200, "ok"))
        for _ in range(24):  # a connection each, so that both workers get some
            assert plain_http.get(f"{base}/v1/me", headers=bearer(token)).status_code == 200
        eventually(lambda: port.value("request_seconds_count", endpoint="meta.me", status="2xx") == 24)
        assert port.value("catalogue_alphas") == 1

        with redis_server.hanging():
            eventually(lambda: port.ready() == (503, "unavailable"))
            assert port.fetch("/live")[0] == 200
            # Each worker detects it by itself; the one that answers may be later.
            eventually(
                lambda: plain_http.get(f"{base}/v1/health", timeout=PATIENCE).json()["status"] == "degraded"
            )
            assert plain_http.get(f"{base}/v1/me", headers=bearer(token), timeout=PATIENCE).status_code == 503
            eventually(lambda: 'errors_total{code="upstream_unavailable"}' in port.text())
        eventually(lambda: port.ready() == (200, "ok"))

        # A killed worker's gauges disappear, its counters stay.
        before = port.value("request_seconds_count", endpoint="meta.me")
        worker = workers(parent)[0]
        os.kill(worker, signal.SIGKILL)
        eventually(lambda: worker not in workers(parent) and len(workers(parent)) == 2)
        eventually(lambda: port.ready() == (200, "ok"))
        assert port.value("request_seconds_count", endpoint="meta.me") == before
        assert plain_http.get(f"{base}/v1/me", headers=bearer(token), timeout=PATIENCE).status_code == 200


def test_a_busy_metrics_port_is_refused_before_serving(server_root: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        refused = command("run", "--datasets", str(server_root), "--port", "0", "--metrics-port", port)
    assert refused.returncode == 2
    assert refused.stderr.startswith("error: --metrics-port")
    assert len(refused.stderr.splitlines()) == 1


def test_a_stuck_process_is_distinguishable_from_a_live_one() -> None:
    from serve.observability.metrics import Instruments  # noqa: PLC0415 - loads the library
    from serve.observability.port import SILENCE_SECONDS, MetricsPort  # noqa: PLC0415 - as above

    instruments = Instruments()
    port = MetricsPort("127.0.0.1", 0, instruments.registry)
    try:
        assert (port.ready()[1]["status"], port.live()[0]) == ("starting", 200)
        instruments.set("component_state", ("catalogue",), 2)
        instruments.set("sampled_monotonic_seconds", (), time.monotonic())
        assert (port.ready()[0], port.live()[0]) == (200, 200)
        instruments.set("sampled_monotonic_seconds", (), time.monotonic() - SILENCE_SECONDS - 1)
        assert (port.ready()[1]["status"], port.live()[0]) == ("stuck", 503)
        port.drain()
        assert (port.ready()[1]["status"], port.live()[0]) == ("draining", 200)
    finally:
        port.stop()


def test_no_process_is_stuck_after_a_jump_of_the_wall_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    from serve.observability.metrics import Instruments  # noqa: PLC0415 - loads the library
    from serve.observability.port import MetricsPort  # noqa: PLC0415 - as above

    instruments = Instruments()
    port = MetricsPort("127.0.0.1", 0, instruments.registry)
    try:
        instruments.sample(list)
        an_hour_later = time.time() + 3600
        monkeypatch.setattr(time, "time", lambda: an_hour_later)
        assert (port.live()[0], port.live()[1]["status"]) == (200, "ok")
    finally:
        port.stop()


def test_two_probes_after_a_worker_died_are_both_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from prometheus_client.mmap_dict import MmapedDict  # noqa: PLC0415 - loads the library

    from serve.observability.metrics import worker_registry  # noqa: PLC0415 - as above
    from serve.observability.port import MetricsPort  # noqa: PLC0415 - as above

    for mode in ("livemax", "livesum"):
        MmapedDict(str(tmp_path / f"gauge_{mode}_999999999.db")).close()
    removing, other_ended = threading.Event(), threading.Event()
    remove = os.remove

    def removed_later(path: str) -> None:
        if not removing.is_set():
            removing.set()
            other_ended.wait(1.0)  # unless it waits for this one
        remove(path)

    monkeypatch.setattr(os, "remove", removed_later)
    port = MetricsPort("127.0.0.1", 0, worker_registry(str(tmp_path)))
    try:
        with ThreadPoolExecutor(1) as pool:
            first = pool.submit(port.ready)
            assert removing.wait(PATIENCE)
            second = port.ready()
            other_ended.set()
        assert [answer[1]["status"] for answer in (first.result(), second)] == ["starting", "starting"]
    finally:
        port.stop()
    assert not list(tmp_path.iterdir())


def test_a_damaged_snapshot_is_counted_and_the_node_stays_ready(tmp_path: Path) -> None:
    root = tmp_path / "published"
    published.publish(root, published.full())
    published.publish(root, {"rebalances": published.rebalances()}, alpha_id="Test_other")
    token = token_for(root)
    next(root.glob("alphas/alpha_id=Test_other/*/manifest.json")).unlink()
    with measured(root) as (_, base, port):
        assert (
            plain_http.get(f"{base}/v1/alphas/Test_other/rebalances", headers=bearer(token)).status_code
            == 503
        )
        eventually(lambda: port.value("snapshots_damaged") == 1)
        status, body = port.fetch("/ready")
        assert (status, body["status"]) == (200, "degraded")
        assert body["components"]["snapshots"] == "degraded"  # type: ignore[index]
        assert plain_http.get(f"{base}/v1/health").json()["affected_alphas"] == 1
