"""How Alembic runs the migrations: on a live SQLite connection, or as a script for PostgreSQL."""

from __future__ import annotations

from alembic import context

from serve.auth.store.tables import VERSION_TABLE, metadata


def run() -> None:
    """Run what the command asked for, inside the transaction its caller began."""
    connection = context.config.attributes.get("connection")
    if connection is None:
        context.configure(dialect_name="postgresql", literal_binds=True, version_table=VERSION_TABLE)
    else:
        context.configure(
            connection=connection,
            target_metadata=metadata,
            version_table=VERSION_TABLE,
            render_as_batch=True,
            transactional_ddl=False,
        )
    context.run_migrations()


run()
