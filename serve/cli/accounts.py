"""`accounts`: who owns keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

from serve.cli.published import require_published, unpublished_option
from serve.cli.session import (
    administer,
    json_option,
    print_fields,
    print_json,
    print_table,
    spelled,
    store_options,
)

if TYPE_CHECKING:
    from serve.auth.store.repository import Account

Command = TypeVar("Command", bound=Callable[..., Any])


@click.group()
def accounts() -> None:
    """Open, change and close accounts, the owners of keys.

    An account's ceiling bounds what any of its keys may do, also keys that were issued before.
    """


def _ceiling(command: Command) -> Command:
    for option in (
        unpublished_option,
        click.option("--ceiling-runs", metavar="LIST", help="Runs: all, prefix:P,… or list:a,b."),
        click.option("--ceiling-alphas", metavar="LIST", help="Alphas: all, prefix:P,… or list:a,b."),
        click.option(
            "--ceiling-endpoints", metavar="LIST", help="Endpoints: all, or registry ids with commas."
        ),
    ):
        command = option(command)
    return command


def _require_published(datasets: str | None, values: Mapping[str, Any], *, unpublished: bool) -> None:
    lists = {f"ceiling-{name}": values[f"ceiling_{name}"] for name in ("alphas", "runs")}
    require_published(datasets, lists, unpublished=unpublished)


def _show(account: Account, *, as_json: bool) -> None:
    (print_json if as_json else print_fields)(account.to_json())


@accounts.command()
@click.option("--email", required=True, help="Address of the owner; one account each.")
@click.option("--admin", is_flag=True, help="Give the account administrative routes.")
@_ceiling
@json_option
@store_options
def create(
    *,
    access_url: str | None,
    datasets: str | None,
    as_json: bool,
    email: str,
    admin: bool,
    unpublished: bool,
    **ceiling: str | None,
) -> None:
    """Open an account.

    Its keys may call the three meta endpoints until --ceiling-endpoints opens more, here or with `accounts set`; `all` are
    the administrative ones too for an administrator, and never for another account. The ceiling of alphas and runs is
    all unless it is narrowed: a key is granted those that start with Test_ by itself.
    """
    _require_published(datasets, ceiling, unpublished=unpublished)
    given = {name: text for name, text in ceiling.items() if text is not None}
    _show(
        administer(access_url, datasets, lambda a: a.accounts.create(email, admin=admin, **given)),
        as_json=as_json,
    )


@accounts.command("list")
@json_option
@store_options
def list_all(access_url: str | None, datasets: str | None, as_json: bool) -> None:
    """List every account, oldest first."""
    found = [
        account.to_json()
        for account in administer(access_url, datasets, lambda a: a.accounts.all(), writable=False)
    ]
    if as_json:
        print_json(found)
        return
    columns = ("email", "role", "active", "ceiling", "created_at", "user_id")
    print_table(columns, [[spelled(account[name]) for name in columns] for account in found])


@accounts.command()
@click.argument("account")
@json_option
@store_options
def show(access_url: str | None, datasets: str | None, as_json: bool, account: str) -> None:
    """Show one account, given by e-mail address or id."""
    _show(
        administer(access_url, datasets, lambda a: a.accounts.find(account), writable=False), as_json=as_json
    )


@accounts.command("set")
@click.argument("account")
@click.option("--email", help="Another address.")
@click.option("--admin/--no-admin", default=None, help="Give or take administrative routes.")
@_ceiling
@json_option
@store_options
def change(
    access_url: str | None,
    datasets: str | None,
    as_json: bool,
    account: str,
    unpublished: bool,
    **values: Any,
) -> None:
    """Change address, role or ceiling of an account; its keys follow at their next call."""
    _require_published(datasets, values, unpublished=unpublished)
    _show(
        administer(access_url, datasets, lambda a: a.accounts.change(account, **values), urgent=True),
        as_json=as_json,
    )


@accounts.command()
@click.argument("account")
@json_option
@store_options
def deactivate(access_url: str | None, datasets: str | None, as_json: bool, account: str) -> None:
    """Close an account: its keys answer 403 account_inactive from their next call on."""
    _show(
        administer(access_url, datasets, lambda a: a.accounts.deactivate(account), urgent=True),
        as_json=as_json,
    )


@accounts.command()
@click.argument("account")
@json_option
@store_options
def activate(access_url: str | None, datasets: str | None, as_json: bool, account: str) -> None:
    """Reopen a closed account; its keys work again as they are."""
    _show(administer(access_url, datasets, lambda a: a.accounts.activate(account)), as_json=as_json)
