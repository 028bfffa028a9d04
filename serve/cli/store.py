"""`access`: the store itself and its schema; `audit`: who did what in it."""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict

import click

from schemas.terminal import echo
from serve.cli.session import (
    administer,
    json_option,
    make_settings,
    print_fields,
    print_json,
    print_table,
    store_options,
)


@click.group()
def access() -> None:
    """Show the store of accounts and keys, and bring its schema up or down."""


@access.command()
@json_option
@store_options
def show(access_url: str | None, datasets: str | None, as_json: bool) -> None:
    """Show where the store is and which revision of the schema it holds."""
    from serve.auth.store.opening import revision  # noqa: PLC0415 - it loads the store, and --help does without
    from serve.auth.store.tables import REVISION  # noqa: PLC0415 - as above

    location = make_settings(access_url, datasets).location
    found = {"store": location.shown, "revision": asyncio.run(revision(location)), "head": REVISION}
    (print_json if as_json else print_fields)(found)


@access.command()
@store_options
def upgrade(access_url: str | None, datasets: str | None) -> None:
    """Bring the store to the newest revision.

    An empty store is set up when it is first opened; one at an older revision only by this command, as programs that are
    still running may depend on it.
    """
    asyncio.run(_migrate(access_url, datasets, None))


@access.command()
@click.option(
    "--to", "target", required=True, metavar="REVISION", help="Where to stop; base removes everything."
)
@click.confirmation_option(prompt="What later revisions added is lost, with its rows. Go on?")
@store_options
def downgrade(access_url: str | None, datasets: str | None, target: str) -> None:
    """Bring the store to an older revision; rows of the tables it did not have are lost."""
    asyncio.run(_migrate(access_url, datasets, target))


async def _migrate(access_url: str | None, datasets: str | None, target: str | None) -> None:
    """Bring the store down to a revision, or up to the newest where none is named."""
    from serve.auth.store import opening  # noqa: PLC0415 - as in `show`

    location = make_settings(access_url, datasets).location
    before = await opening.revision(location)
    await (opening.upgrade(location) if target is None else opening.downgrade(location, target))
    after = await opening.revision(location)
    echo(f"{location.shown}: revision {before or opening.BASE} -> {after or opening.BASE}")


@click.group(invoke_without_command=True)
@click.option("--subject", metavar="ID", help="Only what was done to this key or account id.")
@click.option("--limit", default=100, show_default=True, type=click.IntRange(min=1), help="Rows at most.")
@json_option
@store_options
def audit(
    access_url: str | None, datasets: str | None, as_json: bool, subject: str | None, limit: int
) -> None:
    """Show the audit log, newest first. Its rows can be neither changed nor removed."""
    entries = administer(
        access_url, datasets, lambda a: a.audit_log.entries(subject=subject, limit=limit), writable=False
    )
    if as_json:
        print_json([asdict(entry) for entry in entries])
        return
    print_table(
        ("id", "at", "actor", "action", "subject", "detail"),
        [
            (str(x.id), x.at, x.actor, x.action, x.subject, json.dumps(x.detail, ensure_ascii=False))
            for x in entries
        ],
    )
