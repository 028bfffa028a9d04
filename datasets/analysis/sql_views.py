"""DuckDB views over the served snapshots of a root: one view per table, with all alphas."""

from __future__ import annotations

import contextlib
import errno
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from datasets.layout import snapshot_path
from schemas.errors import DiskUnavailable, SettingsError
from schemas.instants import utc_text
from schemas.tables import PUBLISHED_TABLES

if TYPE_CHECKING:
    from datasets.analysis.root import Root

ALPHAS: Final = "alphas"
"""Name of the view that lists the alphas."""
_FULL: Final = [os.strerror(number) for number in (errno.ENOSPC, errno.EDQUOT, errno.EROFS)]


def statements(root: Root) -> list[str]:
    """Return the statements that create or replace the views of a root, in one transaction.

    The view of a table starts with `alpha_id` and `snapshot`, then `book` if the table has it, then every column that any run
    recorded, null for other runs. The view of a table that no run has any more is dropped. Column comments state meaning and
    unit. The statements list the files, so they must be generated again after a publication.
    """
    snapshots = [root[alpha] for alpha in root]
    statements = ["BEGIN TRANSACTION", f"CREATE OR REPLACE VIEW {ALPHAS} AS {_listing(root)}"]
    for table in PUBLISHED_TABLES.values():
        files = [
            root.storage.url(f"{snapshot_path(run.alpha_id, run.id)}/{entry.path}")
            for run in snapshots
            for entry in run.manifest.files
            if entry.dataset == table.name
        ]
        if not files:
            statements.append(f"DROP VIEW IF EXISTS {table.name}")
            continue
        present = {name for run in snapshots for name in run.columns(table.name)}
        columns = [column for column in table.published_columns if column.name in present]
        names = ["alpha_id", "snapshot", *(column.name for column in columns)]
        source = f"read_parquet([{', '.join(map(_text, files))}], hive_partitioning = true, hive_types_autocast = false, union_by_name = true)"
        select = f"SELECT {', '.join(map(_name, names))} FROM {source}"  # noqa: S608 - declared names, quoted paths
        statements.append(f"CREATE OR REPLACE VIEW {table.name} AS {select}")
        statements.append(f"COMMENT ON VIEW {table.name} IS {_text(table.meaning)}")
        for column in columns:
            comment = f"{column.meaning} Unit: {column.unit.value}."
            statements.append(f"COMMENT ON COLUMN {table.name}.{_name(column.name)} IS {_text(comment)}")
    return [*statements, "COMMIT"]


def script(root: Root) -> str:
    """Return the statements as one script."""
    return "".join(f"{statement};\n" for statement in statements(root))


def write(root: Root, file: str) -> list[str]:
    """Create or replace the views in a DuckDB file, all or none.

    Returns
    -------
    list of str
        Names of all views in the file.

    Raises
    ------
    SettingsError
        When the file is not a DuckDB file, is in use by another process, has a table named like a view, or cannot be written.
    DiskUnavailable
        When the disk is full or read-only.
    """
    import duckdb  # noqa: PLC0415 - readers that only want Polars need not load the engine

    is_new = not Path(file).exists()
    prepared = statements(root)  # before the file is made: a manifest may be damaged
    try:
        with duckdb.connect(file) as connection:
            for statement in prepared:
                connection.execute(statement)
            views = connection.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal ORDER BY ALL")
            return [name for (name,) in views.fetchall()]
    except duckdb.Error as error:
        if is_new:  # an unfinished file would make the next attempt fail
            for name in (file, f"{file}.wal"):
                with contextlib.suppress(OSError):  # a read-only disk holds no unfinished file
                    Path(name).unlink()
        # DuckDB errors have no error number, only the system's message.
        kind = DiskUnavailable if any(words in str(error) for words in _FULL) else SettingsError
        raise kind(f"{file}: {error}") from error


def _listing(root: Root) -> str:
    rows = root.list()
    types = {name: "TIMESTAMPTZ" if name.endswith("_at") else "VARCHAR" for name in rows.columns}
    types["complete"] = "BOOLEAN"
    listed, columns = _text(json.dumps(rows.to_dicts(), default=utc_text)), _text(json.dumps([types]))
    return f"SELECT unnest(from_json({listed}, {columns}), recursive := true)"


def _text(value: str) -> str:
    """Quote a text, because view definitions cannot have bound values."""
    return "'" + value.replace("'", "''") + "'"


def _name(value: str) -> str:
    return '"' + value.replace('"', '""') + '"'
