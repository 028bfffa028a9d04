"""The port of its own on which /metrics, /ready and /live are answered."""

from __future__ import annotations

import contextlib
import io
import json
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable
from socketserver import ThreadingMixIn
from typing import TYPE_CHECKING, Any, Final
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import structlog
from prometheus_client import CollectorRegistry, make_wsgi_app

from schemas.errors import SettingsError
from serve.observability.health import REQUIRED_COMPONENTS, State
from serve.observability.prometheus import COMPONENT, NAMESPACE, SAMPLED

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIEnvironment

_log = structlog.get_logger("serve.observability")

SILENCE_SECONDS: Final = 30.0
"""A process that has not measured itself for this long is stuck: it does so every second."""
_REQUEST_SECONDS: Final = 10.0
"""How long a caller may be silent."""
_CONNECTION_SECONDS: Final = 30.0
"""How long a connection may last: one answer is all that it gets."""
_CONNECTIONS: Final = 32
"""Connections at a time, each of which has a thread; one more is closed."""
_REASONS: Final = {200: "OK", 404: "Not Found", 405: "Method Not Allowed", 503: "Service Unavailable"}


class Exporter:
    """Answers on a thread of its own, so that a process whose event loop is stuck can be distinguished from one that lives.

    Parameters
    ----------
    host, port
        Where it listens; port 0 takes a free one.
    registry
        What is measured, of one process or put together of several.

    Raises
    ------
    SettingsError
        When it cannot listen there.
    """

    def __init__(self, host: str, port: int, registry: CollectorRegistry) -> None:
        self._registry = registry
        self._metrics = make_wsgi_app(registry)
        self._answers: dict[str, Callable[[], tuple[int, dict[str, Any]]]] = {
            "/ready": self.ready,
            "/live": self.live,
        }
        self._draining = False
        try:
            self._server = make_server(host, port, self._answer, _server_class(host), _Handler)
        except OSError as error:
            raise SettingsError(
                f"--metrics-port: nothing can listen on {host} port {port} ({error.strerror or error})"
            ) from error
        self._thread = threading.Thread(target=self._server.serve_forever, name="metrics", daemon=True)

    @property
    def port(self) -> int:
        """The port that was taken."""
        return self._server.server_port

    def start(self) -> None:
        """Begin to answer."""
        self._thread.start()
        _log.info("metrics_served", host=self._server.server_address[0], port=self.port)

    def stop(self) -> None:
        """Stop answering and close the port."""
        if self._thread.is_alive():
            self._server.shutdown()
        self._server.server_close()

    def drain(self) -> None:
        """Tell from now on that the service takes no more connections."""
        self._draining = True

    def ready(self) -> tuple[int, dict[str, Any]]:
        """Whether calls with a key are answered, and what is amiss; as status and body."""
        values = self._values()
        states = {name: State(int(value)) for name, value in values["components"].items()}
        if self._draining:
            status = "draining"
        elif not states or self._silence(values) > SILENCE_SECONDS:
            status = "starting" if not states else "stuck"
        elif any(states.get(name) is State.DOWN for name in REQUIRED_COMPONENTS):
            status = "unavailable"
        else:
            status = "ok" if all(state is State.OK for state in states.values()) else "degraded"
        body = {
            "status": status,
            "components": {name: state.name.lower() for name, state in sorted(states.items())},
            "catalogue": {
                "alphas": _whole(values[f"{NAMESPACE}_catalogue_alphas"]),
                "unreadable": _whole(values[f"{NAMESPACE}_catalogue_unreadable"]),
                "damaged": _whole(values[f"{NAMESPACE}_snapshots_damaged"]),
                "age_seconds": values[f"{NAMESPACE}_catalogue_age_seconds"],
            },
        }
        return (200 if status in {"ok", "degraded"} else 503), body

    def live(self) -> tuple[int, dict[str, Any]]:
        """Whether every serving process still turns; one that starts or ends does."""
        silence = self._silence(self._values())
        stuck = silence > SILENCE_SECONDS and not self._draining
        return (503 if stuck else 200), {
            "status": "stuck" if stuck else "ok",
            "silent_seconds": round(silence, 3),
        }

    @staticmethod
    def _silence(values: dict[str, Any]) -> float:
        sampled = values[SAMPLED]
        # No process has measured itself while the service starts.
        return max(0.0, time.time() - sampled) if sampled else 0.0

    def _values(self) -> dict[str, Any]:
        names = ("catalogue_alphas", "catalogue_unreadable", "catalogue_age_seconds", "snapshots_damaged")
        found: dict[str, Any] = dict.fromkeys((SAMPLED, *(f"{NAMESPACE}_{name}" for name in names)))
        found["components"] = {}
        for metric in self._registry.collect():
            for sample in metric.samples:
                if sample.name == COMPONENT:
                    found["components"][sample.labels["component"]] = sample.value
                elif sample.name in found and sample.value != float("inf"):
                    found[sample.name] = sample.value
        return found

    def _answer(self, environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        path, method = environ["PATH_INFO"], environ["REQUEST_METHOD"]
        if path == "/metrics":
            found: Iterable[bytes] = self._metrics(environ, start)
            return found
        if path not in self._answers:
            status, body = 404, {"status": "not_found", "paths": ["/metrics", *self._answers]}
        elif method != "GET":
            status, body = 405, {"status": "method_not_allowed"}
        else:
            status, body = self._answers[path]()
        start(
            f"{status} {_REASONS[status]}",
            [("Content-Type", "application/json"), ("Cache-Control", "no-store")],
        )
        return [json.dumps(body).encode() + b"\n"]


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)


class _ToLog(io.TextIOBase):
    """Where the library writes what went wrong: lines of the log, like all others."""

    def __init__(self) -> None:
        self._written: list[str] = []

    def write(self, text: str) -> int:
        """Take a part."""
        self._written.append(text)
        return len(text)

    def flush(self) -> None:
        """Write what was taken as one line."""
        if self._written:
            _log.error("metrics_request_failed", exception="".join(self._written))
        self._written.clear()


class _Handler(WSGIRequestHandler):
    timeout = _REQUEST_SECONDS
    """Of a caller that says nothing more."""

    def log_message(self, *_: Any) -> None:
        """Log nothing: a probe every few seconds is not an event."""

    def get_stderr(self) -> Any:
        """Return where the library writes what went wrong."""
        return _ToLog()


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True

    def __init__(self, *arguments: Any, **named: Any) -> None:
        self._begun: dict[Any, float] = {}
        super().__init__(*arguments, **named)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer a connection on a thread of its own, unless there are too many."""
        if len(self._begun) >= _CONNECTIONS:
            self.shutdown_request(request)
            return
        self._begun[request] = time.monotonic()
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Close a connection."""
        self._begun.pop(request, None)
        super().shutdown_request(request)

    def service_actions(self) -> None:
        """Cut connections that take too long, however busily they do; called twice a second."""
        now = time.monotonic()
        for request, begun in list(self._begun.items()):
            if now - begun > _CONNECTION_SECONDS:
                with contextlib.suppress(OSError):
                    request.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002 - the library's signature
        """Log an error of a connection; a caller that disconnected or sent nothing is not one."""
        error = sys.exc_info()[1]
        if isinstance(error, OSError):
            _log.debug("metrics_connection_lost", reason=type(error).__name__)
        else:
            _log.exception("metrics_request_failed")


class _ServerOnIpv6(_Server):
    address_family = socket.AF_INET6


def _server_class(host: str) -> type[WSGIServer]:
    return _ServerOnIpv6 if ":" in host else _Server
