"""Why a server of keys or counts does not answer, in words an operator can act on and without a secret."""

from __future__ import annotations

import errno
import socket
from collections.abc import Mapping
from functools import partial
from typing import Final, NamedTuple

from schemas.errors import causes


class Reason(NamedTuple):
    """What a failure means.

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
    """Return the first of the known reasons that a failure, or what it came of, is; None for any other failure."""
    for cause in causes(error):
        for kind, reason in known.items():
            if isinstance(cause, kind):
                return reason
        # Of a name with two addresses the event loop reports both failures as one error, in words.
        if isinstance(cause, OSError) and f"Errno {errno.ECONNREFUSED}" in str(cause):
            return _REFUSED
    return None
