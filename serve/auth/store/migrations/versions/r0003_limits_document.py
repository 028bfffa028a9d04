"""The limits of a key as one document, so that another limit window needs no other table."""

from __future__ import annotations

import json

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_WINDOWS = ("per_second", "per_minute", "per_day", "monthly")
_RATE = op.f("ck_access_keys_rate")
_keys = sa.table("access_keys", *(sa.column(name) for name in ("id", "limits", *_WINDOWS)))


def upgrade() -> None:
    """Write each key's limits into the document, and drop their columns."""
    op.add_column("access_keys", sa.Column("limits", sa.Text()))
    connection = op.get_bind()
    for row in connection.execute(sa.select(_keys)).mappings().all():
        limits = json.dumps({name: row[name] for name in _WINDOWS}, separators=(",", ":"))
        connection.execute(sa.update(_keys).where(_keys.c.id == row["id"]).values(limits=limits))
    with op.batch_alter_table("access_keys") as table:
        table.alter_column("limits", existing_type=sa.Text(), nullable=False)
        table.drop_constraint(_RATE, type_="check")
        for name in _WINDOWS:
            table.drop_column(name)


def downgrade() -> None:
    """Take the four limits that have a column out of the document; others are lost."""
    for name in _WINDOWS:
        op.add_column("access_keys", sa.Column(name, sa.Integer()))
    connection = op.get_bind()
    for key_id, limits in connection.execute(sa.select(_keys.c.id, _keys.c.limits)).all():
        given = json.loads(limits)
        values = {name: given[name] for name in _WINDOWS}
        connection.execute(sa.update(_keys).where(_keys.c.id == key_id).values(**values))
    with op.batch_alter_table("access_keys") as table:
        for name in _WINDOWS[:3]:
            table.alter_column(name, existing_type=sa.Integer(), nullable=False)
        table.create_check_constraint(
            _RATE,
            "per_second > 0 AND per_minute > 0 AND per_day > 0 AND (monthly IS NULL OR monthly > 0)",
        )
        table.drop_column("limits")
