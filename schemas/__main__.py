"""``python -m schemas NAME``: print a document derived from the declarations, or update the derived parts of documents."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

import click

from schemas.console.terminal import echo
from schemas.documents.client_code import client_declarations, client_stub, seal_columns
from schemas.documents.openapi import rendered
from schemas.documents.parts import PARTS, update

_PRINTED: Final[dict[str, Callable[[], str]]] = {
    "openapi": rendered,
    "declared.json": client_declarations,
    "methods.pyi": client_stub,
    "columns.json": seal_columns,
}
"""Name -> renderer."""


@click.command()
@click.argument("name", type=click.Choice([*_PRINTED, "parts"]))
@click.argument("documents", nargs=-1, type=click.Path(exists=True, dir_okay=False, path_type=Path))
def main(name: str, documents: tuple[Path, ...]) -> None:
    """Print NAME, derived from the declarations, or update the derived `parts` of DOCUMENTS."""
    if name in _PRINTED:
        echo(_PRINTED[name](), nl=False)
    update(documents, PARTS)


if __name__ == "__main__":
    main()
