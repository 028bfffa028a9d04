"""Compare allow-lists with the published alphas: a misspelt name would silently grant no access."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from typing import Any, Final

import click

from schemas.console.terminal import echo
from schemas.errors import AccessError
from schemas.settings import SETTINGS

_LISTS: Final = ("alphas", "runs", "ceiling_alphas", "ceiling_runs")
unpublished_option: Final = click.option(
    "--unpublished", is_flag=True, help="Lists may name alphas that are not published yet."
)


def require_published(datasets: str | None, options: Mapping[str, Any], *, unpublished: bool) -> None:
    """Refuse lists that name an unpublished alpha; without a root, print a note that they were not compared.

    Parameters
    ----------
    datasets
        The root given by option; None if it was not given.
    options
        Parameter of each option -> its value; None if it was not given. Those of alphas and runs are compared.
    unpublished
        Whether unpublished alphas may be named.

    Raises
    ------
    AccessError
        If a list is not understood, or names an alpha that is not published.
    StorageUnavailable
        If the root does not answer.
    """
    from datasets.layout import CATALOG  # noqa: PLC0415 - it loads the store, which --help does not need
    from datasets.storage import open_storage, without_secrets  # noqa: PLC0415 - as above
    from serve.auth.admin import validation  # noqa: PLC0415 - as above
    from serve.auth.allow_list import Mode  # noqa: PLC0415 - as above

    lists = {name.replace("_", "-"): text for name, text in options.items() if name in _LISTS}
    restricted = {
        option: allowed
        for option, text in lists.items()
        if text is not None and (allowed := validation.alphas(text, option)).values
    }
    if unpublished or not restricted:
        return
    root = datasets or os.environ.get(SETTINGS["datasets"].variable)
    if not root:
        echo("note: without --datasets the alphas named are not compared with what is published", err=True)
        return
    storage = open_storage(root)
    names = [] if storage.missing else [name.removesuffix(".json") for name in storage.entries(CATALOG)]
    published = frozenset(names)
    for option, allowed in restricted.items():
        for value in allowed.values:
            if allowed.mode is Mode.PREFIX:
                if not any(name.startswith(value) for name in published):
                    echo(f"note: {option}: no published alpha starts with {value!r} yet", err=True)
            elif value not in published:
                near = difflib.get_close_matches(value, published, 1)
                hint = f" (did you mean {near[0]!r}?)" if near else ""
                raise AccessError(
                    f"{option}: {value!r} is not published in {without_secrets(root)}{hint}: correct it, or give --unpublished"
                    " for alphas to come"
                )
