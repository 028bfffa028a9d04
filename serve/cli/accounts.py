"""`accounts`: manage the owners of keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import click

from schemas.settings.options import options
from serve.cli.published import require_published, unpublished_option
from serve.cli.session import Session, on_store

if TYPE_CHECKING:
    from serve.auth.admin import Administration
    from serve.auth.store.repository import Account


@click.group()
def accounts() -> None:
    """Open, change and close accounts, the owners of keys.

    An account's ceiling bounds all of its keys, including those issued before.
    """


_ceiling: Final = options(
    click.option("--ceiling-endpoints", metavar="LIST", help="Endpoints: all, or registry ids with commas."),
    click.option("--ceiling-alphas", metavar="LIST", help="Alphas: all, prefix:P,… or list:a,b."),
    click.option("--ceiling-runs", metavar="LIST", help="Runs: all, prefix:P,… or list:a,b."),
    unpublished_option,
)


def _print(
    session: Session, operation: Callable[[Administration], Account], *, writable: bool = True
) -> None:
    session.print_object(session.administer(operation, writable=writable).to_json())


@accounts.command()
@click.option("--email", required=True, help="Address of the owner; one account each.")
@click.option("--admin", is_flag=True, help="Make the owner an administrator.")
@_ceiling
@on_store
def create(session: Session, /, *, email: str, admin: bool, unpublished: bool, **ceiling: str | None) -> None:
    """Open an account.

    Its keys may call the three meta endpoints until --ceiling-endpoints opens more, here or with `accounts set`. `all`
    includes the administrative endpoints for an administrator, never for another account. The ceiling of alphas and runs
    is all unless it is narrowed here; a key that is issued without grants reads those that start with Test_.
    """
    require_published(session.datasets, ceiling, unpublished=unpublished)
    _print(session, lambda a: a.accounts.create(email, admin=admin, **ceiling))


@accounts.command("list")
@on_store
def list_all(session: Session) -> None:
    """List every account, oldest first."""
    rows = [account.to_json() for account in session.administer(lambda a: a.accounts.all(), writable=False)]
    session.print_rows(("email", "role", "active", "ceiling", "created_at", "user_id"), rows)


@accounts.command()
@click.argument("account")
@on_store
def show(session: Session, account: str) -> None:
    """Show one account, given by e-mail address or id."""
    _print(session, lambda a: a.accounts.find_account(account), writable=False)


@accounts.command("set")
@click.argument("account")
@click.option("--email", help="New e-mail address.")
@click.option("--admin/--no-admin", default=None, help="Whether the owner is an administrator.")
@_ceiling
@on_store
def change(session: Session, /, account: str, unpublished: bool, **values: Any) -> None:
    """Change address, role or ceiling of an account.

    Its keys follow at their next call.
    """
    require_published(session.datasets, values, unpublished=unpublished)
    _print(session, lambda a: a.accounts.change(account, **values))


@accounts.command()
@click.argument("account")
@on_store
def deactivate(session: Session, account: str) -> None:
    """Close an account.

    Its keys answer 403 account_inactive from their next call on.
    """
    _print(session, lambda a: a.accounts.deactivate(account))


@accounts.command()
@click.argument("account")
@on_store
def activate(session: Session, account: str) -> None:
    """Reopen a closed account; its keys work again unchanged."""
    _print(session, lambda a: a.accounts.activate(account))
