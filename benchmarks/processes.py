"""Environment, processor time, memory and children of servers; comparison of two servers by processor time."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, Protocol

TICK: Final = os.sysconf("SC_CLK_TCK")
"""Kernel ticks per second, the resolution of :func:`cpu_seconds`."""

SendRequest = Callable[[], object]
"""Sends the next request and waits for its answer; raises StopIteration after the last."""


def deployed_environment() -> dict[str, str]:
    """Return the variables for the allocator and for BLAS that the systemd unit sets."""
    unit = Path(__file__).resolve().parents[1] / "deploy" / "systemd" / "alpha-results-serve.service"
    return dict(re.findall(r"((?:MALLOC|OPENBLAS)_\w+)=(\d+)", unit.read_text()))


class Busy(Protocol):
    """A server whose processor time can be read precisely enough for a single answer."""

    def busy(self) -> float:
        """Return the processor seconds so far."""
        ...


def family(pid: int) -> list[int]:
    """Return a process and its descendants."""
    pids = [pid]
    for parent in pids:
        with contextlib.suppress(OSError):
            for task in Path(f"/proc/{parent}/task").iterdir():
                pids += [int(child) for child in (task / "children").read_text().split()]
    return pids


def cpu_seconds(pid: int) -> float:
    """Return the processor time of all threads of a process, in ticks; 0 once it has ended."""
    with contextlib.suppress(OSError):
        text = Path(f"/proc/{pid}/stat").read_text()
        fields = text[text.rindex(")") + 2 :].split()
        return (int(fields[11]) + int(fields[12])) / TICK
    return 0.0


def busy_seconds(pid: int) -> float:
    """Return the CPU seconds of the live threads of a process, to the nanosecond."""
    # From the scheduler, because /proc/<pid>/stat counts in steps of 10 ms.
    total = 0
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # the thread has ended
            total += int((thread / "schedstat").read_text().split()[0])
    return total / 1e9


def memory_kb(pid: int, file: str, field: str) -> int:
    """Return a memory figure of a process in kB, such as ``VmRSS:`` of ``status``; 0 once it has ended."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/{file}").read_text().splitlines():
            if line.startswith(field):
                return int(line.split()[1])
    return 0


def rate_ratio(one: tuple[Busy, SendRequest], other: tuple[Busy, SendRequest], seconds: float) -> float:
    """Alternate between two servers, or two kinds of requests, and compare answers per processor second.

    Returns
    -------
    float
        Rate of the first divided by the rate of the second, from the median processor time of an answer.
    """
    cpu_times: tuple[list[float], list[float]] = [], []
    end = time.monotonic() + seconds
    for number in itertools.count():
        try:
            for which in (0, 1) if number % 2 else (1, 0):
                cpu_times[which].append(_processor_time(*(one, other)[which]))
        except StopIteration:
            break
        if time.monotonic() > end:
            break
    return statistics.median(cpu_times[1]) / statistics.median(cpu_times[0])


def _processor_time(server: Busy, send: SendRequest) -> float:
    before = server.busy()
    send()
    return server.busy() - before
