"""The store's tables, declared once for SQLite and PostgreSQL.

Times are whole microseconds since 1970 in UTC and documents (allow-lists, limits, addresses) are JSON text, so that both
databases hold the same values and neither rounds nor reformats them.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import sqlalchemy as sa

NAMING: Final = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}
"""Names of constraints, by which migrations refer to them on both databases."""

VERSION_TABLE: Final = "access_schema_version"
"""Table with the revision of the store; a database without it is empty."""
REVISION: Final = "0003"
"""The newest revision, which this program requires."""


class Role(StrEnum):
    """Platform role of an account."""

    USER = "user"
    ADMIN = "admin"


class KeyStatus(StrEnum):
    """State of a key; `revoked` is final."""

    ACTIVE = "active"
    SUSPENDED = "suspended"
    REVOKED = "revoked"


metadata = sa.MetaData(naming_convention=NAMING)


def _check_in(column: str, vocabulary: type[StrEnum]) -> sa.CheckConstraint:
    allowed = ", ".join(f"'{word}'" for word in vocabulary)
    return sa.CheckConstraint(f"{column} IN ({allowed})", name=column)


accounts = sa.Table(
    "access_accounts",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("email", sa.Text, nullable=False, unique=True),
    sa.Column("role", sa.Text, nullable=False),
    sa.Column("active", sa.Boolean, nullable=False),
    sa.Column("ceiling_endpoints", sa.Text, nullable=False),
    sa.Column("ceiling_alphas", sa.Text, nullable=False),
    sa.Column("ceiling_runs", sa.Text, nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    _check_in("role", Role),
)
"""Owners of keys; an e-mail address is stored in lower case, so that it is unique regardless of case."""

keys = sa.Table(
    "access_keys",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("account_id", sa.Text, sa.ForeignKey("access_accounts.id"), nullable=False, index=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("digest", sa.LargeBinary, nullable=False),
    sa.Column("pepper_id", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("endpoints", sa.Text, nullable=False),
    sa.Column("alphas", sa.Text, nullable=False),
    sa.Column("runs", sa.Text, nullable=False),
    sa.Column("expose_raw", sa.Boolean, nullable=False),
    sa.Column("limits", sa.Text, nullable=False),
    sa.Column("addresses", sa.Text),
    sa.Column("expires_at", sa.BigInteger),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    _check_in("status", KeyStatus),
)
"""Issued keys, with the digest of the secret but never the secret."""

audit = sa.Table(
    "access_audit",
    metadata,
    sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("actor", sa.Text, nullable=False),
    sa.Column("action", sa.Text, nullable=False),
    sa.Column("subject", sa.Text, nullable=False, index=True),
    sa.Column("detail", sa.Text, nullable=False),
)
"""Log of operators' actions. Triggers refuse every change to a row."""

_SQLITE: Final = (
    """CREATE TRIGGER access_audit_no_update BEFORE UPDATE ON access_audit
    BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END""",
    """CREATE TRIGGER access_audit_no_delete BEFORE DELETE ON access_audit
    BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END""",
    # INSERT OR REPLACE deletes the old row without firing the trigger above.
    """CREATE TRIGGER access_audit_no_replace BEFORE INSERT ON access_audit
    WHEN EXISTS (SELECT 1 FROM access_audit WHERE id = NEW.id)
    BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END""",
)

_POSTGRES: Final = (
    """CREATE FUNCTION access_audit_refuse() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'the audit trail is append-only'; END $$""",
    """CREATE TRIGGER access_audit_no_change BEFORE UPDATE OR DELETE ON access_audit
    FOR EACH ROW EXECUTE FUNCTION access_audit_refuse()""",
    """CREATE TRIGGER access_audit_no_truncate BEFORE TRUNCATE ON access_audit
    FOR EACH STATEMENT EXECUTE FUNCTION access_audit_refuse()""",
)

for _dialect, _statements in (("sqlite", _SQLITE), ("postgresql", _POSTGRES)):
    for _statement in _statements:
        _trigger = sa.DDL(_statement)  # type: ignore[no-untyped-call]  # it has no types
        sa.event.listen(audit, "after_create", _trigger.execute_if(dialect=_dialect))
