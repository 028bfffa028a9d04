"""The server's processes: how they begin, and how they end at a signal.

The first SIGTERM or SIGINT makes the service unready, closes the port after the drain delay and lets what is in flight
finish, for a bounded time; a second one ends everything at once. uvicorn alone does so only for a second SIGINT of a single
process: its supervisor ignores a second signal, and counts a Ctrl-C twice that a terminal sends to a group and a parent
passes on.
"""

from __future__ import annotations

import contextlib
import errno
import gc
import multiprocessing
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from multiprocessing import connection
from typing import TYPE_CHECKING, Any, Final

import structlog
import uvicorn
from uvicorn.supervisors import Multiprocess

from schemas.errors import SettingsError
from schemas.exit_codes import ExitCode

if TYPE_CHECKING:
    from types import FrameType

    from serve.http.request import Application

_log = structlog.get_logger("serve.server")

SAME_SECONDS: Final = 0.5
"""A terminal signals every process of a group, and some pass the signal on: one that comes this soon is the same."""
CLOSING_SECONDS: Final = 15.0
"""How long what is open may take to close after the last request."""
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)

Notify = Callable[[], None]


class _Ending:
    """Tells the first request to end from a second one, and when the drain delay is over.

    Parameters
    ----------
    delay_seconds
        How long the port stays open after a SIGTERM; whoever sits at a terminal does not wait.
    """

    def __init__(self, delay_seconds: float) -> None:
        self._delay_seconds = delay_seconds
        self._first: float | None = None
        self.signal: int | None = None
        """The first one; None before it."""
        self._close_at = float("inf")

    def begin(self, number: int) -> bool:
        """Take note of a signal; return whether it is the first."""
        if self.signal is not None:
            return False
        self.signal = number
        self._close_at = time.monotonic() + (self._delay_seconds if number == signal.SIGTERM else 0.0)
        return True

    def is_second(self) -> bool:
        """Whether a signal is a second one, and not the first one passed on by a parent."""
        now = time.monotonic()
        if self._first is None:
            self._first = now
        return now - self._first > SAME_SECONDS

    @property
    def due(self) -> bool:
        """Whether the port is to be closed."""
        return time.monotonic() >= self._close_at


class Server(uvicorn.Server):
    """One serving process.

    Parameters
    ----------
    config
        Of the server.
    draining
        Called when no more connections are wanted.
    delay_seconds
        How long the port stays open after a SIGTERM; whoever sits at a terminal does not wait.
    """

    def __init__(self, config: uvicorn.Config, draining: Notify, delay_seconds: float) -> None:
        super().__init__(config)
        self._draining, self._ending = draining, _Ending(delay_seconds)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to end at the first signal; at the second one, do so."""
        del frame
        if self._ending.is_second():
            _end_immediately(sig)
        elif self._ending.begin(sig):
            self._draining()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Take connections, and say where."""
        await super().startup(sockets)
        if self.started:
            _log.info("listening", addresses=_addresses(sockets or []))

    async def on_tick(self, counter: int) -> bool:
        """Whether to end; the delay over, what uvicorn does at a signal is done."""
        if self._ending.due and self._ending.signal is not None and not self.should_exit:
            super().handle_exit(self._ending.signal, None)
        return await super().on_tick(counter)


class Supervisor(Multiprocess):
    """Several serving processes under a parent that replaces those that end by themselves.

    Parameters
    ----------
    config, sockets
        Of the server.
    draining
        Called when no more connections are wanted.
    delay_seconds
        How long the port stays open after a SIGTERM; whoever sits at a terminal does not wait.
    """

    def __init__(
        self, config: uvicorn.Config, sockets: list[socket.socket], draining: Notify, delay_seconds: float
    ) -> None:
        super().__init__(config, sockets)
        self._draining, self._ending = draining, _Ending(delay_seconds)
        for number in _SIGNALS:
            signal.signal(number, self._asked)

    def _asked(self, number: int, _: FrameType | None) -> None:
        if self._ending.is_second():
            for process in self.processes:
                process.process.kill()
            _end_immediately(number)
        elif self._ending.begin(number):
            self._draining()
            self.signal_queue.append(number)

    def handle_signals(self) -> None:
        """Handle what arrived, once the delay is over."""
        if self._ending.signal is None or self._ending.due:
            super().handle_signals()

    def keep_subprocess_alive(self) -> None:
        """Replace processes that ended, and say of each how it did."""
        before = [(worker, worker.process.is_alive()) for worker in self.processes]
        super().keep_subprocess_alive()
        for (worker, was_alive), now in zip(before, self.processes, strict=False):
            code = worker.exitcode
            if code is None or (worker is now and not self.should_exit.is_set()):
                continue
            _log.error(
                "worker_ended",
                pid=worker.pid,
                exit_code=code if code >= 0 else None,
                signal=_signal_name(-code) if code < 0 else None,
                # One that was alive when it was looked at gave no sign of life, and was ended by this process.
                silent=was_alive,
                restarted_as=None if worker is now else now.pid,
            )

    def init_processes(self) -> None:
        """Start the workers; Ctrl-C is for this process, which ends them, also while they are loading."""
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # processes that are started now inherit it
        try:
            super().init_processes()
        finally:
            signal.signal(signal.SIGINT, before)

    def terminate_all(self) -> None:
        """Ask every process to end, and close the port, which this process holds open as well."""
        super().terminate_all()
        for one in self.sockets:
            one.close()


