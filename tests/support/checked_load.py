"""Continuous load whose answers are checked for consistency and permitted outcomes."""

from __future__ import annotations

import json
import random
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from typing import Any, Final

from tests.support.waiting import eventually

PATIENCE: Final = 120.0
"""Seconds to wait for an answer; every time limit of the service is much shorter."""
CALL_PAUSE: Final = 0.004


@dataclass(frozen=True)
class LoadCall:
    """A kind of call.

    Attributes
    ----------
    kind
        Its name in the tally.
    path
        Returns a path, from a random generator.
    token
        Returns the key of each call.
    """

    kind: str
    path: Callable[[random.Random], str]
    token: Callable[[], str]


@dataclass
class Tally:
    """Outcomes of calls.

    Attributes
    ----------
    ended
        Calls by phase, kind and outcome: a status and code, or the name of an exception.
    slowest
        Seconds of the slowest call by phase and kind.
    wrong
        Wrong answers.
    allowed
        Token -> times at which each answered call was sent and received.
    """

    ended: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    slowest: dict[tuple[str, str], float] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    allowed: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    remaining: dict[str, int] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def outcomes(self, phase: str, kind: str) -> set[str]:
        """Return the outcomes of a kind's calls in a phase."""
        with self.lock:
            return {
                outcome for (when, what, outcome), _ in self.ended.items() if (when, what) == (phase, kind)
            }

    def phases(self) -> set[str]:
        """Return the phases with finished calls."""
        with self.lock:
            return {when for when, _, _ in self.ended}

    def overshoot(self, token: str, per_second: int, faults: Sequence[tuple[float, float]] = ()) -> int:
        """Return the maximum ratio of calls allowed within a second to the limit, faults excluded."""
        calls = sorted(self.allowed[token])
        count = 0
        for at in range(len(calls) - per_second):
            window = calls[at : at + per_second + 1]
            first, last = window[0][0], max(received for _, received in window)
            hit = any(first < ended and begun < last + 1.0 for begun, ended in faults)
            count += last - first < 1.0 and not hit
        return count

    def count(self, phase: str, outcome: str | None = None, kind: str | None = None) -> int:
        """Return the number of a phase's calls with this outcome."""
        with self.lock:
            return sum(
                count
                for (when, what, ended), count in self.ended.items()
                if when == phase and outcome in {None, ended} and kind in {None, what}
            )


class CheckedLoad:
    """Calls from several threads, counted by phase.

    Parameters
    ----------
    base
        Address of the server.
    calls
        Kinds of calls, chosen at random.
    check
        Called with path, decoded body and a dictionary of the connection; returns the error, or None.
    """

    def __init__(
        self,
        base: str,
        calls: Sequence[LoadCall],
        check: Callable[[str, Any, dict[str, Any]], str | None] = lambda *_: None,
    ) -> None:
        self._base = base.removeprefix("http://")
        self._calls = calls
        self._check = check
        self._stop = threading.Event()
        self.phase = "calm"
        self.tally = Tally()

    @contextmanager
    def running(self, callers: int) -> Iterator[Tally]:
        """Run the load during the block."""
        threads = [
            threading.Thread(target=self._call_until_stopped, args=(number,)) for number in range(callers)
        ]
        for thread in threads:
            thread.start()
        try:
            yield self.tally
        finally:
            self._stop.set()
            for thread in threads:
                thread.join()

    def settle(self, calls: int, may: Callable[[str], set[str]]) -> None:
        """Wait for a phase of that many calls in which every kind had only permitted outcomes.

        By then the effects of a fault are over; fail if they never end.
        """
        kinds = {call.kind for call in self._calls}

        def all_permitted() -> bool:
            self.phase = f"settling at {time.monotonic()}"
            eventually(lambda: self.tally.count(self.phase) >= calls)
            results = {kind: self.tally.outcomes(self.phase, kind) for kind in kinds}
            return all(results[kind] and results[kind] <= may(kind) for kind in kinds)

        eventually(all_permitted, "a phase with permitted outcomes only")

    def _call_until_stopped(self, number: int) -> None:
        draw = random.Random(number)
        while not self._stop.is_set():
            memory: dict[str, Any] = {}
            with closing(HTTPConnection(self._base, timeout=PATIENCE)) as connection:
                for _ in range(draw.randint(20, 300)):
                    if self._stop.wait(CALL_PAUSE) or not self._call_once(connection, draw, memory):
                        break

    def _call_once(self, connection: HTTPConnection, draw: random.Random, memory: dict[str, Any]) -> bool:
        call = draw.choice(self._calls)
        phase, path, token = self.phase, call.path(draw), call.token()
        headers = {"authorization": f"Bearer {token}"}
        if draw.random() < 0.4:
            headers["accept-encoding"] = "gzip"
        begun, wrong, is_open = time.monotonic(), None, True
        try:
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            body = answer.read()
            if answer.headers.get("content-encoding") == "gzip":
                body = zlib.decompress(body, wbits=31)
            result = json.loads(body)
            outcome = str(answer.status)
            if answer.status != 200:
                outcome = f"{answer.status} {result['error']['code']}"
                if answer.status == 503 and "retry-after" not in answer.headers:
                    wrong = "503 without Retry-After"
            else:
                wrong = self._check(path, result, memory)
                with self.tally.lock:
                    self.tally.allowed.setdefault(token, []).append((begun, time.monotonic()))
            remaining = answer.headers.get("x-ratelimit-remaining-day")
            if remaining is not None and answer.status == 200:
                with self.tally.lock:
                    left = self.tally.remaining
                    left[token] = min(left.get(token, int(remaining)), int(remaining))
        except (OSError, HTTPException, ValueError) as error:
            outcome, is_open = type(error).__name__, False
        spent = time.monotonic() - begun
        with self.tally.lock:
            self.tally.ended[phase if phase == self.phase else "between", call.kind, outcome] += 1
            self.tally.slowest[phase, call.kind] = max(spent, self.tally.slowest.get((phase, call.kind), 0.0))
            if wrong is not None and len(self.tally.wrong) < 20:
                self.tally.wrong.append(f"{path}: {wrong}")
        return is_open
