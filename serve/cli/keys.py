"""`keys`: issue and manage keys."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from schemas.console.terminal import echo
from schemas.errors import AlphaResultsError, DiskUnavailable, SettingsError
from schemas.instants import instant, utc_text
from schemas.limits import RATE_EXAMPLE, WITHOUT_LIMIT
from schemas.settings.options import options
from schemas.settings.readers import duration
from serve.cli.published import require_published, unpublished_option
from serve.cli.session import Session, on_store
from serve.sharing.profile import make_profile

if TYPE_CHECKING:
    from serve.auth.admin import Administration
    from serve.auth.store.repository import KeyRecord


@click.group()
def keys() -> None:
    """Issue, change and end keys.

    Lists are `all`, `prefix:Test_,Prod_` or `list:alpha_one,alpha_two`; endpoints are `all` or registry ids
    with commas. Grants beyond the account's ceiling have no effect.
    """


_grants: Final = options(
    click.option("--endpoints", metavar="LIST", help="Endpoints it may call, within its account's ceiling."),
    click.option("--alphas", metavar="LIST", help="Alphas it may list and read the description of."),
    click.option("--runs", metavar="LIST", help="Alphas whose data it may read."),
    click.option(
        "--rate", metavar="LIMITS", help=f"{RATE_EXAMPLE}, or some of them; {WITHOUT_LIMIT} means no limit."
    ),
    click.option("--expires", metavar="WHEN", help="ISO date or time, by default in UTC; or never."),
    click.option("--ips", metavar="LIST", help="Addresses and blocks it may be used from, or any."),
    click.option("--raw/--no-raw", default=None, help="Show or hide the fields and books of the raw signal."),
)


@keys.command()
@click.option("--account", help="E-mail address or id of the owner; needed without --like.")
@click.option("--name", help="Label of the key; needed without --like.")
@click.option("--like", metavar="KEY_ID", help="Copy the grants of this key, except those given here.")
@_grants
@click.option(
    "--profile",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Also write the key as a Delta Sharing profile, into a new file that only you may read; needs --url.",
)
@click.option(
    "--url",
    envvar="ALPHA_RESULTS_PUBLIC_URL",
    metavar="URL",
    help="Address of the service, for the profile, such as https://alphas.example.org.",
)
@unpublished_option
@on_store
def issue(
    session: Session,
    /,
    *,
    account: str | None,
    name: str | None,
    like: str | None,
    profile: Path | None,
    url: str | None,
    unpublished: bool,
    **grants: Any,
) -> None:
    """Issue a key and show its token, once.

    Without --endpoints, or with all of them, it may call what its account's ceiling allows: the three meta endpoints,
    unless `accounts create` or `accounts set` opened more. Without other grants it reads the alphas that start with Test_,
    within the limits that --rate shows.
    """
    for option, value in {"--account": account, "--name": name}.items():
        if value is None and like is None:
            raise click.UsageError(f"Missing option '{option}', or --like with the id of a key that has it.")
    require_published(session.datasets, grants, unpublished=unpublished)

    def issue_key(a: Administration) -> tuple[dict[str, Any], str]:
        issued = a.keys.issue(account, name, like=like, **grants)
        return a.keys.to_json(issued.record), issued.token

    with _profile_file(profile, url):
        row, token = session.administer(issue_key)
        _warn_of_ceiling(row, endpoints=grants["endpoints"])
        # The token first: the key already works, and nothing shows the token again.
        _print_token(session, row, token)
        if profile is not None and url is not None:
            _write_profile(profile, make_profile(url, token, row["expires_at"]))


def _warn_of_ceiling(row: dict[str, Any], *, endpoints: str | None) -> None:
    granted = dict(row["granted"])
    if endpoints is None and granted["endpoints"] == {"mode": "all"}:
        granted["endpoints"] = row["allow"]["endpoints"]  # the ceiling
    if granted != row["allow"]:
        echo(
            "The account's ceiling is narrower than the grants; `allow` shows the grants in force."
            " `accounts set` with --ceiling-endpoints, --ceiling-alphas and --ceiling-runs opens more.",
            err=True,
        )


@contextlib.contextmanager
def _profile_file(path: Path | None, url: str | None) -> Iterator[None]:
    """Create the file of a profile, which only this user may read, and remove it if the block fails."""
    if path is None:
        yield
        return
    if not url:
        raise click.UsageError("--profile needs --url, or ALPHA_RESULTS_PUBLIC_URL.")
    from serve.downloads.links import checked_url  # noqa: PLC0415 - it loads the storage, which --help does not need

    checked_url(url, "--url or ALPHA_RESULTS_PUBLIC_URL")
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except OSError as error:
        raise SettingsError(
            f"--profile: {path} cannot be written: {error.strerror}; name a new file in a folder that you may write to."
            " No key was issued"
        ) from error
    try:
        yield
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def _write_profile(path: Path, text: str) -> None:
    try:
        path.write_text(text)
    except OSError as error:
        raise DiskUnavailable(
            f"--profile: {path} cannot be written: {error.strerror}. The key is issued, and its token is shown above"
        ) from error


def _print_token(session: Session, row: dict[str, Any], token: str, **extra: Any) -> None:
    if session.as_json:
        session.print_object({"key_id": row["key_id"], "token": token, **row, **extra})
        return
    session.print_object(row)
    echo("The token, shown now and never again:", err=True)
    echo(token)


@keys.command()
@click.argument("key_id")
@click.option(
    "--grace",
    metavar="DURATION",
    help="How long the old token still works, such as 12h or 7d; 0s revokes it at once. Without it the old token works until"
    " `keys revoke`.",
)
@on_store
def rotate(session: Session, key_id: str, grace: str | None) -> None:
    """Issue another token with the rights of a key.

    The token is shown once. It belongs to a new key with its own id and counts; `keys list` shows when the old one was last
    used.
    """
    seconds = None if grace is None else _seconds(grace)

    def rotate_key(a: Administration) -> tuple[dict[str, Any], str, dict[str, Any]]:
        issued, old = a.keys.rotate(key_id, grace_seconds=seconds)
        return a.keys.to_json(issued.record), issued.token, a.keys.to_json(old)

    row, token, old = session.administer(rotate_key)
    until = old["expires_at"] or f"`keys revoke {old['key_id']}`"
    state = "is revoked" if old["status"] == "revoked" else f"works until {until}"
    echo(f"The old key {old['key_id']} {state}.", err=True)
    if (ends := row["expires_at"]) is not None:  # perhaps because of the grace of an earlier rotation
        echo(f"The new key expires as the old one did: {ends}. `keys set --expires` changes that.", err=True)
    _print_token(session, row, token, replaces=old)


def _seconds(text: str) -> int:
    try:
        return round(duration(text).total_seconds())
    except ValueError as error:
        raise click.BadParameter(f"{text!r}: {error}", param_hint="--grace") from error


def _with_last_use(session: Session, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return keys with ``last_used_at`` and ``calls_this_month``; if counts cannot be read, both are null and a line gives the reason."""
    from serve.auth.clocks import wall_us  # noqa: PLC0415 - it loads the store, which --help does not need
    from serve.auth.limits import last_uses  # noqa: PLC0415 - as above

    try:
        uses = asyncio.run(last_uses(session.settings, [row["key_id"] for row in rows], wall_us()))
    except AlphaResultsError as error:
        echo(f"warning: last use is not known: {error}", err=True)
        return [row | {"last_used_at": None, "calls_this_month": None} for row in rows]
    shown = []
    for row in rows:
        use = uses.get(row["key_id"])
        used_at = None if use is None else utc_text(instant(use.used_us))
        shown.append(row | {"last_used_at": used_at, "calls_this_month": 0 if use is None else use.calls})
    return shown


