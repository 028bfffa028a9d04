"""Which backend opens an address."""

from __future__ import annotations

import importlib
import os
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from datasets.storage.protocol import Storage, without_secrets
from datasets.storage.s3_settings import S3_SCHEMES
from schemas.errors import SettingsError

if TYPE_CHECKING:
    from datasets.cache.copies import Cache


class Backend(NamedTuple):
    """Where a backend is; it is imported when an address asks for it, as clients of stores are slow to load."""

    schemes: tuple[str, ...]
    module: str
    name: str
    example: str


BACKENDS: Final = [
    Backend(("file",), "datasets.storage.local", "LocalStorage", "a folder"),
    Backend(S3_SCHEMES, "datasets.storage.s3", "S3Storage", "s3://bucket/prefix"),
]
"""Every backend; an address without a scheme is a folder."""

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.:-]*)://")


def open_storage(
    address: str | os.PathLike[str], *, cache: Cache | None = None, single_writer: bool = False
) -> Storage:
    """Open a folder of files at an address.

    Parameters
    ----------
    address
        A local folder or the URL of a supported store, such as ``s3://bucket/prefix``.
    cache
        For the files of a remote root; a local one needs none and ignores it.
    single_writer
        Whether the caller answers for it that nobody else writes to the root meanwhile. Only then a store may be
        published to that does not honour conditional writes.

    Raises
    ------
    SettingsError
        When no backend opens such addresses.
    """
    given = os.fspath(address)
    backend = require_supported(given)
    try:
        made = getattr(importlib.import_module(backend.module), backend.name)
        opened: Storage = made(given, cache=cache, single_writer=single_writer)
    except (OSError, ValueError) as error:
        raise SettingsError(
            f"{without_secrets(given)!r} is not an address of a file system: {error}"
        ) from error
    return opened


def require_supported(address: str) -> Backend:
    """Return the backend that opens an address, without opening it.

    Raises
    ------
    SettingsError
        When none does.
    """
    match = _SCHEME.match(address)
    scheme = "file" if match is None else match[1].lower()
    for backend in BACKENDS:
        if scheme in backend.schemes:
            return backend
    examples = [backend.example for backend in BACKENDS]
    raise SettingsError(
        f"{without_secrets(address)!r}: {scheme}:// is not a supported store; give {', '.join(examples[:-1])} or "
        f"{examples[-1]}"
    )
