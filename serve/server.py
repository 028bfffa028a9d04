"""The server's processes: start, supervision and shutdown.

The first SIGTERM or SIGINT makes the service unready, closes the port after the drain delay and lets pending answers finish, for a
bounded time; a second one ends the processes at once. uvicorn does so only for a second SIGINT of a single process: its supervisor
ignores a second signal, and counts a Ctrl-C twice if a terminal sends it to the process group and a parent passes it on.
"""

from __future__ import annotations

import contextlib
import errno
import gc
import multiprocessing
import os
import pickle
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from multiprocessing import connection
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

import structlog
import uvicorn
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors.multiprocess import Multiprocess, Process

from schemas.errors import SettingsError
from schemas.exit_codes import ExitCode

if TYPE_CHECKING:
    from types import FrameType

    from serve.http.request import Application

_log = structlog.get_logger("serve.server")

SAME_SECONDS: Final = 0.5
"""Seconds within which a repeated signal counts as one: a terminal signals every process of a group, and parents pass it on."""
CLOSING_SECONDS: Final = 15.0
"""Seconds to close connections and stores after the last request."""
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
_CANNOT_START: Final = {
    STARTUP_FAILURE: ExitCode.PROGRAM_FAILED,
    ExitCode.UNUSABLE: ExitCode.UNUSABLE,
    ExitCode.STORE_AWAY: ExitCode.STORE_AWAY,
}
"""Exit code of a worker that would fail again -> that of the service."""


class Shutdown:
    """The shutdown of the service: its first signal, and when the port is to be closed.

    Parameters
    ----------
    delay_seconds
        Seconds that the port stays open after a SIGTERM; after a SIGINT it closes at once.
    draining
        Called when draining starts.
    """

    def __init__(self, delay_seconds: float, draining: Callable[[], None]) -> None:
        self._delay_seconds, self._draining = delay_seconds, draining
        self.signal: int | None = None
        """The first signal; None before it."""
        self._received_at = float("inf")

    def receive(self, number: int) -> bool:
        """Start draining at the first signal; return whether this is a second one, not the first passed on by a parent."""
        now = time.monotonic()
        if self.signal is None:
            self.signal, self._received_at = number, now
            self._draining()
        return now - self._received_at > SAME_SECONDS

    @property
    def due(self) -> bool:
        """Whether the port is to be closed."""
        delay = self._delay_seconds if self.signal == signal.SIGTERM else 0.0
        return time.monotonic() >= self._received_at + delay


class Server(uvicorn.Server):
    """One serving process.

    Parameters
    ----------
    config
        Configuration of uvicorn.
    shutdown
        Receives the signals.
    """

    def __init__(self, config: uvicorn.Config, shutdown: Shutdown) -> None:
        super().__init__(config)
        self._shutdown = shutdown

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Start the shutdown at the first signal; exit at the second."""
        del frame
        if self._shutdown.receive(sig):
            end_immediately(sig)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept connections, and log the addresses."""
        await super().startup(sockets)
        if self.started:
            _log.info("listening", addresses=_addresses(sockets or []))

    async def on_tick(self, counter: int) -> bool:
        """Return whether to stop; after the drain delay, handle the signal as uvicorn does."""
        if self._shutdown.due and self._shutdown.signal is not None and not self.should_exit:
            super().handle_exit(self._shutdown.signal, None)
        return await super().on_tick(counter)


class Supervisor(Multiprocess):
    """Several serving processes under a parent that replaces those that exit by themselves.

    Parameters
    ----------
    config, sockets
        Configuration of uvicorn, and the bound sockets.
    shutdown
        Receives the signals.
    """

    def __init__(self, config: uvicorn.Config, sockets: list[socket.socket], shutdown: Shutdown) -> None:
        super().__init__(config, sockets)
        self._shutdown = shutdown
        self._answered_at: WeakKeyDictionary[Process, float] = WeakKeyDictionary()
        """Worker -> monotonic time of its last answer."""
        self._has_served = False
        """Whether any worker has started."""
        self.failure = ExitCode.PROGRAM_FAILED
        """Exit code of the service if its workers could not start."""
        for number in _SIGNALS:
            signal.signal(number, self._on_signal)

    def _on_signal(self, number: int, _: FrameType | None) -> None:
        is_first = self._shutdown.signal is None
        if self._shutdown.receive(number):
            for process in self.processes:
                process.process.kill()
            end_immediately(number)
        if is_first:
            self.signal_queue.append(number)

    def handle_signals(self) -> None:
        """Handle received signals after the drain delay."""
        if self._shutdown.signal is None or self._shutdown.due:
            super().handle_signals()

    def keep_subprocess_alive(self) -> None:
        """Replace workers that ended or were silent for too long, and log how each ended.

        uvicorn's own method waits for the answer of one worker after another. A worker that dies before it answers, or
        is slow to start, would delay signals and the replacement of the others by as long as a worker may be silent.
        """
        for place, worker in enumerate(self.processes):
            if self.should_exit.is_set():
                return
            silent = worker.exitcode is None
            if silent and self._has_answered(worker):
                continue
            worker.kill()
            worker.join()
            code = worker.exitcode or 0
            replacement = None
            if code in _CANNOT_START and not self._has_served:  # otherwise a store may be away for a while
                self.failure = _CANNOT_START[code]
                self.should_exit.set()
            else:
                replacement = Process(self.config, self.sockets)
                replacement.start()
                self.processes[place] = replacement
            _log.error(
                "worker_ended",
                pid=worker.pid,
                exit_code=code if code >= 0 else None,
                signal=_signal_name(-code) if code < 0 else None,
                silent=silent,
                restarted_as=None if replacement is None else replacement.pid,
            )

    def _has_answered(self, worker: Process) -> bool:
        """Ping a worker without waiting; return whether it answered recently."""
        now = time.monotonic()
        answered_at = self._answered_at.setdefault(worker, now)
        with contextlib.suppress(OSError, EOFError, pickle.UnpicklingError):
            while worker.parent_conn.poll():
                self._has_served = worker.parent_conn.recv() or self._has_served
                answered_at = self._answered_at[worker] = now
            worker.parent_conn.send(b"ping")
        return now - answered_at < self.config.timeout_worker_healthcheck

    def init_processes(self) -> None:
        """Start the workers. They ignore Ctrl-C while they load, and later by :func:`end_with_parent`: this process ends them."""
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # inherited by the processes that start now
        try:
            super().init_processes()
        finally:
            signal.signal(signal.SIGINT, before)

    def terminate_all(self) -> None:
        """Signal every process to end, and close this process's copy of the port."""
        super().terminate_all()
        for listener in self.sockets:
            listener.close()


