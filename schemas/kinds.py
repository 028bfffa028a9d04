"""The kinds of data a seal may hold."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from schemas.table import PATTERNS, Bound
from schemas.tables import SEALED_TABLES

SEAL_VERSION: Final = 1

TABLE_KINDS: Final = tuple(SEALED_TABLES)
"""Kinds that are one Parquet file."""
KINDS: Final = ("description", *TABLE_KINDS, "metrics", "source")
OPTIONAL_KINDS: Final = frozenset(name for name, table in SEALED_TABLES.items() if table.optional)
"""Tables that a complete run may lack."""
REQUIRED_KINDS: Final = (*(name for name, table in SEALED_TABLES.items() if not table.optional), "metrics")
"""What a complete run holds."""

MAX_BYTES: Final = {
    "seal": 2**24,
    "description": 2**22,
    "metrics": 2**26,
    **dict.fromkeys(TABLE_KINDS, 2**33),
    "source": 2**28,
}
"""Most bytes of a file of each kind, of the manifest and of each source file; what is larger is not read."""
MAX_KEYS: Final = {"seal": 100_000, "description": 10_000, "metrics": 1_000_000}
"""Most keys of a JSON document, of all objects together."""
MAX_KINDS: Final = 100
"""Most kinds that a manifest names, unknown ones among them."""
MAX_DEPTH: Final = 32
"""Most levels of lists and objects within each other."""
FREE_BYTES: Final = 2**27
"""What any table may unpack to, however small its file."""
EXPANSION: Final = 100
"""How many times the bytes of its file a table may unpack to beyond that; ledgers of floats come to about 5."""
MAX_ROWS: Final = 2**28
"""Most rows of a table."""
MAX_PATH_BYTES: Final = 1024
"""Most bytes of a path inside a seal: object stores take no longer key."""
MAX_NAME_BYTES: Final = 255
"""Most bytes of one folder's or file's name: disks take no longer one."""

EARLIEST: Final = datetime(1970, 1, 1, tzinfo=UTC)
"""No run was started or sealed before."""
CLOCK_SKEW: Final = timedelta(minutes=5)
"""How far the clock of the machine that sealed a run may be ahead of the one that checks it."""
SOURCE_ALPHA_ID: Final = re.compile(rf"{PATTERNS[Bound.NAME]}\Z")
"""What a research system calls the alpha."""

ALPHA_ID: Final = re.compile(r"(?!.*\.\.)[A-Za-z0-9][A-Za-z0-9_.-]{0,127}\Z")
"""An alpha's address: also the name of its folder, so it has no part that could lead out of it."""
