"""The step of a migration that adds a limit window to the keys, the same on both databases.

Such a migration names its column itself: it has to make the same table after other windows were declared.
"""

from __future__ import annotations

from alembic import op

_TABLE = "access_keys"


def add(column: str) -> None:
    """Add the column of a window that a key may have no limit in; keys that exist have none.

    Neither database rewrites the table for it, and a program without the column goes on issuing keys.
    """
    check = op.f(f"ck_{_TABLE}_{column}")
    op.execute(f"ALTER TABLE {_TABLE} ADD COLUMN {column} INTEGER CONSTRAINT {check} CHECK ({column} > 0)")


def drop(column: str) -> None:
    """Drop it, with the limits that keys have in it."""
    op.execute(f"ALTER TABLE {_TABLE} DROP COLUMN {column}")
