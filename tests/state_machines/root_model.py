"""The model of a root: served and kept snapshots, and rollbacks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, NamedTuple, TypeVar

from tests.state_machines.runs import Run

T = TypeVar("T")

ABSENT: Final = "absent"
SERVED: Final = "served"
WITHDRAWN: Final = "withdrawn"
EMPTIED: Final = "emptied"
"""Restored when nothing was left to serve."""


class Release(NamedTuple):
    """A builder release: its declarations and encoding."""

    name: str
    declares: int
    compression: str


THIS: Final = Release("this", 1, "lz4")
RELEASES: Final = (THIS, Release("later declarations", 99, "lz4"), Release("another library", 1, "zstd"))


class Refused(Exception):
    """The command is refused with an exit code, and nothing changes."""

    def __init__(self, exit_code: int) -> None:
        super().__init__(exit_code)
        self.exit_code = exit_code


def outcome(act: Callable[[], T]) -> tuple[int, T | None]:
    """Return the exit code of an action, and its result unless refused."""
    try:
        return 0, act()
    except Refused as refused:
        return refused.exit_code, None


NOT_THERE: Final = 9
NOT_NOW: Final = 3


class Verdict(NamedTuple):
    """Scope of a rollback: the run, one release's build of it, or only those files."""

    run: int | None
    declares: int | None


@dataclass
class Published:
    """One alpha in a root.

    Attributes
    ----------
    current
        The snapshot served.
    withdrawn
        The snapshot that was served when the alpha was withdrawn.
    built
        Snapshot -> run and release, for all snapshots ever built.
    left
        Snapshot -> when it stopped being served, for existing snapshots other than the current one.
    first
        Snapshot -> when it was first served since its files were written.
    verdicts
        Snapshot that was rolled back from -> scope of the rollback.
    """

    runs: tuple[Run, ...]
    state: str = ABSENT
    current: str | None = None
    withdrawn: str | None = None
    built: dict[str, tuple[int, Release]] = field(default_factory=dict)
    left: dict[str, datetime] = field(default_factory=dict)
    first: dict[str, datetime] = field(default_factory=dict)
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    moved_at: datetime | None = None

    @property
    def there(self) -> set[str]:
        """The snapshots whose files are there."""
        return {*self.left, *([self.current] if self.current else [])}

    def run_of(self, snapshot: str) -> Run:
        return self.runs[self.built[snapshot][0]]

    def copy(self) -> Published:
        """Return a copy of the current state."""
        return Published(
            self.runs, self.state, self.current, self.withdrawn, dict(self.built), dict(self.left),
            dict(self.first), dict(self.verdicts), self.moved_at,
        )  # fmt: skip

    def build(self, run: Run, release: Release, *, force: bool) -> bool:
        """Whether a build publishes another snapshot; Refused if it must not be served."""
        if self.state == WITHDRAWN:
            raise Refused(NOT_NOW)
        if self.current is not None and not force:
            number, by = self.built[self.current]
            if (number, by.declares) == (run.number, release.declares):
                return False
        if not force:
            if self._judged(run.number, release):
                raise Refused(NOT_NOW)
            if self.current is not None and self.run_of(self.current).sealed_at > run.sealed_at:
                raise Refused(NOT_NOW)
        return self.current is None or self.built[self.current] != (run.number, release)

    def publish(self, snapshot: str, run: Run, release: Release, now: datetime) -> None:
        """Serve the snapshot of a build."""
        self.built[snapshot] = (run.number, release)
        self._serve(snapshot, now)

    def roll_back(self, wanted: str | None, now: datetime) -> bool:
        """Serve an earlier snapshot, by default the last one with other figures; return whether anything changes."""
        if self.state == ABSENT:
            raise Refused(NOT_THERE)
        if self.state == WITHDRAWN:
            raise Refused(NOT_NOW)
        target = self._before() if wanted is None else wanted
        if target is None or target not in self.there:
            raise Refused(NOT_THERE)
        if target == self.current or self.current is None:
            return False
        rolled_back, (number, by) = self.current, self.built[self.current]
        self._serve(target, now)
        same_run = self.built[target][0] == number
        same_figures = same_run and self.built[target][1].declares == by.declares
        self.verdicts[rolled_back] = (
            Verdict(None, None)
            if same_figures
            else Verdict(number, by.declares)
            if same_run
            else Verdict(number, None)
        )
        return True

    def _before(self) -> str | None:
        figures = None if self.current is None else _figures(self.built[self.current])
        for snapshot in sorted(self.left, key=lambda one: self.left[one], reverse=True):
            made = self.built[snapshot]
            if not self._judged(*made) and _figures(made) != figures:
                return snapshot
        return None

    def _judged(self, run: int, release: Release) -> bool:
        """Whether a rollback applies to it: to the run, to a release's build of it, or to its files."""
        return any(
            _judges(verdict, run, release) or self.built[snapshot] == (run, release)
            for snapshot, verdict in self.verdicts.items()
        )

    def withdraw(self, now: datetime) -> bool:
        """Withdraw the alpha."""
        if self.state == ABSENT:
            raise Refused(NOT_THERE)
        if self.state == WITHDRAWN:
            return False
        self.withdrawn, self.state = self.current, WITHDRAWN
        self._move(None, now)
        return True

    def restore(self, now: datetime) -> bool:
        """Serve the snapshot from before the withdrawal, if kept."""
        if self.state == ABSENT:
            raise Refused(NOT_THERE)
        if self.state != WITHDRAWN:
            return False
        if self.withdrawn in self.left:
            self._serve(self.withdrawn, now)
        else:
            self.state = EMPTIED
            self._move(None, now)
        self.withdrawn = None
        return True

    def collect(self, keep: int, grace: timedelta, leased_since: datetime | None, now: datetime) -> None:
        """Remove snapshots beyond `keep`, past the grace period and before any reader's lease."""
        latest = sorted(self.left, key=lambda one: self.left[one], reverse=True)
        for snapshot in latest[keep - 1 :] if self.state == SERVED else latest:
            at = self.left[snapshot]
            if now - at >= grace and (leased_since is None or at < leased_since):
                del self.left[snapshot], self.first[snapshot]

    def _serve(self, snapshot: str, now: datetime) -> None:
        self._move(snapshot, now)
        self.left.pop(snapshot, None)
        assert self.moved_at is not None
        self.first.setdefault(snapshot, self.moved_at)
        self.state = SERVED
        made = self.built[snapshot]
        self.verdicts = {k: v for k, v in self.verdicts.items() if k != snapshot and not _judges(v, *made)}

    def _move(self, to: str | None, now: datetime) -> None:
        self.moved_at = now if self.moved_at is None else max(now, self.moved_at + timedelta(microseconds=1))
        if self.current is not None:
            self.left[self.current] = self.moved_at
        self.current = to


def _judges(verdict: Verdict, run: int, release: Release) -> bool:
    return verdict.run == run and verdict.declares in {None, release.declares}


def _figures(built: tuple[int, Release]) -> tuple[int, int]:
    return built[0], built[1].declares
