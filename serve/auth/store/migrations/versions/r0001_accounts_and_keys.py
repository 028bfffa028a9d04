"""Accounts and keys."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the two tables."""
    op.create_table(
        "access_accounts",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("email", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.Column("ceiling_endpoints", sa.Text(), nullable=False),
        sa.Column("ceiling_alphas", sa.Text(), nullable=False),
        sa.Column("ceiling_runs", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("role IN ('user', 'admin')", name=op.f("ck_access_accounts_role")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_access_accounts")),
        sa.UniqueConstraint("email", name=op.f("uq_access_accounts_email")),
    )
    op.create_table(
        "access_keys",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("account_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("pepper_id", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("endpoints", sa.Text(), nullable=False),
        sa.Column("alphas", sa.Text(), nullable=False),
        sa.Column("runs", sa.Text(), nullable=False),
        sa.Column("expose_raw", sa.Boolean(), nullable=False),
        sa.Column("per_second", sa.Integer(), nullable=False),
        sa.Column("per_minute", sa.Integer(), nullable=False),
        sa.Column("per_day", sa.Integer(), nullable=False),
        sa.Column("monthly", sa.Integer()),
        sa.Column("addresses", sa.Text()),
        sa.Column("expires_at", sa.BigInteger()),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.CheckConstraint(
            "status IN ('active', 'suspended', 'revoked')", name=op.f("ck_access_keys_status")
        ),
        sa.CheckConstraint(
            "per_second > 0 AND per_minute > 0 AND per_day > 0 AND (monthly IS NULL OR monthly > 0)",
            name=op.f("ck_access_keys_rate"),
        ),
        sa.ForeignKeyConstraint(
            ["account_id"], ["access_accounts.id"], name=op.f("fk_access_keys_account_id_access_accounts")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_access_keys")),
    )
    op.create_index(op.f("ix_access_keys_account_id"), "access_keys", ["account_id"])


def downgrade() -> None:
    """Drop them, keys first."""
    op.drop_index(op.f("ix_access_keys_account_id"), "access_keys")
    op.drop_table("access_keys")
    op.drop_table("access_accounts")
