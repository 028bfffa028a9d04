"""Two servers that are asked by turns, so that both meet the machine's moods.

A machine that others use too answers twice as fast in one minute as in the next: two servers measured one after the other
differ by that, whatever their code is. Requests a millisecond apart do not.
"""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Protocol

Turn = Callable[[], float]
"""Asks once and returns the milliseconds it took; StopIteration when there is nothing left to ask."""


class Timed(Protocol):
    """A server that tells what it used."""

    def cpu(self) -> float:
        """Return the processor seconds so far."""
        ...


def compare(pair: Sequence[tuple[Timed, Turn]], seconds: float) -> dict[str, float]:
    """Ask both by turns, the one that begins changing, and divide the first's by the second's.

    Returns
    -------
    dict
        The ratio of the median ``time`` of an answer, and of the ``processor`` time of all.
    """
    before = [server.cpu() for server, _ in pair]
    now, then = _by_turns([turn for _, turn in pair], seconds)
    used = [server.cpu() - start for (server, _), start in zip(pair, before, strict=True)]
    return {"time": now / then, "processor": used[0] / used[1]}


class Busy(Protocol):
    """A server that tells what it used, exactly enough for a single answer."""

    def busy(self) -> float:
        """Return the processor seconds so far."""
        ...


def rate_beside(one: tuple[Busy, Turn], other: tuple[Busy, Turn], seconds: float) -> float:
    """Ask for two things by turns, of one server or of two, and divide the first's answers a processor second by the second's.

    A server that has more to do than its core can answers that many a second; asked one at a time, most of what is waited for
    is the machine.
    """
    first, second = _by_turns([partial(_spend, *one), partial(_spend, *other)], seconds)
    return second / first


def _spend(server: Busy, turn: Turn) -> float:
    before = server.busy()
    turn()
    return server.busy() - before


def _by_turns(turns: Sequence[Turn], seconds: float) -> tuple[float, float]:
    """Take two turns again and again, the one that begins changing; return the median of what each returned."""
    found: tuple[list[float], list[float]] = [], []
    end = time.monotonic() + seconds
    for number in itertools.count():
        try:
            for one in (0, 1) if number % 2 else (1, 0):
                found[one].append(turns[one]())
        except StopIteration:
            break
        if time.monotonic() > end:
            break
    return statistics.median(found[0]), statistics.median(found[1])


def medians(found: Sequence[dict[str, Any]]) -> Iterator[tuple[str, str, str, float]]:
    """Yield query, state, figure and the median of its ratios, one a pair of processes."""
    for entry in found:
        for figure in ("time", "processor"):
            ratios = [ratio[figure] for ratio in entry["pairs"]]
            yield entry["query"], entry["state"], figure, statistics.median(ratios)
