"""Accounts, keys and the audit log, which triggers keep append-only.

Earlier steps were folded into this one; a store that went through them is at this revision.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = None
branch_labels = None
depends_on = None

_SQLITE = (
    """CREATE TRIGGER access_audit_no_update BEFORE UPDATE ON access_audit
    BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END""",
    """CREATE TRIGGER access_audit_no_delete BEFORE DELETE ON access_audit
    BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END""",
    # INSERT OR REPLACE deletes the old row without firing the trigger above.
    """CREATE TRIGGER access_audit_no_replace BEFORE INSERT ON access_audit
    WHEN EXISTS (SELECT 1 FROM access_audit WHERE id = NEW.id)
    BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END""",
)

_POSTGRES = (
    """CREATE FUNCTION access_audit_refuse() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'the audit trail is append-only'; END $$""",
    """CREATE TRIGGER access_audit_no_change BEFORE UPDATE OR DELETE ON access_audit
    FOR EACH ROW EXECUTE FUNCTION access_audit_refuse()""",
    """CREATE TRIGGER access_audit_no_truncate BEFORE TRUNCATE ON access_audit
    FOR EACH STATEMENT EXECUTE FUNCTION access_audit_refuse()""",
)


def upgrade() -> None:
    """Create the tables and the triggers; constraints get their names from the convention of the tables."""
    op.create_table(
        "access_accounts",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("email", sa.Text(), nullable=False, unique=True),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.Column("ceiling_endpoints", sa.Text(), nullable=False),
        sa.Column("ceiling_alphas", sa.Text(), nullable=False),
        sa.Column("ceiling_runs", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("role IN ('user', 'admin')", name="role"),
    )
    account = sa.ForeignKey("access_accounts.id")
    op.create_table(
        "access_keys",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("account_id", sa.Text(), account, nullable=False, index=True),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("pepper_id", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("endpoints", sa.Text(), nullable=False),
        sa.Column("alphas", sa.Text(), nullable=False),
        sa.Column("runs", sa.Text(), nullable=False),
        sa.Column("expose_raw", sa.Boolean(), nullable=False),
        sa.Column("limits", sa.Text(), nullable=False),
        sa.Column("addresses", sa.Text()),
        sa.Column("expires_at", sa.BigInteger()),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("status IN ('active', 'suspended', 'revoked')", name="status"),
    )
    op.create_table(
        "access_audit",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), primary_key=True),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False, index=True),
        sa.Column("detail", sa.Text(), nullable=False),
    )
    for statement in {"postgresql": _POSTGRES, "sqlite": _SQLITE}[op.get_context().dialect.name]:
        op.execute(statement)
