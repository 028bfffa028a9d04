"""One way to run declared statements on SQLite and PostgreSQL.

Statements are written once with SQLAlchemy's expression language and compiled for each database; the
drivers then run the text directly. For one short query a call that costs a fraction of an engine's session,
and it needs no second set of drivers for asynchronous use.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Final, Protocol

from sqlalchemy.engine import Dialect
from sqlalchemy.sql.expression import ClauseElement

Row = Sequence[Any]

NO_ANSWER: Final = "The store of accounts and keys did not answer."


class DuplicateRow(Exception):
    """A unique value was there already; callers turn it into a refusal of their own."""


class Prepared:
    """A statement compiled for one database.

    Parameters
    ----------
    statement
        A declared statement; every value in it is bound, none is part of the text.
    dialect
        The database's dialect, with named or numbered parameters.

    Attributes
    ----------
    text
        What the driver runs.
    fixed
        Name -> value written in the statement.
    """

    def __init__(self, statement: ClauseElement, dialect: Dialect) -> None:
        compiled = statement.compile(dialect=dialect)
        self.text = str(compiled)
        self._order: list[str] = list(getattr(compiled, "positiontup", None) or ())
        self.fixed: dict[str, Any] = dict(compiled.params)

    def numbered(self, given: dict[str, Any]) -> list[Any]:
        """Return the values of one execution by number, `given` over the ones written in the statement."""
        return [given[name] if name in given else self.fixed[name] for name in self._order]


class Session(Protocol):
    """What statements run on: the database itself, or one transaction of it.

    Every call raises StorageUnavailable when the database does not answer.
    """

    def prepare(self, statement: ClauseElement) -> Prepared:
        """Compile a statement, to be run any number of times."""
        ...

    async def fetch(self, prepared: Prepared, **values: Any) -> list[Row]:
        """Run a query and return its rows."""
        ...

    async def fetch_one(self, prepared: Prepared, **values: Any) -> Row | None:
        """Run a query and return its first row, None when there is none."""
        ...

    async def execute(self, statement: ClauseElement) -> None:
        """Run a statement that changes rows; raises DuplicateRow on a unique value that is taken."""
        ...


class Database(Session, Protocol):
    """A store of accounts and keys, open."""

    def transaction(self) -> AbstractAsyncContextManager[Session]:
        """Begin a transaction that other writers wait for; it commits unless an exception leaves it."""
        ...

    async def close(self) -> None:
        """Let the connections go."""
        ...
