"""How Alembic runs the migrations: on the connection it is given, inside the transaction its caller began."""

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
