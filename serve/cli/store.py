"""`access`: the store and its schema; `audit`: its audit log."""

from __future__ import annotations

import asyncio
import json

import click

from schemas.console.terminal import echo
from schemas.settings.options import WholeNumber
from serve.cli.session import Session, on_store


@click.group()
def access() -> None:
    """Show the store of accounts and keys, and upgrade its schema."""


@access.command()
@on_store
def show(session: Session) -> None:
    """Show the address and the schema revision of the store."""
    from serve.auth.store.opening import revision  # noqa: PLC0415 - it loads the store, which --help does not need
    from serve.auth.store.tables import REVISION  # noqa: PLC0415 - as above

    location = session.settings.location
    current = asyncio.run(revision(location))
    session.print_object({"store": location.shown, "revision": current, "head": REVISION})


@access.command()
@on_store
def upgrade(session: Session) -> None:
    """Upgrade the store to the newest revision.

    An empty store is set up when it is first opened; one at an older revision only by this command, as programs that are
    still running may depend on it.
    """
    from serve.auth.store import opening  # noqa: PLC0415 - as in `show`

    async def migrate() -> tuple[str | None, str | None]:
        before = await opening.revision(location)
        await opening.upgrade(location)
        return before, await opening.revision(location)

    location = session.settings.location
    before, after = asyncio.run(migrate())
    if session.as_json:
        session.print_object({"store": location.shown, "before": before, "after": after})
    else:
        echo(f"{location.shown}: revision {before or 'none'} -> {after}")


@click.command()
@click.option("--subject", metavar="ID", help="Only entries about this key or account id.")
@click.option(
    "--limit", default=100, show_default=True, type=WholeNumber(min=1), help="Maximum number of rows."
)
@on_store
def audit(session: Session, subject: str | None, limit: int) -> None:
    """Show the audit log, newest first. Its rows can be neither changed nor removed."""
    rows = session.administer(lambda a: a.audit_log(subject=subject, limit=limit), writable=False)
    if not session.as_json:
        rows = [row | {"detail": json.dumps(row["detail"], ensure_ascii=False)} for row in rows]
    session.print_rows(("id", "at", "actor", "action", "subject", "detail"), rows)
