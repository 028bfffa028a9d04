"""``alpha-results withdraw`` and ``restore``: take an alpha out of the service, and bring it back."""

from __future__ import annotations

from dataclasses import asdict

import click

from datasets.publication.decisions import author, restore, withdraw
from datasets.publication.pointers import served
from pipeline.housekeeping.command_line import json_option, opened, print_json, reason_option, root_option
from pipeline.housekeeping.earlier import intact
from schemas.errors import AlphaNotPublished, SnapshotCorrupt
from schemas.settings.options import switch_option
from schemas.terminal import echo


@click.command("withdraw")
@click.argument("alpha")
@reason_option
@root_option
@switch_option("single_writer")
@json_option
def withdraw_command(
    *, alpha: str, reason: str | None, root: str, single_writer: bool, as_json: bool
) -> None:
    """Serve nothing of ALPHA any more: it leaves the list, and every call on it is answered 404 within a poll.

    No build brings it back, forced or not, of the same seal or a later one; `restore` does. gc removes its snapshots
    once --grace has passed.

    Exit code: 0, 9 when there is no such alpha, 4 when its pointer cannot be read, 5 when the store is away.
    """
    published = withdraw(opened(root, single_writer=single_writer), alpha, author(reason))
    if as_json:
        print_json(asdict(published) | {"withdrawn": True})
    elif published.changed:
        echo(f"{alpha}: withdrawn; `alpha-results restore {alpha}` takes that back")
    else:
        echo(f"{alpha}: unchanged, it is withdrawn already")


@click.command("restore")
@click.argument("alpha")
@reason_option
@root_option
@switch_option("single_writer")
@json_option
def restore_command(*, alpha: str, reason: str | None, root: str, single_writer: bool, as_json: bool) -> None:
    """Take the withdrawal of ALPHA back: serve again what was served then.

    When gc removed those files meanwhile, or one of them is damaged, the next build of a seal of ALPHA publishes it.

    Exit code: 0, 9 when there is no such alpha, 3 while gc removes its files, 4 when its pointer cannot be read, 5 when
    the store is away.
    """
    storage = opened(root, single_writer=single_writer)
    by = author(reason)
    current = served(storage, alpha)
    if current is None:
        raise AlphaNotPublished(f"{storage.address} publishes no alpha {alpha!r}")
    if not current.withdrawn:
        if as_json:
            print_json({"alpha_id": alpha, "snapshot": current.snapshot, "changed": False, "served": True})
        else:
            echo(f"{alpha}: unchanged, it is not withdrawn")
        return
    left = None
    try:
        left = intact(storage, alpha, current.withdrawn)
    except (AlphaNotPublished, SnapshotCorrupt) as error:
        echo(f"note: {error}", err=True)
    if left is not None and left[0].is_withdrawn:
        left = None  # it was withdrawn when nothing of it was served
    published = restore(storage, alpha, by, *(left or (None, None)))
    if as_json:
        print_json(asdict(published) | {"served": left is not None})
    elif left is not None:
        echo(f"{alpha}: restored, serves snapshot {published.snapshot} (sealed {left[0].sealed_at})")
    else:
        echo(f"{alpha}: restored; nothing is left to serve, build its seal")
