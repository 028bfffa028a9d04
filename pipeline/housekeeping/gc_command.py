"""``python -m pipeline gc``: remove snapshots that nobody needs any more."""

from __future__ import annotations

import os
import socket
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import click
from rich.table import Column, Table

from datasets.layout import ALPHAS
from datasets.pointer_index import rebuild
from datasets.publication.leases import LEASES, Lease, horizon, is_stale, read_leases
from datasets.publication.publish import sweep_dead_builds
from datasets.publication.retention import GcDecision, Policy, collect
from datasets.storage import Storage
from datasets.storage.lock import DistributedLock
from pipeline.housekeeping.command_line import (
    json_option,
    opened,
    print_json,
    published_alphas,
    root_option,
    size_text,
)
from schemas.errors import SettingsError, SnapshotCorrupt
from schemas.kinds import ALPHA_ID
from schemas.screen import Screen
from schemas.settings.options import option, switch_option
from schemas.terminal import echo

_DAY: Final = timedelta(days=1)
"""How long a snapshot is kept at least after it was replaced, unless it is said otherwise."""
_FORGOTTEN: Final = timedelta(days=1)
"""Age from which a stale lease is removed: its reader is long gone."""
_DRAFT: Final = timedelta(hours=1)
"""Age from which a draft is removed: nobody is at work on it any more."""
_PREFIX: Final = "alpha_id="


@click.command("gc")
@click.argument("alphas", nargs=-1, metavar="[ALPHA]…")
@root_option
@switch_option("single_writer")
@click.option(
    "--keep",
    default=3,
    show_default=True,
    type=click.IntRange(min=1),
    help="Snapshots of an alpha to keep, the served one among them.",
)
@option("gc_grace", "grace")
@click.option("--dry-run", is_flag=True, help="Say what would go, and remove nothing.")
@json_option
def gc(
    *,
    alphas: tuple[str, ...],
    root: str,
    single_writer: bool,
    keep: int,
    grace: timedelta | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Remove the old snapshots of each ALPHA, by default of all.

    A snapshot goes when it is not served, is not one of the --keep latest, was replaced longer than --grace ago
    and no reader's lease covers it. Killed at any moment it leaves everything that is served whole, and the next
    run finishes.

    Exit code: 0, 4 when a pointer or a lease cannot be read (nothing of that alpha is removed), 5 when the store
    is away or another gc is at work.
    """
    policy = Policy(keep, _DAY if grace is None else grace)
    storage = opened(root, single_writer=single_writer)
    unknown = [alpha for alpha in alphas if not ALPHA_ID.match(alpha)]
    if unknown:
        raise SettingsError(f"{unknown[0]!r} is not an alpha address")
    if dry_run:
        decisions, broken = _run(storage, alphas, policy, None)
    else:
        with storage.acquire("gc", f"{socket.gethostname()}-{os.getpid()}") as lock:
            # First of all: on a full disk the pointers below can only be written once there is some room.
            _tidy(storage)
            decisions, broken = _run(storage, alphas, policy, lock)
            lock.renew()
            if not rebuild(storage):
                echo(
                    f"warning: the index of {storage.address} was not made anew; the next gc tries again",
                    err=True,
                )
    gone = [
        (alpha, decision)
        for alpha, found in decisions.items()
        for decision in found
        if decision.kept_because is None
    ]
    freed = sum(decision.stored.bytes for _, decision in gone)
    if as_json:
        print_json(
            {
                "dry_run": dry_run,
                "removed_snapshots": len(gone),
                "removed_bytes": freed,
                "alphas": {
                    alpha: [_row(decision) for decision in found] for alpha, found in decisions.items()
                },
                "unreadable": broken,
            }
        )
    else:
        table = Table("alpha", Column("snapshot", no_wrap=True), "written", "files", "size")
        for alpha, decision in gone:
            table.add_row(
                alpha,
                decision.stored.snapshot,
                str(decision.stored.written)[:19],
                str(decision.stored.files),
                size_text(decision.stored.bytes),
            )
        if gone:
            Screen().print(table)
        verb = "would go" if dry_run else "removed"
        echo(f"{len(gone)} snapshots {verb}, {size_text(freed)}; {len(decisions)} alphas looked at")
        for reason in broken.values():
            echo(f"error: {reason}", err=True)
    click.get_current_context().exit(SnapshotCorrupt.exit_code if broken else 0)


def _run(
    storage: Storage, alphas: tuple[str, ...], policy: Policy, lock: DistributedLock | None
) -> tuple[dict[str, tuple[GcDecision, ...]], dict[str, str]]:
    """Collect alpha by alpha; one whose pointer is broken loses nothing and stops no other."""
    names = alphas or tuple(sorted({*published_alphas(storage), *_with_files(storage)}))
    decisions: dict[str, tuple[GcDecision, ...]] = {}
    broken: dict[str, str] = {}
    now = datetime.now(UTC)
    since = horizon(read_leases(storage), now)
    for alpha in names:
        if lock is not None:
            lock.renew()
        try:
            decisions[alpha] = collect(
                storage, alpha, policy, needed_since=since, now=now, dry_run=lock is None
            )
        except SnapshotCorrupt as error:
            broken[alpha] = str(error)
    return decisions, broken


def _with_files(storage: Storage) -> list[str]:
    names = (name.removeprefix(_PREFIX) for name in storage.folders(ALPHAS) if name.startswith(_PREFIX))
    return [name for name in names if ALPHA_ID.match(name)]


def _tidy(storage: Storage) -> None:
    """Remove what dead processes left: builds, folders being removed, drafts, leases of readers long gone."""
    now = datetime.now(UTC)
    stale = [lease for lease in read_leases(storage) if _forgotten(lease, now)]
    storage.remove_files([f"{LEASES}/{lease.reader}.json" for lease in stale])
    sweep_dead_builds(storage)
    storage.sweep_staging(now - _DRAFT)


def _forgotten(lease: Lease, now: datetime) -> bool:
    return is_stale(lease, now) and now - datetime.fromisoformat(lease.refreshed_at) > _FORGOTTEN


def _row(decision: GcDecision) -> dict[str, Any]:
    return asdict(decision.stored) | {
        "removed": decision.kept_because is None,
        "kept_because": decision.kept_because,
    }
