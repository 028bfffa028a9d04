"""Accounts: the owners of keys, and the ceilings to which keys are clamped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import sqlalchemy as sa

from schemas.errors import AccessError
from serve.auth.admin import validation
from serve.auth.admin.acts import Acts, act
from serve.auth.allow_list import ALL, DEFAULT_CEILING
from serve.auth.store.repository import Account, Repository
from serve.auth.store.tables import Role
from serve.auth.tokens import new_id


def find_account(rows: Repository, email_or_id: str, *, to_change: bool = False) -> Account:
    """Return an account by e-mail address or id, locked until the transaction ends if it is to be changed.

    Raises
    ------
    AccessError
        When there is none.
    """
    wanted = email_or_id.strip()
    account = rows.account(wanted, to_change=to_change)
    if account is None:
        raise AccessError(
            f"account: there is none of {wanted!r}; `accounts list` shows them, `accounts create` makes one"
        )
    return account


class Accounts(Acts):
    """The acts on accounts."""

    @act
    def create(
        self,
        rows: Repository,
        /,
        email: str,
        *,
        admin: bool = False,
        **ceilings: str | None,
    ) -> Account:
        """Open an account.

        Its keys may call the three meta endpoints until an operator opens more of them here or by `change`. Alphas
        and runs are granted key by key, so their ceiling is `all` unless it is narrowed.

        Raises
        ------
        AccessError
            When the address is none or is taken, or a ceiling is not understood.
        """
        account = Account(
            id=new_id(),
            email=validation.email(email),
            role=Role.ADMIN if admin else Role.USER,
            active=True,
            created_at=self.now(),
            **(_DEFAULT_CEILINGS | _stored(ceilings, admin=admin)),
        )
        try:
            rows.add_account(account)
        except sa.exc.IntegrityError:
            raise AccessError(
                f"email: {account.email} has an account already; `accounts set` changes it, `accounts activate` reopens it"
            ) from None
        self.note(rows, "account.create", account.id, account.to_json())
        return account

    @act
    def all(self, rows: Repository) -> list[Account]:
        """Return every account, oldest first."""
        return rows.accounts()

    @act
    def find(self, rows: Repository, email_or_id: str) -> Account:
        """Return one account; raises for an unknown one."""
        return find_account(rows, email_or_id)

    @act
    def change(
        self,
        rows: Repository,
        /,
        email_or_id: str,
        *,
        email: str | None = None,
        admin: bool | None = None,
        **ceilings: str | None,
    ) -> Account:
        """Change address, role or ceiling; None keeps a value. Changes apply from the next call of every key."""
        account = find_account(rows, email_or_id, to_change=True)
        role = account.role if admin is None else (Role.ADMIN if admin else Role.USER)
        after = {"role": str(role), **_stored(ceilings, admin=role == Role.ADMIN)}
        if email is not None:
            after["email"] = validation.email(email)
        return self._update(rows, account, "account.set", after)

    @act
    def deactivate(self, rows: Repository, email_or_id: str) -> Account:
        """Close an account: all its keys answer ``account_inactive`` until it is activated again."""
        account = find_account(rows, email_or_id, to_change=True)
        if not account.active:
            raise AccessError(f"{account.email} is deactivated already; `accounts activate` reopens it")
        return self._update(rows, account, "account.deactivate", {"active": False})

    @act
    def activate(self, rows: Repository, email_or_id: str) -> Account:
        """Reopen an account: its keys work again as they are."""
        account = find_account(rows, email_or_id, to_change=True)
        if account.active:
            raise AccessError(f"{account.email} is active already; `accounts deactivate` closes it")
        return self._update(rows, account, "account.activate", {"active": True})

    def _update(self, rows: Repository, account: Account, action: str, after: dict[str, Any]) -> Account:
        changed = validation.changes({name: getattr(account, name) for name in after}, after)
        try:
            rows.change_account(account.id, after)
        except sa.exc.IntegrityError:
            raise AccessError(f"email: {after['email']} belongs to another account; choose another") from None
        self.note(rows, action, account.id, changed)
        return find_account(rows, account.id)


_DEFAULT_CEILINGS: Final = {
    "ceiling_endpoints": DEFAULT_CEILING.dumps(),
    "ceiling_alphas": ALL.dumps(),
    "ceiling_runs": ALL.dumps(),
}


def _stored(ceilings: Mapping[str, str | None], *, admin: bool) -> dict[str, str]:
    """Read ceilings as they are stored, by column; what is None is left out."""
    read = {}
    for column, text in ceilings.items():
        option = column.replace("_", "-")
        if text is not None and column == "ceiling_endpoints":
            read[column] = validation.endpoints(text, option, admin=admin).dumps()
        elif text is not None:
            read[column] = validation.alphas(text, option).dumps()
    return read
