"""``python -m pipeline.batch.fork_server``: loads what a build needs once, then forks a process for each build.

Starting an interpreter with its libraries costs several times what a small run takes to build. This process only
imports: no engine's threads ever run in it, and it forks nothing when it finds any but those that sit idle by design.

The standard input is a socket of the parent. A message of it is ``start``, with four descriptors: the build's standard
input, output and error, and a pipe for its status, on which its process id is answered (0 when nothing can be forked
here) and, once it has ended, its return code, as :class:`subprocess.Popen` has it; or ``kill`` and a process id. When
the parent ends, so does this process; the builds end with the parent by themselves.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import select
import signal
import socket
import struct
import sys
import traceback
import warnings
from pathlib import Path
from typing import Final, NoReturn

from schemas.allocator import prepare_building

START: Final = b"start"
KILL: Final = b"kill "
NUMBER: Final = struct.Struct("<q")
"""A process id, or a return code."""
_FILES: Final = 4
_LOADED: Final = (
    "pipeline.batch.worker",
    "pipeline.snapshot_builder",
    "datasets.storage.local",
    "polars._utils.parquet",
)
"""What a build loads, sooner or later."""
_IDLE: Final = frozenset({"jemalloc_bg_thd", "polars-ooc-clea"})
"""Threads that importing the libraries starts: the allocator's, which it restores after a fork, and one that waits to
remove spilled files, of which a build has none."""


def main() -> None:
    """Serve the parent until it ends."""
    parent = socket.socket(fileno=os.dup(0))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    prepare_building()  # before a library is loaded
    for module in _LOADED:
        importlib.import_module(module)
    gc.collect()
    gc.freeze()  # so that children share these pages
    reading, woken = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(woken, False)
    signal.set_wakeup_fd(woken)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    able = not _strange_threads()
    running: dict[int, int] = {}
    while True:
        ready, _, _ = select.select([parent.fileno(), reading], [], [])
        if reading in ready:
            os.read(reading, 4096)
            _reap(running)
        if parent.fileno() in ready:
            message, files, _, _ = socket.recv_fds(parent, 64, _FILES)
            if not message:
                return
            if message == START:
                _start(files, running, able=able)
            elif (
                pid := int(message.removeprefix(KILL))
            ) in running:  # not reaped, so that the id is still its own
                os.kill(pid, signal.SIGKILL)


def _strange_threads() -> list[str]:
    """Name the threads beside this one that nobody knows to survive a fork; of no system but Linux anything is known."""
    tasks = Path("/proc/self/task")
    if not tasks.is_dir():
        return ["unknown"]
    names = [(task / "comm").read_text().strip() for task in tasks.iterdir() if int(task.name) != os.getpid()]
    return [name for name in names if name not in _IDLE]


def _start(files: list[int], running: dict[int, int], *, able: bool) -> None:
    *standard, status = files
    pid = -1
    if able:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", DeprecationWarning
            )  # of threads: those there are survive it, see above
            pid = os.fork()
    if pid == 0:
        _build(standard, [status, *running.values()])
    for file in standard:
        os.close(file)
    with contextlib.suppress(BrokenPipeError):  # the parent ends
        os.write(status, NUMBER.pack(max(pid, 0)))
    if able:
        running[pid] = status
    else:
        os.close(status)


def _build(standard: list[int], others: list[int]) -> NoReturn:
    """Be the process of a build; what ends it otherwise than its own end is reported as an interpreter reports it."""
    code = 1
    try:
        os.setsid()  # Ctrl-C is for the parent, which lets builds at work finish
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for place, file in enumerate(standard):
            os.dup2(file, place)
        for file in (*standard, *others):
            os.close(file)
        from pipeline.batch import worker  # noqa: PLC0415 - loaded long since

        worker.main()
        code = 0
    except BaseException:  # noqa: BLE001 - nothing may return into the loop of the server
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def _reap(running: dict[int, int]) -> None:
    while running:
        pid, ended = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        status = running.pop(pid)
        with contextlib.suppress(BrokenPipeError):  # the parent ends
            os.write(status, NUMBER.pack(os.waitstatus_to_exitcode(ended)))
        os.close(status)


if __name__ == "__main__":
    main()
