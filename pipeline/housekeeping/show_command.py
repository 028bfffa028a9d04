"""``alpha-results show``: every snapshot of one alpha."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click
from rich.table import Column

from datasets.manifest import NO_SEAL, Manifest
from datasets.provenance.integrity import read_manifests
from datasets.provenance.sealed_weeks import describe
from pipeline.housekeeping.command_line import (
    json_option,
    opened,
    print_json,
    root_option,
    size_text,
)
from schemas.console.screen import Screen, make_table
from schemas.console.terminal import echo
from schemas.instants import utc_text

if TYPE_CHECKING:
    from datasets.pointer import Pointer
    from datasets.publication.retention import StoredSnapshot


@click.command()
@click.argument("alpha")
@root_option
@json_option
def show(alpha: str, root: str, as_json: bool) -> None:
    """Show the served snapshot of ALPHA, its comparison with earlier seals, and all its snapshots in the root.

    Exit code: 0, 9 when there is no such alpha, 4 when its pointer cannot be read, 5 when the store is unavailable.
    """
    from datasets.publication.earlier_seals import earlier_seals
    from datasets.publication.pointers import not_published, published_alphas, served
    from datasets.publication.retention import list_snapshots

    storage = opened(root)
    pointer, stored = served(storage, alpha), list_snapshots(storage, alpha)
    if pointer is None and not stored:
        raise not_published(storage, alpha, published_alphas(storage))
    # A snapshot with an unreadable manifest is shown as unfinished; verify reports damage of the served one.
    manifests = read_manifests(storage, alpha, [each.snapshot for each in stored])
    seals = earlier_seals(storage, alpha)
    rows = [_row(each, pointer, manifests.get(each.snapshot)) for each in stored]
    rows.sort(key=lambda row: (row["state"] == "served", row["until"] or row["written"]), reverse=True)
    shown = pointer if pointer and not pointer.is_withdrawn else None
    current = manifests.get(shown.snapshot) if shown else None
    if as_json:
        print_json(
            {
                "alpha_id": alpha,
                "served": asdict(shown) if shown else None,
                "withdrawn": bool(pointer and pointer.withdrawn),
                "decisions": [asdict(each) for each in pointer.decisions] if pointer else [],
                "manifest": asdict(current) if current else None,
                "snapshots": rows,
                "seals": [
                    {
                        "seal_digest": x.seal_digest,
                        "sealed_at": x.sealed_at,
                        "snapshot": x.snapshot,
                        "weeks": len(x.weeks),
                    }
                    for x in seals
                ],
            }
        )
        return
    console = Screen()
    table = make_table(
        Column("snapshot", no_wrap=True),
        "state",
        "sealed",
        "written",
        "served until",
        "files",
        "size",
        title=alpha,
    )
    for row in rows:
        table.add_row(
            row["snapshot"], row["state"], row["sealed_at"] or "", row["written"], row["until"] or "",
            str(row["files"]), size_text(row["bytes"]),
        )  # fmt: skip
    console.print(table)
    if pointer is not None:
        _show_decisions(pointer)
    if current:
        _show_files(console, current)
    elif shown is not None:
        echo(
            f"warning: the manifest of the served snapshot {shown.snapshot} is missing or damaged; `alpha-results verify {alpha}` "
            "says how to repair it",
            err=True,
        )


def _show_decisions(pointer: Pointer) -> None:
    if pointer.withdrawn:
        echo("withdrawn: nothing is served")
    for each in pointer.decisions:
        reason = f": {each.reason}" if each.reason else ""
        echo(f"{each.at[:19]}Z {each.act} of snapshot {each.snapshot} by {each.by}{reason}")


def _show_files(console: Screen, manifest: Manifest) -> None:
    table = make_table("file", "rows", "size", "from", "to", title=f"files of {manifest.snapshot}")
    for entry in manifest.files:
        table.add_row(
            entry.path, f"{entry.rows:,}", size_text(entry.bytes), entry.first or "", entry.last or ""
        )
    console.print(table)
    for warning in manifest.warnings:
        echo(f"warning {warning['rule']}: {warning['message']}")
    for earlier in manifest.history:
        echo(f"{earlier['outcome']} {describe(earlier)}")


def _row(stored: StoredSnapshot, pointer: Pointer | None, manifest: Manifest | None) -> dict[str, Any]:
    replaced = pointer.earlier.get(stored.snapshot) if pointer else None
    sealed = None if manifest is None or manifest.seal_digest == NO_SEAL else manifest
    return {
        "snapshot": stored.snapshot,
        "state": _state(stored, pointer, manifest),
        "sealed_at": sealed.sealed_at if sealed else None,
        "seal_digest": sealed.seal_digest if sealed else None,
        "written": utc_text(stored.written, "seconds"),
        "until": replaced.replaced_at if replaced else None,
        "files": stored.files,
        "bytes": stored.bytes,
    }


def _state(stored: StoredSnapshot, pointer: Pointer | None, manifest: Manifest | None) -> str:
    if pointer is not None:
        for state, members in (
            ("empty" if pointer.is_withdrawn else "served", (pointer.snapshot,)),
            ("withdrawn", (pointer.withdrawn,)),
            ("being removed", pointer.removing),
            ("rolled back", pointer.rolled_back),
        ):
            if stored.snapshot in members:
                return state
    if manifest is None:
        return "unfinished"
    if manifest.seal_digest == NO_SEAL:
        return "empty"
    return "replaced" if pointer is not None and stored.snapshot in pointer.earlier else "never served"
