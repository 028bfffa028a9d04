"""Code shared by the commands: the store's address, the actor, and the output of results."""

from __future__ import annotations

import asyncio
import getpass
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, Final, ParamSpec, TypeVar

import click

from schemas.console.screen import Screen, make_table
from schemas.console.terminal import echo
from schemas.errors import SettingsError
from schemas.settings import SETTINGS, setting_value
from schemas.settings.options import flag, options

if TYPE_CHECKING:
    from serve.auth.admin import Administration
    from serve.auth.settings import AccessSettings

P = ParamSpec("P")
Result = TypeVar("Result")
_JSON: Final = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")


@dataclass(frozen=True, slots=True)
class Session:
    """The store of a command, and the format of its result.

    Attributes
    ----------
    access_url, datasets
        Values of the options; None to use the environment's.
    as_json
        Print JSON for programs.
    """

    access_url: str | None
    datasets: str | None
    as_json: bool = False

    @property
    def settings(self) -> AccessSettings:
        """The deployment's settings, from options and environment.

        Raises
        ------
        SettingsError
            When a value is not valid, or the store would be created next to a root that does not exist: a typo is more
            likely than a root that will be created later.
        """
        from datasets.storage import open_storage  # noqa: PLC0415 - as in `administer`
        from serve.auth.settings import AccessSettings  # noqa: PLC0415 - as in `administer`

        root = self.datasets or os.environ.get(SETTINGS["datasets"].variable)
        settings = AccessSettings.from_environment(os.environ, root, {"access": self.access_url})
        file = settings.location.path
        is_default = not (self.access_url or os.environ.get(SETTINGS["access"].variable))
        is_new = is_default and file is not None and not os.path.exists(file)  # noqa: PTH110 - False without permission
        if is_new and root and open_storage(root).missing:
            raise SettingsError(
                f"--datasets or ALPHA_RESULTS_DATASETS: there is no folder {root!r}, next to which accounts and keys"
                " would be stored; correct it, or name their store with --access"
            )
        return settings

    def administer(self, operation: Callable[[Administration], Result], *, writable: bool = True) -> Result:
        """Open the store, run one operation in a transaction and close the store.

        Parameters
        ----------
        operation
            Receives the administration.
        writable
            False for an operation that only reads; no file is created then.
        """
        from serve.auth.admin import administer  # noqa: PLC0415 - it loads the store, which --help does not need

        return asyncio.run(administer(self.settings, _actor(), operation, writable=writable))

    def print_object(self, value: dict[str, Any]) -> None:
        """Print one object: as JSON, or one line per field."""
        if self.as_json:
            print_json(value)
        else:
            _print_table(("field", "value"), [(name, format_value(part)) for name, part in value.items()])

    def print_rows(self, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
        """Print objects: as JSON, or as a table with the given columns."""
        if self.as_json:
            print_json(rows)
        else:
            _print_table(columns, [[format_value(row[name]) for name in columns] for row in rows])


def on_store(command: Callable[Concatenate[Session, P], None]) -> Callable[..., None]:
    """Add the options of the store and ``--json``, which the command receives as a session."""

    @wraps(command)
    def run(
        access_url: str | None, datasets: str | None, as_json: bool, *args: P.args, **kwargs: P.kwargs
    ) -> None:
        command(Session(access_url, datasets, as_json), *args, **kwargs)

    return options(_JSON, flag("access", "access_url"), flag("datasets"))(run)


def _actor() -> str:
    """Return the actor for the audit log: ``ALPHA_RESULTS_ACTOR``, else the login name."""
    try:
        actor: str | None = setting_value(SETTINGS["actor"], os.environ)
        return actor or getpass.getuser()
    except (OSError, KeyError):  # a container user without a name; the error depends on the Python version
        return f"uid {os.getuid()}"


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    echo(json.dumps(value, indent=2, ensure_ascii=False))


def _print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows as a table on a terminal, as tab-separated lines elsewhere."""
    if not sys.stdout.isatty():
        for row in (columns, *rows):
            echo("\t".join(row))
        return
    table = make_table(*columns)
    for row in rows:
        table.add_row(*row)
    Screen().print(table)


def format_value(value: Any) -> str:
    """Return a value of an object as text; an allow-list is written as the option that grants it."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ",".join(map(str, value))
    if not isinstance(value, dict):
        return str(value)
    if "mode" in value:
        listed = ",".join(value.get("ids") or value.get("prefixes") or ())
        return "all" if value["mode"] == "all" else f"{value['mode']}:{listed}"
    return "  ".join(f"{name}={format_value(part)}" for name, part in value.items())
