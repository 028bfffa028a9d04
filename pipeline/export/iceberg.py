"""Tables of Apache Iceberg over published files: none is copied or rewritten.

``alpha_id`` and ``book`` are identity partitions. The files do not hold them; readers fill them from the manifests (Iceberg
specification, "Column Projection"). Columns are matched by name (``schema.name-mapping.default``), since the files have no
field ids; a column that a run did not seal is null.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import TableProperties
from pyiceberg.table.name_mapping import create_mapping_from_schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.typedef import Record
from pyiceberg.types import (
    BooleanType,
    DateType,
    DoubleType,
    LongType,
    NestedField,
    PrimitiveType,
    StringType,
    TimestamptzType,
)
from sqlalchemy.exc import OperationalError

from datasets.manifest import FileEntry
from schemas.errors import DiskUnavailable, SettingsError
from schemas.table import Table
from schemas.tables import PUBLISHED_TABLES
from schemas.units import Type

NAMESPACE: Final = "alphas"
CATALOGUE: Final = "catalog.db"
_UNFINISHED: Final = f"{CATALOGUE}.unfinished"
_PARTITION_IDS: Final = 1000
"""First id of partition fields, by the specification."""
_TYPES: Final[dict[Type, PrimitiveType]] = {
    Type.DATE: DateType(),
    Type.TIMESTAMP: TimestamptzType(),
    Type.F64: DoubleType(),
    Type.I64: LongType(),
    Type.BOOL: BooleanType(),
    Type.STR: StringType(),
}


@dataclass(frozen=True, slots=True)
class PublishedFile:
    """One published file.

    Attributes
    ----------
    alpha_id
        Alpha of the file.
    address
        Local path or URL.
    entry
        Its entry in the manifest of its snapshot.
    """

    alpha_id: str
    address: str
    entry: FileEntry


def reserve(folder: Path) -> None:
    """Reserve an empty folder for this process, by the file of the unfinished database.

    Raises
    ------
    SettingsError
        When another process has written to the folder.
    """
    mark = folder / _UNFINISHED
    try:
        mark.touch(exist_ok=False)
    except FileExistsError:
        taken = True
    else:
        taken = any(path != mark for path in folder.iterdir())
        if taken:
            mark.unlink()
    if taken:
        raise SettingsError(f"--to: another export wrote to {folder} at this moment; name a new folder")


def write_catalogue(folder: Path, files: Iterable[PublishedFile]) -> dict[str, int]:
    """Write a catalogue into a reserved folder; its database gets its name after all tables.

    Returns
    -------
    dict of str to int
        Table -> rows.

    Raises
    ------
    DiskUnavailable
        When the database cannot be written, for instance on a full disk.
    """
    by_table: dict[str, list[PublishedFile]] = {}
    for file in files:
        by_table.setdefault(file.entry.dataset, []).append(file)
    unfinished = folder / _UNFINISHED
    try:
        # Unescaped, unlike a URI: pyiceberg takes the path of a file's address as it is.
        catalogue = SqlCatalog(NAMESPACE, uri=f"sqlite:///{unfinished}", warehouse=f"file://{folder}")
        with catalogue:
            catalogue.create_namespace(NAMESPACE)
            rows = {
                name: _write_table(catalogue, table, by_table[name])
                for name, table in PUBLISHED_TABLES.items()
                if name in by_table
            }
    except OperationalError as error:
        raise DiskUnavailable(
            f"{folder} cannot be written: {error.orig}; free disk space or grant write permission, then try again"
        ) from error
    unfinished.rename(folder / CATALOGUE)
    return rows


def _write_table(catalogue: SqlCatalog, declared: Table, files: Sequence[PublishedFile]) -> int:
    partitions = ("alpha_id", "book") if declared.partition else ("alpha_id",)
    meanings = {"alpha_id": "Address of the alpha.", "book": "Book of the run."}
    fields: list[tuple[str, PrimitiveType, str]] = [
        (name, StringType(), meanings[name]) for name in partitions
    ]
    fields += [
        (x.name, _TYPES[x.type], f"{x.meaning} Unit: {x.unit.value}.") for x in declared.stored_columns
    ]
    schema = Schema(
        *(
            NestedField(n, name, kind, doc=doc, required=False)
            for n, (name, kind, doc) in enumerate(fields, start=1)
        )
    )
    spec = PartitionSpec(
        *(
            PartitionField(n, _PARTITION_IDS + n - 1, IdentityTransform(), name)
            for n, name in enumerate(partitions, start=1)
        )
    )
    table = catalogue.create_table(f"{NAMESPACE}.{declared.name}", schema, partition_spec=spec)
    names = create_mapping_from_schema(table.schema()).model_dump_json()
    with table.transaction() as change:
        change.set_properties({TableProperties.DEFAULT_NAME_MAPPING: names, "comment": declared.meaning})
        with change.update_snapshot().fast_append() as append:
            for file in files:
                values = (file.alpha_id, file.entry.book) if declared.partition else (file.alpha_id,)
                append.append_data_file(_data_file(file, Record(*values), table.spec().spec_id))
    return sum(file.entry.rows for file in files)


def _data_file(file: PublishedFile, partition: Record, spec_id: int) -> DataFile:
    """Return the entry of a file, without column bounds: readers take those from its footer."""
    return DataFile.from_args(
        content=DataFileContent.DATA,
        file_path=file.address,
        file_format=FileFormat.PARQUET,
        partition=partition,
        record_count=file.entry.rows,
        file_size_in_bytes=file.entry.bytes,
        spec_id=spec_id,
    )
