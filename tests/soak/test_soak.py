"""A deployment under checked traffic for minutes while data, keys and servers change and are killed.

Callers request pages, figures, prices and `/v1/me` from two workers, plain and compressed. Meanwhile runs are republished,
snapshots collected, keys issued and revoked, and Redis and PostgreSQL killed and restarted. Every answer is compared with earlier
answers from the same snapshot, and pages of scores with the seal itself.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

import polars as pl
import pytest

from pipeline.snapshot_builder import build_seal
from tests.market_data.conftest import parquet, prices
from tests.support import plain_http
from tests.support.checked_load import CheckedLoad, LoadCall, Tally
from tests.support.deployment import NARROW, SYMBOL, Deployment, deployed
from tests.support.pipeline_command import run_pipeline
from tests.support.waiting import PATIENCE, eventually

SECONDS = float(os.environ.get("ALPHA_RESULTS_TEST_SOAK", "40"))
CALLERS = 6
PER_SECOND = 5
A_DAY = 1_000_000
AWAY = "503 upstream_unavailable"
LIMITED = "429 rate_limit_second"
FAULT_SECONDS = 12.0
"""Seconds between two faults."""
CALLS_AFTER_A_FAULT = 60
"""Number of calls that must all succeed before the following ones count as undisturbed."""
WARM_CALLS = 500
"""Number of calls after which memory and descriptors must be stable: on a slow machine they take more than a third of the time."""


@dataclass
class Model:
    """Expected answers: each snapshot's seal, and equal answers of one snapshot."""

    sealed: dict[str, Path] = field(default_factory=dict)
    answered: dict[tuple[str, str], str] = field(default_factory=dict)
    seen: Counter[str] = field(default_factory=Counter)
    scores: dict[str, str] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)

    def check(self, path: str, body: Any, _: dict[str, Any]) -> str | None:
        """Return the error of an answer; None if correct."""
        snapshot = body.get("meta", {}).get("snapshot")
        if snapshot is None:
            return None
        content = json.dumps([body["data"], body.get("pagination")])
        with self.lock:
            self.seen[snapshot] += 1
            before = self.answered.setdefault((snapshot, path), content)
            if path.endswith("/scores?limit=500"):
                self.scores[snapshot] = content
        return None if before == content else f"{snapshot} answered something else before"

    def wrong_snapshots(self) -> list[str]:
        """Return snapshots that were served but never published, or whose scores differ from their seal."""
        results = [snapshot for snapshot in self.seen if snapshot not in self.sealed]
        for snapshot, content in self.scores.items():
            rows, pagination = json.loads(content)
            reported = {
                (row["date"], row["symbol"]): row["score"] for row in rows if row["score"] is not None
            }
            sealed = pl.read_parquet(self.sealed[snapshot] / "decisions.parquet").drop_nulls("score")
            expected = {
                (str(date), symbol): score
                for date, symbol, score in sealed.select("date", "symbol", "score").rows()
            }
            if reported != expected or pagination["total"] > len(rows):
                results.append(f"{snapshot}: {len(reported)} scores, {len(expected)} sealed")
        return results


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    variables = {
        "ALPHA_RESULTS_REFRESH_SECONDS": "0.3",
        "ALPHA_RESULTS_MEMORY_BYTES": str(48 << 20),
        "ALPHA_RESULTS_MAX_WAIT_SECONDS": "60",
        "ALPHA_RESULTS_LOG_LEVEL": "warning",
    }
    folder = tmp_path_factory.mktemp("soak")
    with deployed(folder, alphas=3, runs=2, market=parquet(prices()), variables=variables) as result:
        result.keys["narrow"] = result.issue(NARROW)
        yield result


