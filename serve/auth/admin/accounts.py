"""Accounts: who owns keys, and the ceiling those keys are clamped to."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Final

import sqlalchemy as sa

from schemas.errors import AccessError
from serve.auth.admin import validation
from serve.auth.admin.audit_log import AuditLog
from serve.auth.allow_list import DEFAULT_CEILING, AllowList
from serve.auth.key_view import instant
from serve.auth.store.database import Database, DuplicateRow, Session
from serve.auth.store.tables import Role, accounts
from serve.auth.tokens import new_id


@dataclass(frozen=True, slots=True)
class Account:
    """An account as stored; the fields are the table's columns, in their order."""

    id: str
    email: str
    role: str
    active: bool
    ceiling_endpoints: str
    ceiling_alphas: str
    ceiling_runs: str
    created_at: int

    @property
    def is_admin(self) -> bool:
        """Whether the role gives administrative routes."""
        return self.role == Role.ADMIN

    def to_json(self) -> dict[str, Any]:
        """Return the account for programs."""
        return {
            "user_id": self.id,
            "email": self.email,
            "role": self.role,
            "active": bool(self.active),
            "ceiling": {
                "endpoints": AllowList.loads(self.ceiling_endpoints).to_json(),
                "alphas": AllowList.loads(self.ceiling_alphas).to_json(),
                "runs": AllowList.loads(self.ceiling_runs).to_json(),
            },
            "created_at": instant(self.created_at).isoformat(),
        }


_SELECT: Final = sa.select(*(accounts.c[entry.name] for entry in fields(Account)))


async def find_account(session: Session, email_or_id: str, *, to_change: bool = False) -> Account:
    """Return an account by e-mail address or id, locked until the transaction ends when it is to change.

    Raises
    ------
    AccessError
        When there is none.
    """
    wanted = email_or_id.strip()
    query = _SELECT.where(sa.or_(accounts.c.email == wanted.lower(), accounts.c.id == wanted))
    row = await session.fetch_one(session.prepare(query.with_for_update() if to_change else query))
    if row is None:
        raise AccessError(
            f"account: there is none of {wanted!r}; `accounts list` shows them, `accounts create` makes one"
        )
    return Account(*row)


class Accounts:
    """The acts on accounts.

    Parameters
    ----------
    database
        An open, writable store.
    audit_log
        Where they are written down.
    """

    def __init__(self, database: Database, audit_log: AuditLog) -> None:
        self._database = database
        self._audit_log = audit_log

    async def create(
        self,
        email: str,
        *,
        admin: bool = False,
        ceiling_endpoints: str | None = None,
        ceiling_alphas: str = "all",
        ceiling_runs: str = "all",
    ) -> Account:
        """Open an account.

        Its keys may call the three meta endpoints until an operator opens more of them here or by `change`. Alphas
        and runs are granted key by key, so their ceiling is everything unless it is narrowed.

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
            ceiling_endpoints=(
                DEFAULT_CEILING
                if ceiling_endpoints is None
                else validation.endpoints(ceiling_endpoints, "ceiling-endpoints", admin=admin)
            ).dumps(),
            ceiling_alphas=validation.alphas(ceiling_alphas, "ceiling-alphas").dumps(),
            ceiling_runs=validation.alphas(ceiling_runs, "ceiling-runs").dumps(),
            created_at=self._audit_log.now(),
        )
        values = {entry.name: getattr(account, entry.name) for entry in fields(Account)}
        try:
            async with self._database.transaction() as session:
                await session.execute(sa.insert(accounts).values(**values))
                await self._audit_log.write(session, "account.create", account.id, account.to_json())
        except DuplicateRow:
            raise AccessError(
                f"email: {account.email} has an account already; `accounts set` changes it, `accounts activate` reopens it"
            ) from None
        return account

    async def all(self) -> list[Account]:
        """Return every account, oldest first."""
        query = self._database.prepare(_SELECT.order_by(accounts.c.created_at, accounts.c.id))
        return [Account(*row) for row in await self._database.fetch(query)]

    async def find(self, email_or_id: str) -> Account:
        """Return one account; refuses an unknown one."""
        return await find_account(self._database, email_or_id)

    async def change(
        self,
        email_or_id: str,
        *,
        email: str | None = None,
        admin: bool | None = None,
        ceiling_endpoints: str | None = None,
        ceiling_alphas: str | None = None,
        ceiling_runs: str | None = None,
    ) -> Account:
        """Change address, role or ceiling; what is None stays. It holds from the next call of every key."""
        async with self._database.transaction() as session:
            account = await find_account(session, email_or_id, to_change=True)
            role = account.role if admin is None else (Role.ADMIN if admin else Role.USER)
            after: dict[str, Any] = {"role": str(role)}
            if email is not None:
                after["email"] = validation.email(email)
            if ceiling_endpoints is not None:
                allowed = validation.endpoints(
                    ceiling_endpoints, "ceiling-endpoints", admin=role == Role.ADMIN
                )
                after["ceiling_endpoints"] = allowed.dumps()
            if ceiling_alphas is not None:
                after["ceiling_alphas"] = validation.alphas(ceiling_alphas, "ceiling-alphas").dumps()
            if ceiling_runs is not None:
                after["ceiling_runs"] = validation.alphas(ceiling_runs, "ceiling-runs").dumps()
            return await self._update(session, account, "account.set", after)

    async def deactivate(self, email_or_id: str) -> Account:
        """Close an account: all its keys answer ``account_inactive`` until it is activated again."""
        async with self._database.transaction() as session:
            account = await find_account(session, email_or_id, to_change=True)
            if not account.active:
                raise AccessError(f"{account.email} is deactivated already; `accounts activate` reopens it")
            return await self._update(session, account, "account.deactivate", {"active": False})

    async def activate(self, email_or_id: str) -> Account:
        """Reopen an account: its keys work again as they are."""
        async with self._database.transaction() as session:
            account = await find_account(session, email_or_id, to_change=True)
            if account.active:
                raise AccessError(f"{account.email} is active already; `accounts deactivate` closes it")
            return await self._update(session, account, "account.activate", {"active": True})

    async def _update(
        self, session: Session, account: Account, action: str, after: dict[str, Any]
    ) -> Account:
        before = {name: getattr(account, name) for name in after}
        changed = validation.changes(before, after)
        try:
            await session.execute(sa.update(accounts).where(accounts.c.id == account.id).values(**after))
        except DuplicateRow:
            raise AccessError(f"email: {after['email']} belongs to another account; choose another") from None
        await self._audit_log.write(session, action, account.id, changed)
        return await find_account(session, account.id)
