"""`access`: the store itself and its schema."""

from __future__ import annotations

import asyncio

import click

from schemas.terminal import echo
from serve.cli.session import json_option, make_settings, print_fields, print_json, store_options


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
    from serve.auth.store import migrate  # noqa: PLC0415 - as in `show`
    from serve.auth.store.opening import revision  # noqa: PLC0415 - as in `show`

    location = make_settings(access_url, datasets).location
    before = await revision(location)
    await (migrate.upgrade(location) if target is None else migrate.downgrade(location, target))
    after = await revision(location)
    echo(f"{location.shown}: revision {before or migrate.BASE} -> {after or migrate.BASE}")
