"""The kinds of data a seal may hold."""

from __future__ import annotations

import re
from typing import Final

from schemas.tables import SEALED_TABLES

SEAL_VERSION: Final = 1

DOCUMENT_KINDS: Final = ("description", "metrics")
"""Kinds that are one JSON document."""
TABLE_KINDS: Final = tuple(SEALED_TABLES)
"""Kinds that are one Parquet file."""
KINDS: Final = ("description", *TABLE_KINDS, "metrics", "source")
REQUIRED_KINDS: Final = (*TABLE_KINDS, "metrics")
"""What a complete run holds."""

ALPHA_ID: Final = re.compile(r"(?!.*\.\.)[A-Za-z0-9][A-Za-z0-9_.-]{0,127}\Z")
"""An alpha's address: also the name of its folder, so nothing that could leave it."""
