"""Whole tables: what a key may download, and the signed address of one file."""

from __future__ import annotations

from typing import Final

from schemas.field import array, day, instant, integer, record, text
from schemas.tables import PUBLISHED_TABLES
from schemas.units import Type, Unit

TABLE_LIFETIME: Final = 300
"""Seconds a signed address of a table stays valid."""
PARQUET: Final = r"\.parquet$"
SHA256: Final = "^[0-9a-f]{64}$"
_TABLE: Final = text("table", "The published table.", vocabulary=tuple(PUBLISHED_TABLES))
_BOOK: Final = text(
    "book", "The book whose rows they are; null of a table that is not stored by book.", nullable=True
)
_ROWS: Final = integer("rows", Unit.COUNT, "Rows in the file.")
_BYTES: Final = integer("size_bytes", Unit.BYTES, "Size of the file.")
_DIGEST: Final = text("sha256", "SHA-256 of the file in hexadecimal; also its entity tag.", pattern=SHA256)

TABLE_FILE: Final = record(
    "table_file",
    "One Parquet file that this key may download.",
    _TABLE,
    _BOOK,
    _ROWS,
    _BYTES,
    _DIGEST,
    day("from", "First day with a row; null when there is none.", nullable=True),
    day("to", "Last day with a row; null when there is none.", nullable=True),
    array(
        "columns",
        "Its columns, in their order.",
        record(
            "",
            "One column.",
            text("name", "Its name."),
            text("type", "How it is stored.", vocabulary=tuple(x.value for x in Type)),
            text("unit", "What it counts.", vocabulary=tuple(x.value for x in Unit)),
            text("meaning", "What it says."),
            model="TableColumn",
        ),
    ),
    model="TableFile",
)

TABLE_DOWNLOAD: Final = record(
    "table_download",
    "A signed address of the file of one table, made for this call.",
    _TABLE,
    _BOOK,
    text("url", "Where the file can be fetched without a key until it expires.", pattern="^https?://"),
    integer(
        "expires_in",
        Unit.SECONDS,
        "How long the address stays valid.",
        minimum=TABLE_LIFETIME,
        maximum=TABLE_LIFETIME,
    ),
    instant("expires_at", "When it ends to be."),
    text("filename", "What to call the file.", pattern=PARQUET),
    _ROWS,
    _BYTES,
    _DIGEST,
    model="TableDownload",
)
