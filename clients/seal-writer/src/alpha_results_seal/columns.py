"""The tables of a seal: their columns and keys, from `columns.json`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.resources import files
from typing import Any, NamedTuple


class Column(NamedTuple):
    """One column: its type, and what its values keep."""

    name: str
    type: str
    optional: bool = False
    nullable: bool = False
    vocabulary: Sequence[str] = ()
    bound: str = ""


_TABLES: dict[str, Any] = json.loads(files(__package__).joinpath("columns.json").read_text("utf-8"))
COLUMNS = {kind: tuple(Column(**x) for x in table["columns"]) for kind, table in _TABLES.items()}
"""Kind -> the columns that an engine may write."""
KEYS = {kind: tuple(table["key"]) for kind, table in _TABLES.items()}
"""Kind -> the columns that are unique together."""
