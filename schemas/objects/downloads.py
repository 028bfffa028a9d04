"""Downloads of tables: the files that a key may download, and the signed URL of one file."""

from __future__ import annotations

from typing import Final

from schemas.field import Field, count, day, instant, integer, record, series, text
from schemas.tables import PUBLISHED_TABLES
from schemas.units import Type, Unit

TABLE_LIFETIME: Final = 300
"""Validity of a signed URL of a table, in seconds."""
PARQUET: Final = r"\.parquet$"
SHA256: Final = "^[0-9a-f]{64}$"
_TABLE: Final = text("table", "The published table.", vocabulary=tuple(PUBLISHED_TABLES))
_BOOK: Final = text("book", "Book of the rows; null if the table is not stored by book.", nullable=True)
_CONTENT: Final = (
    count("rows", "Rows in the file."),
    integer("size_bytes", Unit.BYTES, "Size of the file."),
    text("sha256", "SHA-256 of the file in hexadecimal; also its entity tag.", pattern=SHA256),
)


def signed_url(what: str, seconds: int) -> tuple[Field, Field]:
    """Declare the signed URL of a file, and its validity."""
    return (
        text("url", f"URL of the {what}; it needs no key until it expires.", pattern="^https?://"),
        integer("expires_in", Unit.SECONDS, "Validity of the URL.", minimum=seconds, maximum=seconds),
    )


TABLE_FILE: Final = record(
    "table_file",
    "One Parquet file that the key may download.",
    _TABLE,
    _BOOK,
    *_CONTENT,
    day("from", "First day with a row; null without rows.", nullable=True),
    day("to", "Last day with a row; null without rows.", nullable=True),
    series(
        "columns",
        "Columns of the file, in order.",
        text("name", "Its name."),
        text("type", "Storage type.", vocabulary=tuple(Type)),
        text("unit", "Unit of its values.", vocabulary=tuple(Unit)),
        text("meaning", "Its meaning."),
        one="One column.",
        model="TableColumn",
    ),
    model="TableFile",
)

TABLE_DOWNLOAD: Final = record(
    "table_download",
    "Signed URL of one table's file, made for this call.",
    _TABLE,
    _BOOK,
    *signed_url("file", TABLE_LIFETIME),
    instant("expires_at", "When the URL expires."),
    text("filename", "Suggested file name.", pattern=PARQUET),
    *_CONTENT,
    model="TableDownload",
)
