"""The audit trail, and the triggers that keep it append-only."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
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


def _postgres() -> bool:
    return op.get_context().dialect.name == "postgresql"


def upgrade() -> None:
    """Create the table and its triggers."""
    op.create_table(
        "access_audit",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_access_audit")),
    )
    op.create_index(op.f("ix_access_audit_subject"), "access_audit", ["subject"])
    for statement in _POSTGRES if _postgres() else _SQLITE:
        op.execute(statement)


def downgrade() -> None:
    """Drop the table, and the function that PostgreSQL keeps beside it."""
    op.drop_index(op.f("ix_access_audit_subject"), "access_audit")
    op.drop_table("access_audit")
    if _postgres():
        op.execute("DROP FUNCTION access_audit_refuse()")
