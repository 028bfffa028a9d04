"""Processes of builds that are forked from one that has everything loaded: :mod:`pipeline.batch.fork_server`."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import threading
from typing import IO, Final, Self

from pipeline.batch.fork_server import KILL, NUMBER, START

_END_SECONDS: Final = 2.0


class ForkServer:
    """Starts the process that forks, when it is first needed, and once more when it died. Safe to share between threads.

    Parameters
    ----------
    environment
        Of the process, and so of the builds.
    """

    def __init__(self, environment: dict[str, str]) -> None:
        self._environment = environment
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
        self._unable = not hasattr(os, "fork")

    def start(self, complaints: IO[bytes]) -> ForkedProcess | None:
        """Fork a process that builds what it is asked on its standard input.

        Parameters
        ----------
        complaints
            What it writes to its standard error.

        Returns
        -------
        ForkedProcess or None
            None where nothing can be forked, or the server died of it: a new interpreter is to be started then.
        """
        if self._unable:
            return None
        request, ours, status = os.pipe(), os.pipe(), os.pipe()
        theirs = [request[0], ours[1], complaints.fileno(), status[1]]
        asked = False
        with contextlib.suppress(OSError), self._lock:
            socket.send_fds(self._serving(), [START], theirs)
            asked = True
        for file in (request[0], ours[1], status[1]):
            os.close(file)
        answer = os.read(status[0], NUMBER.size) if asked else b""
        if answer and (pid := NUMBER.unpack(answer)[0]):
            return ForkedProcess(self, pid, request[1], ours[0], status[0])
        for file in (request[1], ours[0], status[0]):
            os.close(file)
        self._unable = bool(answer)
        self.close()
        return None

    def kill(self, pid: int) -> None:
        """Kill a build, if it has not ended."""
        with self._lock, contextlib.suppress(OSError):
            if self._socket is not None:
                self._socket.send(KILL + str(pid).encode())

    def close(self) -> None:
        """End the server; builds at work go on."""
        with self._lock:
            if self._socket is not None:
                self._socket.close()
            if self._process is not None:
                try:
                    self._process.wait(_END_SECONDS)  # what it was told to kill it kills before
                except subprocess.TimeoutExpired:
                    self._process.kill()
                    self._process.wait()
            self._socket = self._process = None

    def _serving(self) -> socket.socket:
        if self._process is not None and self._process.poll() is not None:
            assert self._socket is not None
            self._socket.close()
            self._socket = None
        if self._socket is None:
            self._socket, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            with there:
                self._process = subprocess.Popen(
                    # In the caller's folder, as every build.
                    [sys.executable, "-P", "-m", "pipeline.batch.fork_server"],
                    # Its arithmetic has threads of its own otherwise, which a process that forks must not have.
                    env=self._environment | {"OPENBLAS_NUM_THREADS": "1"},
                    stdin=there.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,  # Ctrl-C is for the parent
                )
        return self._socket


class ForkedProcess:
    """A process of a build, with what :class:`subprocess.Popen` offers of it.

    Attributes
    ----------
    stdin, stdout
        Its request and its answer.
    returncode
        None until :meth:`wait` returned; 1 where nobody knows it, because the server died first.
    """

    def __init__(self, server: ForkServer, pid: int, stdin: int, stdout: int, status: int) -> None:
        self._server = server
        self._pid = pid
        self._status = os.fdopen(status, "rb", buffering=0)
        self.stdin: IO[bytes] = os.fdopen(stdin, "wb")
        self.stdout: IO[bytes] = os.fdopen(stdout, "rb")
        self.returncode: int | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stdout.close()
        with contextlib.suppress(BrokenPipeError):
            self.stdin.close()
        self.wait()
        self._status.close()

    def wait(self) -> int:
        """Return its return code once it has ended."""
        if self.returncode is None:
            status = self._status.read(NUMBER.size) or b""
            self.returncode = NUMBER.unpack(status)[0] if len(status) == NUMBER.size else 1
        return self.returncode

    def kill(self) -> None:
        """End it at once."""
        self._server.kill(self._pid)
