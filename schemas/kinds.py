"""The kinds of data in a seal, and its limits."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from schemas.table import PATTERNS, Bound
from schemas.tables import SEALED_TABLES

SEAL_VERSION: Final = 1

TABLE_KINDS: Final = tuple(SEALED_TABLES)
"""Kinds that are a single Parquet file."""
KINDS: Final = ("description", *TABLE_KINDS, "metrics", "source")
OPTIONAL_KINDS: Final = frozenset(name for name, table in SEALED_TABLES.items() if table.optional)
"""Tables that a complete run may lack."""
REQUIRED_KINDS: Final = (*(name for name, table in SEALED_TABLES.items() if not table.optional), "metrics")
"""Kinds of a complete run."""

MAX_BYTES: Final = {
    "seal": 2**24,
    "description": 2**22,
    "metrics": 2**26,
    **dict.fromkeys(TABLE_KINDS, 2**33),
    "source": 2**28,
}
"""Maximum bytes of a file of each kind, of the manifest and of each source file; larger ones are not read."""
MAX_KEYS: Final = {"seal": 100_000, "description": 10_000, "metrics": 1_000_000}
"""Maximum keys of a JSON document, over all objects."""
MAX_KINDS: Final = 100
"""Maximum kinds in a manifest, unknown ones included."""
MAX_DEPTH: Final = 32
"""Maximum depth of nested lists and objects."""
FREE_BYTES: Final = 2**27
"""Decompressed bytes that any table may have, whatever the size of its file."""
EXPANSION: Final = 100
"""Maximum ratio of decompressed to stored bytes of a larger table; ledgers of floats have about 5."""
MAX_ROWS: Final = 2**28
"""Maximum rows of a table."""
MAX_PATH_BYTES: Final = 1024
"""Maximum bytes of a path inside a seal: the limit of keys in object stores."""
MAX_NAME_BYTES: Final = 255
"""Maximum bytes of a folder or file name: the limit of file systems."""

EARLIEST: Final = datetime(1970, 1, 1, tzinfo=UTC)
"""Earliest time at which a run may be started or sealed."""
CLOCK_SKEW: Final = timedelta(minutes=5)
"""Maximum lead of the sealing machine's clock over the checking one's."""
SOURCE_ALPHA_ID: Final = re.compile(rf"{PATTERNS[Bound.NAME]}\Z")
"""Id of an alpha in research."""

ALPHA_ID: Final = re.compile(r"(?!.*\.\.)[A-Za-z0-9][A-Za-z0-9_.-]{0,127}\Z")
"""Address of an alpha. It is also the name of its folder, so it cannot contain a path."""
