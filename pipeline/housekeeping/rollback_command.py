"""``alpha-results rollback``: serve an earlier snapshot again."""

from __future__ import annotations

from dataclasses import asdict

import click

from datasets.integrity import read_manifests
from datasets.pointer import Pointer
from datasets.publication.decisions import author, roll_back
from datasets.publication.pointers import refuse_withdrawn, served
from datasets.storage import Storage
from pipeline.housekeeping.command_line import json_option, opened, print_json, reason_option, root_option
from pipeline.housekeeping.earlier import intact
from schemas.errors import AlphaNotPublished, SnapshotCorrupt
from schemas.settings.options import switch_option
from schemas.terminal import echo


@click.command()
@click.argument("alpha")
@click.option("--to", "snapshot", help="Snapshot to serve; by default the last one with other figures.")
@reason_option
@root_option
@switch_option("single_writer")
@json_option
def rollback(
    *, alpha: str, snapshot: str | None, reason: str | None, root: str, single_writer: bool, as_json: bool
) -> None:
    """Serve an earlier snapshot of ALPHA again: only the pointer moves, in one step.

    Every file of it is compared with its digest first. What is rolled back from stays in the root, and its seal is
    remembered: no build serves it again unless it is forced; a later seal is built and served as ever. From one build of a seal to another of the same seal, only that build is remembered.

    Exit code: 0, 9 when there is no such alpha or snapshot, 3 while gc removes the snapshot or the alpha is withdrawn,
    4 when it is not intact, 5 when the store is away.
    """
    storage = opened(root, single_writer=single_writer)
    by = author(reason)
    current = served(storage, alpha)
    if current is None:
        raise AlphaNotPublished(f"{storage.address} publishes no alpha {alpha!r}")
    refuse_withdrawn(current)
    target = snapshot or _before(storage, current)
    try:
        pointer, manifest = intact(storage, alpha, target)
    except SnapshotCorrupt as error:
        raise SnapshotCorrupt(f"{error}; {current.snapshot} stays served") from error
    if pointer.is_withdrawn:
        raise AlphaNotPublished(
            f"{alpha}: snapshot {target} is empty, it stood for the alpha while that was withdrawn; "
            f"`alpha-results withdraw {alpha}` takes it out of the service"
        )
    published = roll_back(storage, pointer, manifest, by)
    if as_json:
        print_json(asdict(published) | {"before": current.snapshot})
    elif published.changed:
        echo(f"{alpha}: serves snapshot {target} (sealed {pointer.sealed_at}) in place of {current.snapshot}")
    else:
        echo(f"{alpha}: unchanged, snapshot {target} is served already")


def _before(storage: Storage, current: Pointer) -> str:
    """Return the snapshot that was served last before the current one, of those that hold other figures."""
    earlier = [s for s in current.earlier if s not in (*current.removing, *current.rolled_back)]
    earlier.sort(key=lambda snapshot: (current.earlier[snapshot].replaced_at, snapshot), reverse=True)
    found = read_manifests(storage, current.alpha_id, earlier)
    for snapshot in earlier:
        manifest = found.get(snapshot)
        if manifest is None or not manifest.kinds:
            continue  # its files are gone, or it stood for a withdrawn alpha
        # The same seal written by another version of a library is not another run, nor is one rolled back from before.
        built_from = (manifest.seal_digest, manifest.schema_version)
        same = built_from == (current.seal_digest, current.schema_version)
        if not same and not current.was_rolled_back(*built_from):
            return snapshot
    raise AlphaNotPublished(
        f"{current.alpha_id} has no earlier snapshot left to serve; build its seal instead"
    )
