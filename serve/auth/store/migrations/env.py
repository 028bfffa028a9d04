"""Alembic's environment: runs migrations on the given connection, in the caller's transaction."""

from __future__ import annotations

from alembic import context

from serve.auth.store.tables import VERSION_TABLE, metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
    transactional_ddl=False,
)
context.run_migrations()
