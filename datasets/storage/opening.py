"""Open an address with the backend of its scheme."""

from __future__ import annotations

import importlib
import os
import pkgutil
import re
from types import ModuleType
from typing import TYPE_CHECKING, Final

from datasets.storage import backends
from datasets.storage.protocol import Storage, without_secrets
from schemas.errors import SettingsError

if TYPE_CHECKING:
    from datasets.storage.cache import Cache

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.:-]*)://")
_ALIASES: Final = {"s3a": "s3"}
_SLASH_MISSING: Final = re.compile(r"(s3a?|file):/(?!/)(.*)", re.DOTALL | re.IGNORECASE)
"""A URL with one slash, which would be a folder named after its scheme."""


def open_storage(
    address: str | os.PathLike[str], *, cache: Cache | None = None, single_writer: bool = False
) -> Storage:
    """Open a folder of files at an address.

    Parameters
    ----------
    address
        A local folder or the URL of a supported store, such as ``s3://bucket/prefix``.
    cache
        Cache for the files of a remote root; ignored for a local one.
    single_writer
        Whether the caller ensures that no other command writes to the root. Only then may the store lack
        conditional writes.

    Raises
    ------
    SettingsError
        When no backend supports the address, or it is neither text nor a path.
    """
    if not isinstance(address, str | os.PathLike):
        raise SettingsError(f"{address!r} is not an address; give a folder or the URL of a supported store")
    address_text = os.fspath(address)
    backend = require_supported(address_text)
    try:
        opened: Storage = backend.BACKEND(address_text, cache=cache, single_writer=single_writer)
    except (OSError, ValueError, RuntimeError) as error:  # RuntimeError: links that lead to each other
        raise SettingsError(
            f"{without_secrets(address_text)!r} is not an address of a file system: {error}"
        ) from error
    return opened


def require_supported(address: str) -> ModuleType:
    """Return the backend module for an address, without opening the address.

    Raises
    ------
    SettingsError
        When no backend supports the address, or it is empty.
    """
    if not address:  # from an unset shell variable; it would mean the current folder
        raise SettingsError("an address is empty; give a folder or the URL of a supported store")
    if written := _SLASH_MISSING.fullmatch(address):
        shown = without_secrets(f"{written[1]}://{'/' * (written[1].lower() == 'file')}{written[2]}")
        raise SettingsError(f"{without_secrets(address)!r} has one slash after its scheme: write {shown}")
    match = _SCHEME.match(address)
    scheme = "file" if match is None else match[1].lower()
    supported = sorted(module.name for module in pkgutil.iter_modules(backends.__path__))
    if (name := _ALIASES.get(scheme, scheme)) in supported:
        return _module(name)
    examples = [_module(name).EXAMPLE for name in supported]
    raise SettingsError(
        f"{without_secrets(address)!r}: {scheme}:// is not a supported store; give {', '.join(examples[:-1])} or "
        f"{examples[-1]}"
    )


def _module(name: str) -> ModuleType:
    return importlib.import_module(f"{backends.__name__}.{name}")
