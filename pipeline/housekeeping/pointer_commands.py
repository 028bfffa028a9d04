"""``alpha-results rollback``, ``withdraw`` and ``restore``: change the served snapshot of an alpha."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import click
import orjson

from datasets.layout import DESCRIPTION, MANIFEST, snapshot_path
from datasets.manifest import FileEntry, Manifest, digest, has_content_id
from datasets.pointer import Pointer, make_pointer
from datasets.provenance.integrity import check_files, read_manifests
from pipeline.housekeeping.command_line import decision, opened, print_json
from schemas.console.terminal import echo
from schemas.errors import AlphaNotPublished, SnapshotCorrupt

if TYPE_CHECKING:
    from datasets.storage import Storage


@decision("rollback")
@click.option("--to", "snapshot", help="Snapshot to serve; by default the last one whose figures differ.")
def rollback(
    *, alpha: str, snapshot: str | None, reason: str | None, root: str, single_writer: bool, as_json: bool
) -> None:
    """Serve an earlier snapshot of ALPHA: only the pointer moves, in one step.

    Every file of the snapshot is compared with its digest first. The replaced snapshot stays in the root, and its seal is
    recorded as rolled back: no build serves that seal again without --force, while later seals are built and served as
    usual. If both snapshots are builds of the same seal, only the replaced build is recorded.

    Exit code: 0, 9 when there is no such alpha or snapshot, 3 while gc removes the snapshot or the alpha is withdrawn, or
    if another snapshot was published meanwhile, 4 when it is not intact, 5 when the store is unavailable.
    """
    from datasets.publication.decisions import author, roll_back
    from datasets.publication.pointers import refuse_withdrawn, require_served

    storage = opened(root, single_writer=single_writer)
    by = author(reason)
    current = require_served(storage, alpha)
    refuse_withdrawn(current)
    # An empty id, as from an unset variable of a script, is refused like any other that is no id.
    target = _before(storage, current) if snapshot is None else snapshot
    try:
        pointer, manifest = _intact(storage, alpha, target)
    except SnapshotCorrupt as error:
        raise SnapshotCorrupt(f"{error}; {current.snapshot} stays served") from error
    if pointer.is_withdrawn:
        raise AlphaNotPublished(
            f"{alpha}: snapshot {target} is the empty placeholder of a withdrawal; "
            f"`alpha-results withdraw {alpha}` stops serving the alpha"
        )
    published = roll_back(storage, pointer, manifest, by, current.snapshot)
    if as_json:
        print_json(asdict(published) | {"before": current.snapshot})
    elif published.changed:
        echo(f"{alpha}: serves snapshot {target} (sealed {pointer.sealed_at}) in place of {current.snapshot}")
    else:
        echo(f"{alpha}: unchanged, snapshot {target} is served already")


@decision("withdraw")
def withdraw_command(
    *, alpha: str, reason: str | None, root: str, single_writer: bool, as_json: bool
) -> None:
    """Stop serving ALPHA: it leaves the list, and every call on it is answered 404 within a poll.

    No build serves it again, even with --force or of a later seal; only `restore` does. gc removes its snapshots
    once --grace has passed.

    Exit code: 0, 9 when there is no such alpha, 4 when its pointer cannot be read, 5 when the store is unavailable.
    """
    from datasets.publication.decisions import author, withdraw

    published = withdraw(opened(root, single_writer=single_writer), alpha, author(reason))
    if as_json:
        print_json(asdict(published) | {"withdrawn": True})
    elif published.changed:
        echo(f"{alpha}: withdrawn; `alpha-results restore {alpha}` undoes that")
    else:
        echo(f"{alpha}: unchanged, it is withdrawn already")


@decision("restore")
def restore_command(*, alpha: str, reason: str | None, root: str, single_writer: bool, as_json: bool) -> None:
    """Undo the withdrawal of ALPHA: serve the last snapshot again.

    If gc has removed its files, or one of them is damaged, the next build of a seal of ALPHA publishes the alpha again.

    Exit code: 0, 9 when there is no such alpha, 3 while gc removes its files, 4 when its pointer cannot be read, 5 when
    the store is unavailable.
    """
    from datasets.publication.decisions import author, restore
    from datasets.publication.pointers import require_served

    storage = opened(root, single_writer=single_writer)
    by = author(reason)
    current = require_served(storage, alpha)
    if not current.withdrawn:
        if as_json:
            print_json({"alpha_id": alpha, "snapshot": current.snapshot, "changed": False, "served": True})
        else:
            echo(f"{alpha}: unchanged, it is not withdrawn")
        return
    last_served = None
    try:
        last_served = _intact(storage, alpha, current.withdrawn)
    except (AlphaNotPublished, SnapshotCorrupt) as error:
        echo(f"note: {error}", err=True)
    if last_served is not None and last_served[0].is_withdrawn:
        last_served = None  # withdrawn before a snapshot was served
    published = restore(storage, alpha, by, last_served)
    if as_json:
        print_json(asdict(published) | {"served": last_served is not None})
    elif last_served is not None:
        echo(f"{alpha}: restored, serves snapshot {published.snapshot} (sealed {last_served[0].sealed_at})")
    else:
        echo(f"{alpha}: restored, but no snapshot is left to serve; build its seal")


def _before(storage: Storage, current: Pointer) -> str:
    """Return the last snapshot, served before the current one, whose figures differ from it."""
    earlier = [s for s in current.earlier if s not in (*current.removing, *current.rolled_back)]
    earlier.sort(key=lambda snapshot: (current.earlier[snapshot].replaced_at, snapshot), reverse=True)
    manifests = read_manifests(storage, current.alpha_id, earlier)
    for snapshot in earlier:
        manifest = manifests.get(snapshot)
        if manifest is None or not manifest.kinds:
            continue  # its files were removed, or it is the empty snapshot of a withdrawal
        # Skip builds of the same seal with other library versions, and seals that were rolled back.
        built_from = (manifest.seal_digest, manifest.schema_version)
        same = built_from == (current.seal_digest, current.schema_version)
        if not same and not current.was_rolled_back(*built_from):
            return snapshot
    raise AlphaNotPublished(
        f"{current.alpha_id} has no earlier snapshot left to serve; build its seal instead"
    )


def _intact(storage: Storage, alpha: str, snapshot: str) -> tuple[Pointer, bytes]:
    """Compare every file of a snapshot with its digest; return a pointer to it and the bytes of its manifest.

    Raises AlphaNotPublished when the root has no such snapshot, SnapshotCorrupt when a file differs.
    """
    from datasets.headline import stored_headline

    path = f"{snapshot_path(alpha, snapshot)}/{MANIFEST}"
    try:
        encoded = storage.read(path)
    except FileNotFoundError:
        raise AlphaNotPublished(
            f"{alpha} has no snapshot {snapshot}; `alpha-results show {alpha}` lists those it has"
        ) from None
    manifest = Manifest.decode(encoded, path)
    if not has_content_id(encoded, snapshot):
        raise SnapshotCorrupt(f"snapshot {snapshot} is not intact: {path} does not match its id")
    description: dict[str, object] | None = None

    def describe(entry: FileEntry, data: bytes) -> None:
        nonlocal description
        if entry.path == DESCRIPTION:
            description = orjson.loads(data)

    faults = check_files(storage, manifest, alpha, snapshot, describe)
    if faults:
        raise SnapshotCorrupt(f"snapshot {snapshot} is not intact: {faults[0].file} {faults[0].message}")
    pointer = make_pointer(manifest, digest(encoded), description)
    return replace(pointer, headline=stored_headline(storage, manifest)), encoded
