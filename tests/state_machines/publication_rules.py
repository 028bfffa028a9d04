"""Rules: builds by several releases, operators' decisions, and the server's refreshes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Final

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from datasets.publication.decisions import empty_snapshots
from tests.state_machines.root_model import (
    RELEASES,
    SERVED,
    THIS,
    WITHDRAWN,
    Published,
    Release,
    outcome,
)
from tests.state_machines.runs import ALPHAS
from tests.state_machines.store import PICK, Store, text

_ALPHA: Final = st.sampled_from(ALPHAS)
_RELEASE: Final = st.sampled_from((THIS, *RELEASES))
_NOTICED: Final = st.sampled_from((True, True, False))
"""Whether the server refreshes before anything else happens."""
_GRACES: Final = {
    "0s": timedelta(),
    "30s": timedelta(seconds=30),
    "1h": timedelta(hours=1),
    "1d": timedelta(days=1),
}


class PublicationRules(Store):
    """Builds, operators' decisions, gc and refreshes."""

    @rule(
        alpha=_ALPHA,
        number=st.integers(0, 3),
        release=_RELEASE,
        force=st.sampled_from((False, False, True)),
        noticed=_NOTICED,
    )
    def build(self, alpha: str, number: int, release: Release, force: bool, noticed: bool) -> None:
        one = self.root[alpha]
        run = one.runs[number]
        code, expected = outcome(lambda: one.build(run, release, force=force))
        refused, made = outcome(lambda: self.system.build(run, release, force=force))
        assert refused == code, (alpha, run.number, release)
        if made is None:
            self._done(f"build refused: {code}", noticed=noticed)
            return
        snapshot, changed = made
        assert changed is expected, (snapshot, changed, expected)
        if changed:
            known = [old for old, by in one.built.items() if by == (number, release)]
            assert known in ([], [snapshot]), "one release makes one snapshot of a run"
            assert one.built.get(snapshot, (number, release)) == (number, release)
            one.publish(snapshot, run, release, self.now)
        else:
            assert snapshot == one.current
        self._done("build" if changed else "build unchanged", noticed=noticed)

    @precondition(lambda self: any(one.state == SERVED for one in self.root.values()))
    @rule(pick=PICK, release=_RELEASE, force=st.booleans(), noticed=_NOTICED)
    def rebuild(self, pick: int, release: Release, force: bool, noticed: bool) -> None:
        """Rebuild the served seal with the same release or another."""
        served = [alpha for alpha, one in self.root.items() if one.current is not None]
        alpha = served[pick % len(served)]
        one = self.root[alpha]
        assert one.current is not None
        self.build(alpha, one.built[one.current][0], release, force, noticed)

    @rule(alpha=_ALPHA, noticed=_NOTICED)
    def build_the_next(self, alpha: str, noticed: bool) -> None:
        """Build a later run, as an engine does most days."""
        one = self.root[alpha]
        number = 0 if one.current is None else one.built[one.current][0] + 1
        self.build(alpha, min(number, len(one.runs) - 1), THIS, force=False, noticed=noticed)

    @rule(alpha=_ALPHA, pick=PICK, noticed=_NOTICED)
    def roll_back(self, alpha: str, pick: int, noticed: bool) -> None:
        """Roll back to the previous, a named, or occasionally a removed snapshot."""
        one = self.root[alpha]
        gone = (*one.built, *empty_snapshots(alpha))
        wanted = (None, *sorted(one.left), *sorted(one.left), *sorted(gone))
        chosen = wanted[pick % len(wanted)]
        arguments = [] if chosen is None else ["--to", chosen]
        self._operate(alpha, "rollback", arguments, lambda: one.roll_back(chosen, self.now), noticed=noticed)

    @rule(alpha=_ALPHA, often=st.sampled_from((False, False, True)), noticed=_NOTICED)
    def withdraw(self, alpha: str, often: bool, noticed: bool) -> None:
        if often or self.root[alpha].state != SERVED:
            self._operate(alpha, "withdraw", [], lambda: self.root[alpha].withdraw(self.now), noticed=noticed)

    @precondition(lambda self: any(one.state == WITHDRAWN for one in self.root.values()))
    @rule(pick=PICK, noticed=_NOTICED)
    def restore(self, pick: int, noticed: bool) -> None:
        """Restore an alpha, most often one that is withdrawn."""
        withdrawn = [alpha for alpha, one in self.root.items() if one.state == WITHDRAWN]
        alpha = (*withdrawn, *withdrawn, *ALPHAS)[pick % (2 * len(withdrawn) + len(ALPHAS))]
        self._operate(alpha, "restore", [], lambda: self.root[alpha].restore(self.now), noticed=noticed)

    def _operate(
        self, alpha: str, command: str, arguments: list[str], act: Callable[[], bool], *, noticed: bool
    ) -> None:
        one = self.root[alpha]
        code, expected = outcome(act)
        refused, reported = outcome(lambda: self.system.operate(command, alpha, *arguments))
        assert refused == code, (command, alpha, arguments)
        if reported is None:
            self._done(f"{command} refused: {code}", noticed=noticed)
            return
        assert reported["changed"] is expected, reported
        if command == "restore" and expected:
            assert reported["served"] is (one.state == SERVED), reported
        if command == "rollback" or (command == "restore" and one.state == SERVED):
            assert reported["snapshot"] == one.current, reported
        self._done(command if expected else f"{command} unchanged", noticed=noticed)

    @rule(
        keep=st.integers(1, 3),
        grace=st.sampled_from(tuple(_GRACES)),
        alpha=st.none() | _ALPHA,
        noticed=_NOTICED,
    )
    def collect(self, keep: int, grace: str, alpha: str | None, noticed: bool) -> None:
        named = [alpha] if alpha is not None and self.root[alpha].moved_at is not None else []
        before = sum(len(one.there) for one in self.root.values())
        for one in [self.root[name] for name in named or ALPHAS]:
            one.collect(keep, _GRACES[grace], self.leased_since, self.now)
        gone = before - sum(len(one.there) for one in self.root.values())
        done = self.system.command("gc", *named, "--keep", str(keep), "--grace", grace)
        assert done.exit_code == 0, done.output
        self.tally["snapshots removed"] += gone
        self._done("gc", noticed=noticed)

    @rule()
    def server_looks(self) -> None:
        self._done("look", noticed=True)

    @rule(pick=st.integers(0, 3))
    def start_anew(self, pick: int) -> None:
        """Restart the server; rarely, since it is slow."""
        if pick:
            return
        self.system.stop()
        self.system.start()
        self.started()
        self.tally["restart"] += 1

    @rule(alpha=_ALPHA)
    def operators_are_told_the_same(self, alpha: str) -> None:
        self._list()
        one = self.root[alpha]
        if one.moved_at is None:
            return
        reported = self.system.operate("show", alpha)
        rows = {row["snapshot"]: row for row in reported["snapshots"] if row["state"] != "empty"}
        assert reported["withdrawn"] is (one.state == WITHDRAWN)
        assert (reported["served"] or {}).get("snapshot") == one.current
        for snapshot in one.there:
            left = one.left.get(snapshot)
            assert rows[snapshot]["until"] == (None if left is None else text(left))
            assert rows[snapshot]["state"] == _state(one, snapshot)

    def _list(self) -> None:
        listed = self.system.operate("list")
        served = {row["alpha_id"]: row["snapshot"] for row in listed["alphas"]}
        assert served == {alpha: one.current for alpha, one in self.root.items() if one.state == SERVED}
        assert listed["withdrawn"] == sorted(a for a, one in self.root.items() if one.state == WITHDRAWN)
        self.tally["show"] += 1

    def _done(self, what: str, *, noticed: bool) -> None:
        self.tally[what] += 1
        if noticed:
            self.look()


def _state(one: Published, snapshot: str) -> str:
    if snapshot == one.current:
        return "served"
    if one.state == WITHDRAWN and snapshot == one.withdrawn:
        return "withdrawn"
    return "rolled back" if snapshot in one.verdicts else "replaced"
