"""``alpha-results gc``: remove old snapshots."""

from __future__ import annotations

import os
import socket
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import click
from rich.table import Column

from datasets.catalogue.pointer_index import rebuild
from datasets.layout import ALPHAS
from datasets.publication.leases import LEASES, horizon, is_stale, read_leases
from pipeline.housekeeping.command_line import (
    json_option,
    named_or_all,
    opened,
    print_json,
    root_option,
    size_text,
)
from schemas.console.screen import Screen, make_table
from schemas.console.terminal import echo
from schemas.errors import SnapshotCorrupt
from schemas.instants import utc_text
from schemas.kinds import ALPHA_ID
from schemas.plurals import counted
from schemas.settings.options import WholeNumber, option
from schemas.settings.readers import duration_text

if TYPE_CHECKING:
    from datasets.publication.retention import KeepReasons, Policy, StoredSnapshot
    from datasets.storage import Renew, Storage

_DAY: Final = timedelta(days=1)
"""Default of --grace."""
_LEASE_AGE: Final = timedelta(days=1)
"""Age at which an expired lease is removed."""
_PREFIX: Final = "alpha_id="


@click.command("gc")
@click.argument("alphas", nargs=-1, metavar="[ALPHA]…")
@root_option
@option("single_writer")
@click.option(
    "--keep",
    default=3,
    show_default=True,
    type=WholeNumber(min=1),
    help="Snapshots of an alpha to keep, including the served one.",
)
@option("gc_grace", "grace")
@click.option("--dry-run", is_flag=True, help="Only list what would be removed.")
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

    A snapshot is removed if it is not served, is not one of the --keep latest, was replaced longer than --grace ago
    and is not covered by a reader's lease. gc may be killed at any moment: served snapshots stay intact, and the next
    run finishes the work.

    Kept snapshots are counted by reason; for named alphas and with --dry-run, every snapshot is listed.

    Exit code: 0; 4 when a pointer or a lease cannot be read (no snapshot of that alpha is removed); 5 when the store is
    unavailable or another gc is running; 9 when ALPHA is not in the root.
    """
    from datasets.publication.pointers import published_alphas
    from datasets.publication.retention import Policy

    policy = Policy(keep, _DAY if grace is None else grace)
    storage = opened(root, single_writer=single_writer)
    known = sorted({*published_alphas(storage), *_with_files(storage)})
    names = named_or_all(storage, alphas, known)
    if dry_run:
        decisions, broken = _run(storage, names, policy, None)
    else:
        with storage.lock("gc", f"{socket.gethostname()}-{os.getpid()}") as renew:
            # First, because on a full disk this frees the space to write the pointers below.
            _tidy(storage)
            decisions, broken = _run(storage, names, policy, renew)
            renew()
            rebuild(storage)
    rows = [(alpha, stored, reason) for alpha, each in decisions.items() for stored, reason in each.items()]
    removed = [row for row in rows if row[2] is None]
    freed = sum(stored.bytes for _, stored, _ in removed)
    if as_json:
        print_json(
            {
                "dry_run": dry_run,
                "removed_snapshots": len(removed),
                "removed_bytes": freed,
                "alphas": {
                    alpha: [_row(*decision) for decision in each.items()] for alpha, each in decisions.items()
                },
                "unreadable": broken,
            }
        )
    else:
        verb = "would be removed" if dry_run else "removed"
        if shown := rows if alphas or dry_run else removed:
            _show(shown, verb)
        echo(
            f"{counted(len(removed), 'snapshot')} {verb}, {size_text(freed)}; {counted(len(decisions), 'alpha')} checked"
        )
        stays = Counter(reason for _, _, reason in rows if reason)
        for reason, count in sorted(stays.items()):
            echo(f"kept: {count} ({_explained(reason, policy)})")
        for reason in broken.values():
            echo(f"error: {reason}", err=True)
    click.get_current_context().exit(SnapshotCorrupt.exit_code if broken else 0)


def _run(
    storage: Storage, names: Sequence[str], policy: Policy, renew: Renew | None
) -> tuple[dict[str, KeepReasons], dict[str, str]]:
    """Collect alpha by alpha; skip those with a damaged pointer."""
    from datasets.publication.retention import collect

    decisions: dict[str, KeepReasons] = {}
    broken: dict[str, str] = {}
    now = datetime.now(UTC)
    since = horizon(read_leases(storage), now)
    for alpha in names:
        if renew is not None:
            renew()
        try:
            decisions[alpha] = collect(
                storage, alpha, policy, needed_since=since, now=now, dry_run=renew is None
            )
        except SnapshotCorrupt as error:
            broken[alpha] = str(error)
    return decisions, broken


def _show(rows: Sequence[tuple[str, StoredSnapshot, str | None]], removed: str) -> None:
    table = make_table("alpha", Column("snapshot", no_wrap=True), "written", "files", "size", "outcome")
    for alpha, stored, reason in rows:
        table.add_row(
            alpha,
            stored.snapshot,
            str(stored.written)[:19],
            str(stored.files),
            size_text(stored.bytes),
            removed if reason is None else f"stays: {reason}",
        )
    Screen().print(table)


def _explained(reason: str, policy: Policy) -> str:
    """Explain why snapshots are kept, and until when."""
    from datasets.publication.retention import GRACE, LEASE, NO_POINTER

    return {
        GRACE: f"{reason}: --grace is {duration_text(policy.grace)}",
        LEASE: (
            f"{reason}: a running server or an export may still read them; the lease of a server ends when it stops, or 15 "
            "minutes after a crash, that of an export after its --days, or when its file below leases/ is removed"
        ),
        NO_POINTER: f"{reason}: their alpha has no pointer, and its first build may be running",
    }.get(reason, reason)


def _with_files(storage: Storage) -> list[str]:
    names = (name.removeprefix(_PREFIX) for name in storage.folders(ALPHAS) if name.startswith(_PREFIX))
    return [name for name in names if ALPHA_ID.match(name)]


def _tidy(storage: Storage) -> None:
    """Remove leftovers of dead processes: builds, partially removed folders, drafts, leases."""
    from datasets.publication.publish import DRAFT_AGE, sweep_staging

    now = datetime.now(UTC)
    storage.remove_files(
        f"{LEASES}/{lease.reader}.json"
        for lease in read_leases(storage)
        if is_stale(lease, now) and now - datetime.fromisoformat(lease.refreshed_at) > _LEASE_AGE
    )
    sweep_staging(storage, now - DRAFT_AGE)


def _row(stored: StoredSnapshot, reason: str | None) -> dict[str, Any]:
    written = utc_text(stored.written, "seconds")
    return asdict(stored) | {"written": written, "removed": reason is None, "kept_because": reason}
