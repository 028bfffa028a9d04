"""Declarations of the API from `declared.json`: endpoints with arguments, rows, instants and permanent errors."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from typing import Any, NamedTuple

_DECLARED: dict[str, Any] = json.loads(files(__package__).joinpath("declared.json").read_text("utf-8"))


class Column(NamedTuple):
    """One column: its type, and whether it may be absent."""

    name: str
    type: str
    optional: bool = False
    nullable: bool = False


class Argument(NamedTuple):
    """One argument of a method: its parameter, annotation, meaning and default."""

    name: str
    parameter: str
    kind: str
    meaning: str
    required: bool = False
    positional: bool = False
    default: object = None


class Endpoint(NamedTuple):
    """One endpoint: its path, payload, method, and the table of its rows."""

    path: str
    method: str
    summary: str
    row: str
    collection: bool
    enveloped: bool
    arguments: tuple[Argument, ...]
    full_row: str = ""
    table: str = ""

    @property
    def in_path(self) -> list[str]:
        """The path parameters."""
        return re.findall(r"{(\w+)}", self.path)

    @property
    def query(self) -> list[str]:
        """The query parameters, without those of paging."""
        return [x.parameter for x in self.arguments if x.parameter not in self.in_path]


def _endpoint(facts: dict[str, Any]) -> Endpoint:
    return Endpoint(**{**facts, "arguments": tuple(Argument(**x) for x in facts["arguments"])})


ENDPOINTS = {name: _endpoint(facts) for name, facts in _DECLARED["endpoints"].items()}
"""Registry id -> endpoint."""
ROWS = {name: tuple(Column(**x) for x in columns) for name, columns in _DECLARED["rows"].items()}
"""Row of a collection -> its columns; a member of an object is the column ``object.member``."""
STORED_COLUMNS: dict[str, list[str]] = _DECLARED["stored_columns"]
"""Published table -> the columns of its file."""
MOMENTS: dict[str, dict[str, str]] = _DECLARED["moments"]
"""Row, object or `meta` of a collection -> paths of its days and instants."""
PERMANENT_ERRORS = frozenset(_DECLARED["permanent_errors"])
"""Error codes for which a retry is pointless."""