def load_calls(deployment: Deployment) -> list[LoadCall]:
    names = list(deployment.seals)

    def wide() -> str:
        return deployment.keys["wide"].token

    def scores(draw: random.Random) -> str:
        more = draw.choice(
            [
                "limit=500",
                f"limit={draw.randint(1, 40)}&offset={draw.randint(0, 200)}",
                "limit=30&fields=all",
            ]
        )
        return f"/v1/alphas/{draw.choice(names)}/scores?{more}"

    def figures(draw: random.Random) -> str:
        first = f"20{draw.randint(19, 23)}-{draw.randint(1, 12):02}-{draw.randint(1, 28):02}"
        return f"/v1/alphas/{draw.choice(names)}/metrics?from={first}"

    def ledger(draw: random.Random) -> str:
        return f"/v1/alphas/{draw.choice(names)}/portfolio?limit={draw.randint(1, 60)}&book=long_short"

    return [
        LoadCall("scores", scores, wide),
        LoadCall("figures", figures, wide),
        LoadCall("ledger", ledger, wide),
        LoadCall("alphas", lambda _: "/v1/alphas", wide),
        LoadCall("prices", lambda _: f"/v1/benchmarks/{SYMBOL}/daily", wide),
        LoadCall("limited", lambda _: "/v1/me", lambda: deployment.keys["narrow"].token),
        LoadCall("revoked", lambda _: "/v1/me", lambda: deployment.keys["revoked"].token),
    ]


def may(kind: str) -> set[str]:
    """Return the permitted outcomes of calls without a fault."""
    return {"limited": {"200", LIMITED}, "revoked": {"401 key_revoked"}}.get(kind, {"200"})


class Disturbances:
    """Changes to the deployment, one after the other."""

    def __init__(self, deployment: Deployment, load: CheckedLoad, model: Model) -> None:
        self._there, self._load, self._model = deployment, load, model
        self._draw = random.Random(15)
        self._next_fault = time.monotonic() + FAULT_SECONDS / 2
        self.done: Counter[str] = Counter()
        self.faults: list[tuple[float, float]] = []

    def act(self) -> None:
        """Do one thing."""
        if time.monotonic() >= self._next_fault:
            self._fault()
            self._next_fault = time.monotonic() + FAULT_SECONDS
            return
        what = self._draw.choice([self._publish, self._publish, self._collect, self._revoke])
        what()
        self.done[what.__name__.strip("_")] += 1

    def _publish(self) -> None:
        alpha = self._draw.choice(list(self._there.seals))
        seal = self._there.next_seal(alpha)
        made = build_seal(str(seal), self._there.root)
        self._model.sealed[made.snapshot] = seal
        wide = self._there.keys["wide"].token

        def served() -> bool:
            status, body = self._answer(f"/v1/alphas/{alpha}", wide)
            return status == 200 and body["meta"]["snapshot"] == made.snapshot

        eventually(served)

    def _collect(self) -> None:
        assert run_pipeline("gc", self._there.root, "--keep", "2", "--grace", "60s").exit_code == 0

    def _revoke(self) -> None:
        key = self._there.issue()
        assert self._answer("/v1/me", key.token)[0] == 200
        self._there.run("keys", "revoke", key.id)
        for _ in range(8):
            status, body = self._answer("/v1/me", key.token)
            assert (status, body["error"]["code"]) == (401, "key_revoked")

    def _fault(self) -> None:
        part = self._draw.choice(["postgres", "redis"]) if self.faults else "redis"
        begun = time.monotonic()
        self._load.phase = "fault"
        server = getattr(self._there, part)
        server.kill()
        time.sleep(0.5)
        server.start()
        self._load.settle(CALLS_AFTER_A_FAULT, may)
        self._load.phase = "calm"
        self.faults.append((begun - 1.0, time.monotonic()))
        self.done[f"{part} killed"] += 1

    def _answer(self, path: str, token: str) -> tuple[int, Any]:
        result = plain_http.get(
            f"{self._there.base}{path}", headers={"authorization": f"Bearer {token}"}, timeout=120
        )
        return result.status_code, result.json()


def sizes(deployment: Deployment) -> dict[str, int]:
    """Return the memory in MB, the file descriptors and the threads of the workers."""
    result = {"mb": 0, "descriptors": 0, "threads": 0}
    for pid in deployment.workers():
        status = Path(f"/proc/{pid}/status").read_text()
        lines = dict(line.split(":", 1) for line in status.splitlines())
        result["mb"] += int(lines["VmRSS"].split()[0]) >> 10
        result["threads"] += int(lines["Threads"])
        result["descriptors"] += len(list(Path(f"/proc/{pid}/fd").iterdir()))
    return result


