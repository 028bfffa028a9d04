"""Options, opening of the root and output shared by the maintenance commands."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click
import orjson

from schemas.console.terminal import escape_bytes
from schemas.errors import SettingsError
from schemas.settings.options import option, options

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from datasets.storage import Storage


root_option = option("datasets", "root")
json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON document instead of tables."
)


def opened(root: str, *, single_writer: bool = False) -> Storage:
    """Open an existing root.

    Parameters
    ----------
    single_writer
        As :func:`datasets.storage.open_storage` takes it.

    Raises
    ------
    SettingsError
        When the address is a file or a missing folder, or nothing was ever published there: this is more likely a
        typo or an unmounted disk than an empty root.
    """
    from datasets.analysis.root import is_root
    from datasets.storage import open_storage
    from pipeline.folder import require_folder

    fix = "give the folder that `alpha-results build` filled"
    storage = require_folder(open_storage(root, single_writer=single_writer), "--datasets", fix)
    if not is_root(storage):
        raise SettingsError(f"--datasets: {storage.address!r} is not a root of published alphas; {fix}")
    return storage


def named_or_all(storage: Storage, alphas: Sequence[str], known: Sequence[str]) -> Sequence[str]:
    """Return the named alphas, each once, or all known ones if none is named.

    Raises
    ------
    AlphaNotPublished
        When the root does not have one of them.
    """
    from datasets.publication.pointers import not_published

    for alpha in alphas:
        if alpha not in known:
            raise not_published(storage, alpha, known)
    return list(dict.fromkeys(alphas)) or known


def decision(name: str) -> Callable[[Callable[..., None]], click.Command]:
    """Return a decorator that declares an operator's command on an alpha, with the shared options."""
    added = options(
        click.argument("alpha"),
        click.option("--reason", help="Reason; `show` prints it with user and time."),
        root_option,
        option("single_writer"),
        json_option,
    )
    return lambda function: click.command(name)(added(function))


def print_json(document: Any) -> None:
    """Print one JSON document; the bytes of a path that are not UTF-8, which JSON cannot hold, are escaped."""
    sys.stdout.buffer.write(orjson.dumps(_escaped(document), option=orjson.OPT_INDENT_2) + b"\n")
    sys.stdout.buffer.flush()


def _escaped(value: Any) -> Any:
    if isinstance(value, str):
        return escape_bytes(value)
    if isinstance(value, dict):
        return {name: _escaped(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_escaped(each) for each in value]
    return value


def size_text(size: int) -> str:
    """Format a number of bytes."""
    for unit, bytes_ in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= bytes_:
            return f"{size / bytes_:.1f} {unit}"
    return f"{size} B"
