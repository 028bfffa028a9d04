"""``python -m pipeline rollback``: serve an earlier snapshot again."""

from __future__ import annotations

from dataclasses import asdict

import click
import orjson

from datasets.decisions import author, roll_back
from datasets.integrity import check_files
from datasets.layout import DESCRIPTION, MANIFEST, snapshot_path
from datasets.manifest import Manifest, Pointer, pointer_of
from datasets.pointers import served
from datasets.retention import snapshots_of
from datasets.storage import Storage
from pipeline.housekeeping.command_line import json_option, opened, print_json, reason_option, root_option
from schemas.errors import AlphaNotPublished, SnapshotCorrupt
from schemas.settings.options import switch_option


@click.command()
@click.argument("alpha")
@click.option("--to", "snapshot", help="Snapshot to serve; by default the one served before this one.")
@reason_option
@root_option
@switch_option("single_writer")
@json_option
def rollback(
    *, alpha: str, snapshot: str | None, reason: str | None, root: str, single_writer: bool, as_json: bool
) -> None:
    """Serve an earlier snapshot of ALPHA again: only the pointer moves, in one step.

    Every file of it is compared with its digest first. What is rolled back from stays in the root, and no build
    serves it again unless it is forced; a later seal is built and served as ever.

    Exit code: 0, 1 when there is no such alpha or snapshot, 3 while gc removes the snapshot, 4 when it is not
    intact, 5 when the store is away.
    """
    storage = opened(root, single_writer=single_writer)
    current = served(storage, alpha)
    if current is None:
        raise AlphaNotPublished(f"{storage.address} publishes no alpha {alpha!r}")
    target = snapshot or _before(storage, current)
    path = f"{snapshot_path(alpha, target)}/{MANIFEST}"
    try:
        encoded = storage.read(path)
    except FileNotFoundError:
        raise AlphaNotPublished(
            f"{alpha} has no snapshot {target}; `python -m pipeline show {alpha}` lists those it has"
        ) from None
    manifest = Manifest.decode(encoded, path)
    faults = check_files(storage, manifest, alpha, target)
    if faults:
        raise SnapshotCorrupt(
            f"snapshot {target} is not intact, so {current.snapshot} stays served: {faults[0].file} {faults[0].message}"
        )
    published = roll_back(
        storage, pointer_of(manifest, _description(storage, manifest)), encoded, author(reason)
    )
    if as_json:
        print_json(asdict(published) | {"before": current.snapshot})
    elif published.changed:
        click.echo(
            f"{alpha}: serves snapshot {target} (sealed {manifest.sealed_at}) in place of {current.snapshot}"
        )
    else:
        click.echo(f"{alpha}: unchanged, snapshot {target} is served already")


def _before(storage: Storage, current: Pointer) -> str:
    """Return the snapshot that was served last before the current one, of those that are still there."""
    there = {one.snapshot for one in snapshots_of(storage, current.alpha_id)} - set(current.removing)
    # One rolled back from is not what anybody wants back unnamed.
    earlier = [s for s in current.replaced if s in there and s not in current.withdrawn]
    if not earlier:
        raise AlphaNotPublished(
            f"{current.alpha_id} has no earlier snapshot left to serve; build its seal instead"
        )
    return max(earlier, key=lambda snapshot: (current.replaced[snapshot], snapshot))


def _description(storage: Storage, manifest: Manifest) -> dict[str, object] | None:
    if "description" not in manifest.kinds:
        return None
    found: dict[str, object] = orjson.loads(
        storage.read(f"{snapshot_path(manifest.alpha_id, manifest.snapshot)}/{DESCRIPTION}")
    )
    return found
