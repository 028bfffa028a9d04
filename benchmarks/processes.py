"""The machine; and environment, processor time, memory and children of servers."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path
from typing import Any, Final

TICK: Final = os.sysconf("SC_CLK_TCK")
"""Kernel ticks per second, the resolution of :func:`cpu_seconds`."""


def machine() -> dict[str, Any]:
    """Return the number of cores, and the load averages before a measurement."""
    return {
        "cores": len(os.sched_getaffinity(0)),
        "load_before": [round(load, 2) for load in os.getloadavg()],
    }


def deployed_environment() -> dict[str, str]:
    """Return the variables for the allocator and for BLAS that the systemd unit sets."""
    unit = Path(__file__).resolve().parents[1] / "deploy" / "systemd" / "alpha-results-serve.service"
    return dict(re.findall(r"((?:MALLOC|OPENBLAS)_\w+)=(\d+)", unit.read_text()))


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
