"""Accounts, which own keys, and the ceilings to which keys are clamped; the base of all operations."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import sqlalchemy as sa

from schemas.errors import AccessError
from serve.auth.admin import validation
from serve.auth.allow_list import ALL, DEFAULT_CEILING, LISTS
from serve.auth.clocks import wall_us
from serve.auth.store.repository import Account, KeyRecord, Repository
from serve.auth.store.tables import Role, accounts, audit
from serve.auth.tokens import new_id

_DOCUMENTS: Final = frozenset((*LISTS, *(f"ceiling_{name}" for name in LISTS), "limits", "addresses"))
"""Columns with JSON text, which the audit log shows decoded."""


class Operations:
    """Operations of one operator in a transaction, which must be writable for operations that change something.

    A refused operation raises AccessError; its message names the fix.
    """

    def __init__(self, rows: Repository, actor: str) -> None:
        self.rows = rows
        self._actor = actor

    def note(self, action: str, subject: str, detail: Mapping[str, Any]) -> None:
        """Add a row to the audit log."""
        readable = {name: _decode(value) if name in _DOCUMENTS else value for name, value in detail.items()}
        text = json.dumps(readable, ensure_ascii=False)
        entry = {"at": wall_us(), "actor": self._actor, "action": action, "subject": subject, "detail": text}
        self.rows.add(audit, entry)

    def update(
        self, table: sa.Table, before: Account | KeyRecord, action: str, after: Mapping[str, Any]
    ) -> None:
        """Change columns of a row, and add each as [before, after] to the audit log; raises if none differs."""
        pairs = {name: [getattr(before, name), value] for name, value in after.items()}
        changed = {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}
        if not changed:
            raise AccessError("nothing to change: give at least one value that is not already set")
        self.rows.change(table, before.id, after)
        self.note(action, before.id, changed)

    def find_account(self, email_or_id: str, *, to_change: bool = False) -> Account:
        """Return an account by e-mail address or id, locked until the transaction ends if it is to be changed."""
        wanted = email_or_id.strip()
        account = self.rows.account(wanted, to_change=to_change)
        if account is None:
            raise AccessError(
                f"account: there is no account {wanted!r}; `accounts list` shows them, `accounts create` opens one"
            )
        return account


def _decode(value: Any) -> Any:
    if isinstance(value, list):
        return [_decode(part) for part in value]
    return json.loads(value) if isinstance(value, str) else value


class Accounts(Operations):
    """Operations on accounts."""

    def create(self, /, email: str, *, admin: bool = False, **ceilings: str | None) -> Account:
        """Open an account.

        Its keys may call the three meta endpoints until an operator opens more of them here or by `change`. Alphas
        and runs are granted key by key, so their ceiling is `all` unless it is narrowed.
        """
        account = Account(
            id=new_id(),
            email=validation.email(email),
            role=Role.ADMIN if admin else Role.USER,
            active=True,
            created_at=wall_us(),
            **(_DEFAULT_CEILINGS | _ceiling_columns(ceilings, admin=admin)),
        )
        try:
            self.rows.add(accounts, account._asdict())
        except sa.exc.IntegrityError:
            raise AccessError(
                f"email: {account.email} has an account already; `accounts set` changes it, `accounts activate` reopens it"
            ) from None
        self.note("account.create", account.id, account.to_json())
        return account

    def all(self) -> list[Account]:
        """Return every account, oldest first."""
        return self.rows.accounts()

    def change(
        self,
        /,
        email_or_id: str,
        *,
        email: str | None = None,
        admin: bool | None = None,
        **ceilings: str | None,
    ) -> Account:
        """Change address, role or ceiling; None keeps a value. Changes apply from the next call of every key."""
        account = self.find_account(email_or_id, to_change=True)
        role = account.role if admin is None else (Role.ADMIN if admin else Role.USER)
        after = {"role": str(role), **_ceiling_columns(ceilings, admin=role == Role.ADMIN)}
        if email is not None:
            after["email"] = validation.email(email)
        return self._update(account, "account.set", after)

    def deactivate(self, email_or_id: str) -> Account:
        """Close an account: all its keys answer ``account_inactive`` until it is activated again."""
        account = self.find_account(email_or_id, to_change=True)
        if not account.active:
            raise AccessError(f"{account.email} is deactivated already; `accounts activate` reopens it")
        return self._update(account, "account.deactivate", {"active": False})

    def activate(self, email_or_id: str) -> Account:
        """Reopen an account: its keys work again as they are."""
        account = self.find_account(email_or_id, to_change=True)
        if account.active:
            raise AccessError(f"{account.email} is active already; `accounts deactivate` closes it")
        return self._update(account, "account.activate", {"active": True})

    def _update(self, account: Account, action: str, after: dict[str, Any]) -> Account:
        try:
            self.update(accounts, account, action, after)
        except sa.exc.IntegrityError:
            raise AccessError(f"email: {after['email']} belongs to another account; choose another") from None
        return self.find_account(account.id)


_DEFAULT_CEILINGS: Final = {
    "ceiling_endpoints": DEFAULT_CEILING.dumps(),
    "ceiling_alphas": ALL.dumps(),
    "ceiling_runs": ALL.dumps(),
}


def _ceiling_columns(ceilings: Mapping[str, str | None], *, admin: bool) -> dict[str, str]:
    """Return ceilings as stored, by column; None is left out."""
    read = {}
    for column, text in ceilings.items():
        option = column.replace("_", "-")
        if text is not None and column == "ceiling_endpoints":
            read[column] = validation.endpoints(text, option, admin=admin).dumps()
        elif text is not None:
            read[column] = validation.alphas(text, option).dumps()
    return read
