"""64 callers with two keys over two workers: limits are exact and refused calls not charged."""

from __future__ import annotations

import json
import signal
import sys
from collections import Counter
from pathlib import Path

from tests.support import plain_http
from tests.support.checked_load import CheckedLoad, LoadCall, Tally
from tests.support.deployment import Deployment, Key, deployed
from tests.support.processes import signalled
from tests.support.waiting import PATIENCE, eventually

CALLERS = 64
CALLS = 600
"""Calls before, between and after the faults of the deployment."""
PER_SECOND, PER_DAY = 5, 400
A_DAY = 1_000_000
AWAY = "503 upstream_unavailable"
CUT = {"RemoteDisconnected", "ConnectionResetError", "BrokenPipeError", "IncompleteRead"}
"""Outcomes of a call whose worker is killed."""
ANSWERED = {
    "each second": {"200", "429 rate_limit_second"},
    "each day": {"200", "429 rate_limit_day"},
}


def replaced(deployment: Deployment) -> None:
    """Kill a worker, and wait until another was started in its place."""
    before = deployment.workers()
    signalled(before[0], signal.SIGKILL)
    eventually(lambda: len(set(deployment.workers()) - {before[0]}) == len(before), "another worker")


def charged(deployment: Deployment, key: Key) -> int:
    """Return how many calls of a key were charged today, by an allowed call that counts itself."""
    left: list[int] = []

    def is_admitted() -> bool:
        headers = {"authorization": f"Bearer {key.token}"}
        result = plain_http.get(f"{deployment.base}/v1/me", headers=headers, timeout=PATIENCE)
        if result.status_code == 200:
            left.append(int(result.headers["x-ratelimit-remaining-day"]))
        return bool(left)

    eventually(is_admitted, "a call that is allowed")
    return A_DAY - left[0]


def test_limits_are_exact_and_refused_calls_are_not_charged(tmp_path: Path) -> None:
    with deployed(tmp_path, alphas=1) as deployment:
        wide = "per_minute=1000000,monthly=null"
        second = deployment.issue(f"per_second={PER_SECOND},per_day={A_DAY},{wide}")
        day = deployment.issue(f"per_second=1000000,per_day={PER_DAY},{wide}")
        keys = {"each second": second, "each day": day}
        load = CheckedLoad(
            deployment.base,
            [
                LoadCall("each second", lambda _: "/v1/me", lambda: second.token),
                LoadCall("each day", lambda _: "/v1/me", lambda: day.token),
            ],
        )
        with load.running(CALLERS) as tally:
            load.settle(CALLS, ANSWERED.__getitem__)
            load.phase = "a worker is replaced"
            replaced(deployment)
            load.settle(CALLS, ANSWERED.__getitem__)
            load.phase = "Redis is restarted"
            deployment.redis.restart()
            load.settle(CALLS, ANSWERED.__getitem__)
        ended = {kind: how_calls_ended(tally, kind) for kind in keys}
        sys.stdout.write(json.dumps(ended) + "\n")
        assert tally.wrong == []
        for kind, how in ended.items():
            assert set(how) <= ANSWERED[kind] | CUT | {AWAY}, kind
            assert tally.outcomes("a worker is replaced", kind) <= ANSWERED[kind] | CUT, kind
        # Both faults preserve the windows, so no call is excluded.
        assert tally.overshoot(second.token, PER_SECOND) == 0
        unknown = sum(n for how, n in ended["each second"].items() if how in CUT | {AWAY})
        allowed = ended["each second"]["200"]
        assert allowed + 1 <= charged(deployment, second) <= allowed + 1 + unknown
        assert ended["each second"]["429 rate_limit_second"] > unknown, "a charge for these would show"
        # It is unknown whether a call that was cut off had been allowed.
        unknown = sum(n for how, n in ended["each day"].items() if how in CUT | {AWAY})
        assert PER_DAY - unknown <= ended["each day"]["200"] <= PER_DAY


def how_calls_ended(tally: Tally, kind: str) -> Counter[str]:
    counts: Counter[str] = Counter()
    for (_, what, how), number in tally.ended.items():
        if what == kind:
            counts[how] += number
    return counts
