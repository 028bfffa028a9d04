"""Reasons why the key store or Redis does not answer, worded for operators and free of secrets."""

from __future__ import annotations

import errno
import socket
from collections.abc import Mapping
from functools import partial
from typing import Final, NamedTuple

from schemas.errors import StorageUnavailable, StoreRefused, causes


class Reason(NamedTuple):
    """The text of a reason, and the class of the error to raise."""

    text: str
    kind: type[StorageUnavailable] = StorageUnavailable


refusal = partial(Reason, kind=StoreRefused)
_CONNECTION_REFUSED: Final = Reason("the connection was refused: nothing listens there")
NETWORK: Final[Mapping[type[Exception], Reason]] = {
    socket.gaierror: Reason("the name of the host is not known"),
    ConnectionRefusedError: _CONNECTION_REFUSED,
    TimeoutError: Reason("it did not answer in time"),
}


def unavailable(
    where: str, error: BaseException, known: Mapping[type[Exception], Reason]
) -> StorageUnavailable:
    """Return the error to raise for a failure, with the reason of its outermost known cause."""
    for cause in causes(error):
        for kind, reason in known.items():
            if isinstance(cause, kind):
                return reason.kind(f"{where}: {reason.text}")
        # For a host with two addresses the event loop reports both failures as text in one error.
        if isinstance(cause, OSError) and f"Errno {errno.ECONNREFUSED}" in str(cause):
            return StorageUnavailable(f"{where}: {_CONNECTION_REFUSED.text}")
    return StorageUnavailable(f"{where}: no answer ({type(error).__name__})")
