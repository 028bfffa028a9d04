"""Reasons why the key store or Redis does not answer, for operators and without secrets."""

from __future__ import annotations

import errno
import socket
from collections.abc import Mapping
from functools import partial
from typing import Final, NamedTuple

from schemas.errors import causes


class Reason(NamedTuple):
    """Reason of a failure.

    Attributes
    ----------
    text
        For the operator.
    is_refusal
        Whether the server was reached and refuses what the setting says: waiting does not help.
    """

    text: str
    is_refusal: bool = False


refusal = partial(Reason, is_refusal=True)
_REFUSED: Final = Reason("the connection was refused: nothing listens there")
NETWORK: Final[Mapping[type[Exception], Reason]] = {
    socket.gaierror: Reason("the name of the host is not known"),
    ConnectionRefusedError: _REFUSED,
    TimeoutError: Reason("it did not answer in time"),
}


def reason_of(error: BaseException, known: Mapping[type[Exception], Reason]) -> Reason | None:
    """Return the reason of a failure, or of the first of its causes that has a known one; None if none has."""
    for cause in causes(error):
        for kind, reason in known.items():
            if isinstance(cause, kind):
                return reason
        # For a host with two addresses the event loop reports both failures as text in one error.
        if isinstance(cause, OSError) and f"Errno {errno.ECONNREFUSED}" in str(cause):
            return _REFUSED
    return None
