"""Shared by all rules: the system, its model, and the invariants."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar, Final

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant

from tests.state_machines.clock import SECOND
from tests.state_machines.key_model import (
    GET,
    LIST,
    ME,
    SCORES,
    SNAPSHOTS,
    WEEKS,
    WIDE,
    Account,
    Key,
    spelled,
)
from tests.state_machines.root_model import SERVED, THIS, Published
from tests.state_machines.runs import ALPHAS, Runs
from tests.state_machines.system import LOOK_AGAIN, System

PICK: Final = st.integers(0, 1000)
"""Index that selects one of the items that exist when the rule runs."""
OBSERVER: Final = "observer@example.org"
_BEFORE_A_LOOK: Final = timedelta(minutes=10)
"""Time before a server's last refresh from which its lease protects snapshots."""
_LEASED: Final = timedelta(minutes=15)
"""Lifetime of a lease that is not refreshed."""


def text(at: datetime) -> str:
    """Format a time like the answers."""
    return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class Store(RuleBasedStateMachine):
    """Several alphas, versions of the builder and keys.

    Attributes
    ----------
    root
        The published state.
    seen
        The published state at the server's last refresh.
    """

    runs: ClassVar[Runs]
    tally: ClassVar[Counter[str]] = Counter()

    def __init__(self) -> None:
        super().__init__()
        self.tally["runs"] += 1
        self._folder = Path(tempfile.mkdtemp(prefix="state-machine-"))
        self.system = System(self._folder)
        self.root = {alpha: Published(self.runs[alpha]) for alpha in ALPHAS}
        self.seen = {alpha: one.copy() for alpha, one in self.root.items()}
        self.accounts = [Account("first@example.org"), Account("second@example.org")]
        self.keys: list[Key] = []
        self._digests: dict[tuple[str, str], str] = {}
        self._leased_at = self.now
        self._reported: dict[str, str | None] = {}
        self._cursor: str | None = None
        self._open_accounts()
        self._publish_the_first()

    @property
    def now(self) -> datetime:
        return self.system.clock.now

    def _open_accounts(self) -> None:
        async def acted(administration: Any) -> str:
            for email in (OBSERVER, *(account.email for account in self.accounts)):
                await administration.accounts.create(email, ceiling_endpoints="all")
            wide = {"endpoints": "all", "alphas": "all", "runs": "all", "rate": spelled(WIDE)}
            return str((await administration.keys.issue(OBSERVER, "observer", **wide)).token)

        self.observer = self.system.administer(acted)

    def _publish_the_first(self) -> None:
        """Publish first, since commands refuse a folder without publications."""
        for alpha, number in ((ALPHAS[0], 0), (ALPHAS[0], 1), (ALPHAS[1], 0), (ALPHAS[1], 2)):
            run = self.runs[alpha][number]
            snapshot, _ = self.system.build(run, THIS, force=False)
            self.root[alpha].publish(snapshot, run, THIS, self.now)
            self.system.clock.move(SECOND)
        self.look()

    def picked(self, pick: int) -> Key:
        """Return a key, half of the time the last one issued."""
        return self.keys[-1] if pick % 3 == 0 else self.keys[pick % len(self.keys)]

    def look(self) -> None:
        """Refresh the server's catalogue."""
        self.system.look()
        self.seen = {alpha: one.copy() for alpha, one in self.root.items()}
        if self.now - self._leased_at >= LOOK_AGAIN:
            self._leased_at = self.now

    def started(self) -> None:
        """Record a restart of the server."""
        self.seen = {alpha: one.copy() for alpha, one in self.root.items()}
        self._leased_at = self.now

    @property
    def leased_since(self) -> datetime | None:
        """Time since when replaced snapshots may be read by the server."""
        return self._leased_at - _BEFORE_A_LOOK if self.now - self._leased_at <= _LEASED else None

    def listed(self, allowed: frozenset[str] = frozenset(ALPHAS)) -> list[dict[str, Any]]:
        """Return the expected list of alphas as of the server's last refresh."""
        served = [
            (alpha, one, one.run_of(one.current))
            for alpha, one in sorted(self.seen.items())
            if one.state == SERVED and one.current is not None and alpha in allowed
        ]
        served.sort(key=lambda row: row[2].started_at, reverse=True)
        return [
            {
                "alpha_id": alpha,
                "name": run.name,
                "snapshot": one.current,
                "published_at": text(one.first[one.current or ""]),
            }
            for alpha, one, run in served
        ]

    @invariant()
    def what_is_served_is_what_was_published(self) -> None:
        self.tally["steps"] += 1
        answer = self.system.send("/v1/screen", self.observer)
        assert answer.status_code == 200, answer.text
        rows = [
            {k: v for k, v in row.items() if k not in {"tldr", "complete"}} for row in answer.json()["data"]
        ]
        assert rows == self.listed(), (rows, self.listed())
        self._compare_files()
        self.system.clock.move(SECOND)

    def _compare_files(self) -> None:
        """Assert that exactly the kept snapshots exist, unchanged."""
        for alpha, one in self.root.items():
            files = self.system.files(alpha)
            assert set(files) == one.there, (alpha, set(files), one.there)
            for snapshot, digest in files.items():
                assert self._digests.setdefault((alpha, snapshot), digest) == digest, f"{alpha} {snapshot}"

    def teardown(self) -> None:
        try:
            done = self.system.command("verify")
            assert done.exit_code == 0, done.output
        finally:
            self.system.close()
            shutil.rmtree(self._folder, ignore_errors=True)


PATHS: Final = {
    ME: "/v1/me",
    LIST: "/v1/screen",
    GET: "/v1/alphas/{}",
    SCORES: "/v1/alphas/{}/scores",
    WEEKS: "/v1/alphas/{}/rebalances",
    SNAPSHOTS: "/v1/alphas/{}/snapshots",
}