def bind(host: str, port: int) -> list[socket.socket]:
    """Return sockets bound to every address of a host, which take no connection yet.

    Raises
    ------
    SettingsError
        When the host has no address here, or the port is not free.
    """
    bound: list[socket.socket] = []
    try:
        infos = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, kind, protocol, _, address in dict.fromkeys(infos):
            one = socket.socket(family, kind, protocol)
            bound.append(one)
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)  # the other family has its own
            one.bind(address)
            one.set_inheritable(True)
    except OSError as error:
        for one in bound:
            one.close()
        if error.errno == errno.EADDRINUSE:
            fix = "another process listens there: end it, or give another --port"
        elif error.errno == errno.EACCES:
            fix = "this user may not listen there: give a --port above 1023"
        else:
            fix = f"{error.strerror or error}: give a --host of this machine"
        raise SettingsError(f"--host {host} --port {port}: {fix}") from error
    return bound


def serve_alone(
    application: Application,
    options: dict[str, Any],
    sockets: list[socket.socket],
    draining: Notify,
    delay_seconds: float,
) -> None:
    """Serve from this process until a signal; exit with the server's own code when it could not begin."""
    server = Server(uvicorn.Config(application, **options), draining, delay_seconds)
    with contextlib.suppress(KeyboardInterrupt):  # SIGINT, raised again after everything is closed
        server.run(sockets)
    if not server.started:
        sys.exit(ExitCode.PROGRAM_FAILED)


def serve_with_workers(
    factory: str,
    options: dict[str, Any],
    sockets: list[socket.socket],
    draining: Notify,
    delay_seconds: float,
) -> None:
    """Serve from several processes, each of which makes its application by calling what `factory` names."""
    _log.info("starting_workers", workers=options["workers"], addresses=_addresses(sockets))
    config = uvicorn.Config(factory, factory=True, **options)
    Supervisor(config, sockets, draining, delay_seconds).run()


def end_with_parent() -> None:
    """Have this worker end as at a SIGTERM once its parent is no more: nobody else would end it, and free its port."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_after, args=(parent.sentinel,), name="parent", daemon=True).start()


def _end_after(parent: int) -> None:
    connection.wait([parent])
    _log.error("parent_ended")
    os.kill(os.getpid(), signal.SIGTERM)


def freeze_heap() -> None:
    """Have garbage collection leave out what a process holds once everything is open, most of it for good.

    A full collection stops every answer for 50 ms, and for longer the larger the catalogue is. :func:`closing` takes it back.
    """
    gc.freeze()


@contextlib.contextmanager
def closing() -> Iterator[None]:
    """End this process by force if the body takes too long: a thread that hangs must not keep it for ever."""
    gc.unfreeze()  # else extension modules report as leaked what is still there at the end of the process
    timer = threading.Timer(CLOSING_SECONDS, _give_up)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _addresses(sockets: list[socket.socket]) -> list[str]:
    """Return where some sockets are reached, with the port that was taken where any was wanted."""
    addresses = []
    for one in sockets:
        host, port, *_ = one.getsockname()
        addresses.append(f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}")
    return addresses


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _give_up() -> None:
    _log.error("closing_took_too_long", seconds=CLOSING_SECONDS)
    _end_immediately(signal.SIGKILL)


def _end_immediately(number: int) -> None:
    """End this process by a signal, as those who sent it expect, without closing anything."""
    with contextlib.suppress(
        ValueError, OSError
    ):  # no handler can be set off the main thread, nor one for SIGKILL
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