def bind(host: str, port: int) -> list[socket.socket]:
    """Return sockets bound to every address of a host, not listening yet.

    Raises
    ------
    SettingsError
        When the host has no address here, or the port is not free.
    """
    bound: list[socket.socket] = []
    try:
        infos = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, kind, protocol, _, address in dict.fromkeys(infos):
            listener = socket.socket(family, kind, protocol)
            bound.append(listener)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)  # IPv4 has a separate socket
            listener.bind(address)
            listener.set_inheritable(True)
    except UnicodeError as error:  # no name has an empty label, or one of more than 63 characters
        raise SettingsError(
            f"--host {host} --port {port}: that is not a host name: give a --host or ALPHA_RESULTS_HOST of this machine"
        ) from error
    except OSError as error:
        for listener in bound:
            listener.close()
        if error.errno == errno.EADDRINUSE:
            fix = "another process listens there: end it, or give another --port or ALPHA_RESULTS_PORT"
        elif error.errno == errno.EACCES:
            fix = "this user may not listen there: give a --port or ALPHA_RESULTS_PORT above 1023"
        else:
            fix = f"{error.strerror or error}: give a --host or ALPHA_RESULTS_HOST of this machine"
        raise SettingsError(f"--host {host} --port {port}: {fix}") from error
    return bound


def serve_alone(
    application: Application, options: dict[str, Any], sockets: list[socket.socket], shutdown: Shutdown
) -> None:
    """Serve from this process until a signal; exit if it could not start."""
    server = Server(uvicorn.Config(application, **options), shutdown)
    # SIGINT, raised again after the shutdown; and uvicorn's own exit code if it could not start.
    with contextlib.suppress(KeyboardInterrupt, SystemExit):
        server.run(sockets)
    if not server.started:
        sys.exit(ExitCode.PROGRAM_FAILED)


def serve_with_workers(
    factory: str, options: dict[str, Any], sockets: list[socket.socket], shutdown: Shutdown
) -> int:
    """Serve from several processes, each of which creates its application by the function that `factory` names.

    Return the signal that ended them; exit if they could not start.
    """
    _log.info("starting_workers", workers=options["workers"], addresses=_addresses(sockets))
    config = uvicorn.Config(factory, factory=True, **options)
    supervisor = Supervisor(config, sockets, shutdown)
    supervisor.run()
    if shutdown.signal is None:
        sys.exit(supervisor.failure)
    return shutdown.signal


def end_with_parent() -> None:
    """End this worker only when its parent sends SIGTERM, or after the parent's death, because an orphan would hold the port.

    A terminal sends Ctrl-C to the workers too. A worker that ended on Ctrl-C, not on its parent's SIGTERM, would finalise its
    interpreter while daemon threads still hold objects of the engine, which the engine reports as leaks.
    """
    parent = multiprocessing.parent_process()
    if parent is not None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        threading.Thread(target=_end_after, args=(parent.sentinel,), name="parent", daemon=True).start()


def _end_after(parent: int) -> None:
    connection.wait([parent])
    _log.error("parent_ended")
    os.kill(os.getpid(), signal.SIGTERM)


@contextlib.contextmanager
def closing() -> Iterator[None]:
    """Kill this process if the body takes too long, for instance because a thread hangs."""
    # The heap was frozen after the start: most objects are permanent, and a full collection pauses all answers for 50 ms.
    gc.unfreeze()  # otherwise extension modules report leaks at exit
    timer = threading.Timer(CLOSING_SECONDS, _give_up)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _addresses(sockets: list[socket.socket]) -> list[str]:
    """Return the addresses of some sockets, with their actual ports."""
    addresses = []
    for listener in sockets:
        host, port, *_ = listener.getsockname()
        addresses.append(f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}")
    return addresses


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _give_up() -> None:
    _log.error("closing_took_too_long", seconds=CLOSING_SECONDS)
    end_immediately(signal.SIGKILL)


def end_immediately(number: int) -> None:
    """End this process by a signal, as its sender expects, without closing stores."""
    with contextlib.suppress(
        ValueError, OSError
    ):  # handlers can only be set in the main thread, and not for SIGKILL
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
