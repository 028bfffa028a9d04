"""History of an alpha from its pointer: publications, replacements, rollbacks, withdrawals.

A pointer records when its snapshot was first served, when earlier snapshots were replaced, and the operators' decisions, so
no journal is needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from datasets.pointer import Pointer
from datasets.publication.decisions import empty_snapshots
from schemas.objects.history import CHANGES

PUBLISHED, REPLACED, ROLLED_BACK, WITHDRAWN = CHANGES


@dataclass(frozen=True, slots=True)
class Change:
    """A change of an alpha.

    Attributes
    ----------
    at
        Time in UTC by the publisher's clock; always later than the alpha's previous change.
    change
        Kind of the change.
    alpha_id
        The alpha.
    snapshot
        Snapshot served after the change; None after a withdrawal.
    previous
        Snapshot served before the change; None if there was none, or if it is no longer recorded.
    by_operator
        Whether a command of an operator made the change (rollback, withdrawal, restoration), and not a build.
    """

    at: datetime
    change: str
    alpha_id: str
    snapshot: str | None
    previous: str | None
    by_operator: bool = False


def recorded_changes(pointer: Pointer) -> tuple[Change, ...]:
    """Return the changes that a pointer records, oldest first. The last is always present; gc removes earlier ones. Pure.

    A snapshot that was served twice is recorded with its last replacement.
    """
    replaced_at = {snapshot: _moment(earlier.replaced_at) for snapshot, earlier in pointer.earlier.items()}
    first = {snapshot: _moment(earlier.published_at) for snapshot, earlier in pointer.earlier.items()}
    first[pointer.snapshot] = _moment(pointer.first_published_at)
    now = _moment(pointer.published_at)
    times = sorted({*replaced_at.values(), *first.values(), now})
    outgoing = {at: snapshot for snapshot, at in replaced_at.items()}
    incoming = {at: snapshot for snapshot, at in first.items()} | {now: pointer.snapshot}
    order = sorted(replaced_at, key=lambda snapshot: replaced_at[snapshot])
    empty = empty_snapshot_ids(pointer)
    begun = _moment(pointer.begun_at) if pointer.begun_at else times[0]
    changes = []
    for place, at in enumerate(times):
        # If no snapshot was first served now, an earlier one was served again: the next of them to be replaced.
        served_again = (s for s in order if replaced_at[s] > at and first.get(s, at) <= at)
        snapshot = incoming.get(at) or next(served_again, pointer.snapshot)
        previous = outgoing.get(at)
        decided = _decided(pointer, times[place - 1] if place else None, at, snapshot, previous)
        shown = None if snapshot in empty or decided == "withdraw" else snapshot
        before = None if previous in empty or decided == "restore" else previous
        kind = _kind(pointer, shown, before, decided, first=at == begun)
        by_operator = decided != "" or kind in {ROLLED_BACK, WITHDRAWN}
        changes.append(Change(at, kind, pointer.alpha_id, shown, before, by_operator))
    return tuple(changes)


def _kind(pointer: Pointer, snapshot: str | None, previous: str | None, decided: str, *, first: bool) -> str:
    if snapshot is None:
        return WITHDRAWN
    if decided == "rollback" or previous in pointer.rolled_back:
        return ROLLED_BACK
    return PUBLISHED if previous is None and (first or decided == "restore") else REPLACED


def _decided(
    pointer: Pointer, since: datetime | None, at: datetime, snapshot: str, previous: str | None
) -> str:
    """Return the operator's decision for the change at an instant; empty if there was none.

    That is the last decision since the previous move. It is ignored if it concerns another snapshot than this move does,
    because it then belongs to a move that is no longer recorded.
    """
    decisions = ((_moment(x.at), x) for x in pointer.decisions)
    since_last_move = [x for when, x in decisions if when <= at and (since is None or when > since)]
    if not since_last_move:
        return ""
    last = since_last_move[-1]
    # gc removes the record of a snapshot that was rolled back; the one in its place had been served before.
    again = snapshot == pointer.snapshot and _moment(pointer.first_published_at) < at
    rolled_back = last.snapshot == previous or (previous is None and again)
    fits = {"restore": last.snapshot == snapshot, "rollback": rolled_back}.get(last.act, True)
    return last.act if fits else ""


def served_at(pointer: Pointer, moment: datetime) -> str | None:
    """Return the snapshot that was served at a moment, by the times that a pointer records. Pure.

    Returns
    -------
    str or None
        The empty snapshot if the alpha was withdrawn then; None if nothing was served, or gc removed its record.
    """
    begun = {
        snapshot: _moment(earlier.published_at)
        for snapshot, earlier in pointer.earlier.items()
        if _moment(earlier.published_at) <= moment < _moment(earlier.replaced_at)
    }
    first = _moment(pointer.first_published_at)
    if first <= moment:
        begun[pointer.snapshot] = first
    # A snapshot that was served again has one span around those of the snapshots served meanwhile; the decisions date when a
    # withdrawal, or what was served before it, began again within that span.
    empty = empty_snapshot_ids(pointer)
    for decision in pointer.decisions:
        again = {"withdraw": empty, "restore": frozenset((decision.snapshot,))}.get(decision.act, frozenset())
        at = _moment(decision.at)
        begun |= {snapshot: at for snapshot in again & begun.keys() if at <= moment}
    return max(begun, key=begun.__getitem__, default=None)


def empty_snapshot_ids(pointer: Pointer) -> frozenset[str]:
    """Return the ids of the empty snapshots of a withdrawn alpha."""
    if pointer.is_withdrawn or pointer.decisions:
        return empty_snapshots(pointer.alpha_id)
    return frozenset()


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
