"""The metrics port: /metrics, /ready and /live."""

from __future__ import annotations

import json
import socket
import sys
import threading
import time
from collections.abc import Iterable
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final
from wsgiref.simple_server import WSGIRequestHandler, make_server

import structlog
from prometheus_client import CollectorRegistry, make_wsgi_app
from prometheus_client.exposition import ThreadingWSGIServer

from schemas.errors import SettingsError
from serve.observability.health import REQUIRED_COMPONENTS, State
from serve.observability.metrics import NAMESPACE

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIEnvironment

_log = structlog.get_logger("serve.observability")

SILENCE_SECONDS: Final = 30.0
"""Seconds without a sample after which a process counts as stuck; it samples itself every second."""
_REQUEST_SECONDS: Final = 10.0
"""Seconds after which a silent caller is disconnected."""


class MetricsPort:
    """Answers on a separate thread, so that it can report a stuck event loop.

    Parameters
    ----------
    host, port
        Address to listen on; port 0 takes a free port.
    registry
        Metrics of one process, or combined from several.

    Raises
    ------
    SettingsError
        When it cannot listen on this address.
    """

    def __init__(self, host: str, port: int, registry: CollectorRegistry) -> None:
        self._registry = registry
        self._metrics = make_wsgi_app(registry)
        self._handlers = {"/ready": self.ready, "/live": self.live}
        self._draining = False
        try:
            self._server = make_server(
                host, port, self._answer, _ServerOnIpv6 if ":" in host else _Server, _Handler
            )
        except OSError as error:
            raise SettingsError(
                f"--metrics-port or ALPHA_RESULTS_METRICS_PORT: nothing can listen on {host} port {port} ({error.strerror or error})"
            ) from error
        self._thread = threading.Thread(target=self._server.serve_forever, name="metrics", daemon=True)

    def start(self) -> None:
        """Start answering."""
        self._thread.start()
        host, port = self._server.server_address[:2]
        _log.info("metrics_served", host=host, port=port)

    def stop(self) -> None:
        """Stop answering and close the port."""
        if self._thread.is_alive():
            self._server.shutdown()
        self._server.server_close()

    def drain(self) -> None:
        """Report from now on that the service is draining."""
        self._draining = True

    def ready(self) -> tuple[int, dict[str, Any]]:
        """Return HTTP status and body: whether calls with a key are answered, and the state of each component."""
        silence, states = self._sampled()
        if self._draining:
            status = "draining"
        elif not states or silence > SILENCE_SECONDS:
            status = "starting" if not states else "stuck"
        elif any(states.get(name) is State.DOWN for name in REQUIRED_COMPONENTS):
            status = "unavailable"
        else:
            status = "ok" if all(state is State.OK for state in states.values()) else "degraded"
        body = {
            "status": status,
            "components": {name: state.name.lower() for name, state in sorted(states.items())},
        }
        return (200 if status in {"ok", "degraded"} else 503), body

    def live(self) -> tuple[int, dict[str, Any]]:
        """Return HTTP status and body: whether every serving process still responds, as starting and ending ones do."""
        silence, _ = self._sampled()
        stuck = silence > SILENCE_SECONDS and not self._draining
        return (503 if stuck else 200), {
            "status": "stuck" if stuck else "ok",
            "silent_seconds": round(silence, 3),
        }

    def _sampled(self) -> tuple[float, dict[str, State]]:
        """Return how many seconds ago the process furthest behind was sampled, and the state of every component."""
        states = {}
        # No process has been sampled while the service starts. The processes of a machine share the monotonic clock.
        now = sampled = time.monotonic()
        for metric in self._registry.collect():
            for sample in metric.samples:
                if sample.name == f"{NAMESPACE}_component_state":
                    states[sample.labels["component"]] = State(int(sample.value))
                elif sample.name == f"{NAMESPACE}_sampled_monotonic_seconds":
                    sampled = sample.value
        return max(0.0, now - sampled), states

    def _answer(self, environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        path, method = environ["PATH_INFO"], environ["REQUEST_METHOD"]
        if path == "/metrics":
            page: Iterable[bytes] = self._metrics(environ, start)
            return page
        if path not in self._handlers:
            status, body = 404, {"status": "not_found", "paths": ["/metrics", *self._handlers]}
        elif method != "GET":
            status, body = 405, {"status": "method_not_allowed"}
        else:
            status, body = self._handlers[path]()
        start(
            f"{status} {HTTPStatus(status).phrase}",
            [("Content-Type", "application/json"), ("Cache-Control", "no-store")],
        )
        return [json.dumps(body).encode() + b"\n"]


class _Handler(WSGIRequestHandler):
    timeout = _REQUEST_SECONDS

    def log_message(self, *_: Any) -> None:
        """Do not log probes."""


class _Server(ThreadingWSGIServer):
    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002 - the library's signature
        """Log an error of a connection; a caller that disconnected is not one."""
        error = sys.exc_info()[1]
        if isinstance(error, OSError):
            _log.debug("metrics_connection_lost", reason=type(error).__name__)
        else:
            _log.exception("metrics_request_failed")


class _ServerOnIpv6(_Server):
    address_family = socket.AF_INET6