@keys.command("list")
@click.option("--account", help="Only the keys of this account.")
@click.option("--revoked", is_flag=True, help="Also show revoked keys.")
@on_store
def list_all(session: Session, account: str | None, revoked: bool) -> None:
    """List keys, newest first, with their use.

    It shows when each was last used and the calls counted this month. Both may be half a second old, and leave out refused calls. `-` means no call yet, or none in the last month.
    """
    rows = session.administer(
        lambda a: [a.keys.to_json(record) for record in a.keys.all(account, revoked=revoked)], writable=False
    )
    columns = (
        "key_id",
        "name",
        "email",
        "status",
        "last_used_at",
        "calls_this_month",
        "allow",
        "expires_at",
        "created_at",
    )
    session.print_rows(columns, _with_last_use(session, rows))


def _print(session: Session, operation: Callable[[Administration], KeyRecord]) -> None:
    session.print_object(session.administer(lambda a: a.keys.to_json(operation(a))))


@keys.command()
@click.argument("key_id")
@on_store
def show(session: Session, key_id: str) -> None:
    """Show one key and its grants.

    It shows the key's own grants and those in force under its account's ceiling.
    """
    row = session.administer(lambda a: a.keys.to_json(a.keys.find(key_id)), writable=False)
    session.print_object(_with_last_use(session, [row])[0])


@keys.command("set")
@click.argument("key_id")
@click.option("--name", help="New label.")
@_grants
@unpublished_option
@on_store
def change(session: Session, /, key_id: str, unpublished: bool, **values: Any) -> None:
    """Widen or narrow a key from its next call on.

    Other grants stay.
    """
    require_published(session.datasets, values, unpublished=unpublished)
    _print(session, lambda a: a.keys.change(key_id, **values))


@keys.command()
@click.argument("key_id")
@on_store
def suspend(session: Session, key_id: str) -> None:
    """Stop a key until it is reactivated.

    It answers 401 key_suspended.
    """
    _print(session, lambda a: a.keys.suspend(key_id))


@keys.command()
@click.argument("key_id")
@on_store
def reactivate(session: Session, key_id: str) -> None:
    """Reactivate a suspended key."""
    _print(session, lambda a: a.keys.reactivate(key_id))


@keys.command()
@click.argument("key_id")
@on_store
def revoke(session: Session, key_id: str) -> None:
    """Revoke a key permanently: it answers 401 key_revoked."""
    _print(session, lambda a: a.keys.revoke(key_id))