def test_every_answer_is_correct_while_the_deployment_changes(deployment: Deployment) -> None:
    model = Model()
    for name, runs in deployment.seals.items():
        result = plain_http.get(
            f"{deployment.base}/v1/alphas/{name}",
            headers={"authorization": f"Bearer {deployment.keys['wide'].token}"},
        )
        model.sealed[result.json()["meta"]["snapshot"]] = runs[0]
    load = CheckedLoad(deployment.base, load_calls(deployment), model.check)
    disturbances = Disturbances(deployment, load, model)
    begun, warm = time.monotonic(), 0
    measured: list[dict[str, int]] = []
    with load.running(CALLERS) as tally:

        def enough() -> bool:
            called = sum(tally.count(phase) for phase in tally.phases())
            limited = tally.count("calm", LIMITED, "limited") > 0
            return called >= 3 * WARM_CALLS and limited and len(measured) > warm + 1

        while time.monotonic() < begun + SECONDS or not enough():
            disturbances.act()
            measured.append(sizes(deployment))
            called = sum(tally.count(phase) for phase in tally.phases())
            if time.monotonic() < begun + SECONDS / 3 or called < WARM_CALLS:
                warm = len(measured)
            assert time.monotonic() < begun + SECONDS + PATIENCE, (
                "too few calls, or none was refused as one too many"
            )
    print_report(tally, disturbances, model, measured)
    assert tally.wrong == []
    assert model.wrong_snapshots() == []
    disturbed = tally.phases() - {"calm"}
    for kind in {call.kind for call in load_calls(deployment)}:
        assert tally.outcomes("calm", kind) <= may(kind), kind
        for phase in disturbed:
            assert tally.outcomes(phase, kind) <= may(kind) | {AWAY}, (phase, kind)
    narrow = deployment.keys["narrow"].token
    assert tally.overshoot(narrow, PER_SECOND, disturbances.faults) == 0
    charged = A_DAY - tally.remaining[narrow]
    unanswered = sum(tally.count(phase, AWAY, "limited") for phase in disturbed)
    assert charged <= len(tally.allowed[narrow]) + unanswered, "a refused call is not charged"
    settled = measured[warm:]
    first, last = settled[0], settled[-1]
    assert last["mb"] <= 1.25 * first["mb"] + 48, "memory grows"
    assert last["descriptors"] <= max(one["descriptors"] for one in settled[: len(settled) // 2 + 1]) + 24
    assert last["threads"] <= max(one["threads"] for one in settled[: len(settled) // 2 + 1]) + 4
    assert deployment.process.poll() is None
    text = deployment.log.read_text()
    assert '"unforeseen_failure"' not in text
    assert '"worker_ended"' not in text


def print_report(
    tally: Tally, disturbances: Disturbances, model: Model, measured: list[dict[str, int]]
) -> None:
    """Print what was done."""
    reported = {
        "calls": sum(tally.ended.values()),
        "outcomes": {f"{when} {what}": dict(_by(tally, when, what)) for when, what in _rows(tally)},
        "beneath": dict(disturbances.done),
        "snapshots": len(model.seen),
        "pages compared": len(model.answered),
        "slowest": {
            f"{when} {what}": round(spent, 2)
            for (when, what), spent in tally.slowest.items()
            if not when.startswith("settling")
        },
        "first": measured[0],
        "last": measured[-1],
    }
    sys.stdout.write(json.dumps(reported, indent=1) + "\n")


def _rows(tally: Tally) -> list[tuple[str, str]]:
    return sorted({(when, what) for when, what, _ in tally.ended if not when.startswith("settling")})


def _by(tally: Tally, when: str, what: str) -> Counter[str]:
    return Counter({how: n for (a, b, how), n in tally.ended.items() if (a, b) == (when, what)})
