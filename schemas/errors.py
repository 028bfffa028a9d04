"""Every exception the project raises on purpose, as one tree.

::

    AlphaResultsError
    ├── SealError                    a seal cannot be used
    │   ├── SealUnreadable           there is no complete seal at that address
    │   └── SealRefused              a rule is broken; carries the whole report
    ├── BuildCrashed                 the process of a build ended without an answer
    ├── InternalFailure              a fault of the program, not of what it was given
    ├── SnapshotError                published files cannot be used
    │   ├── AlphaNotPublished        no pointer for that alpha
    │   ├── SnapshotNotKept          the alpha is served, that snapshot of it is not kept
    │   ├── KindNotPublished         the snapshot holds no such dataset, book or column
    │   ├── SnapshotCorrupt          a published file is not what its manifest says
    │   │   └── SnapshotUnreadable   a published file cannot be decoded
    │   └── PublicationRefused       the pointer was not moved (an older seal, or a lost race)
    ├── StorageUnavailable           the store did not answer; trying again later may work
    │   └── DiskUnavailable          a disk of this machine takes no more, or was lost
    ├── SettingsError                a flag or environment variable makes no sense
    ├── AccessError                  an administrative act on accounts or keys was refused
    ├── DemoFailed                   one of the demo's steps did not work
    └── ApiError                     a request is answered with the error envelope

The command lines turn any of them into one readable line and the exit code of its class.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from schemas.error_codes import ERROR_CODES


class AlphaResultsError(Exception):
    """Root of the tree: catching it catches every refusal the project makes knowingly.

    Attributes
    ----------
    exit_code
        What a command line exits with when the error reaches it.
    """

    exit_code: ClassVar[int] = 1


class SealError(AlphaResultsError):
    """A seal cannot be used."""


class SealUnreadable(SealError):
    """There is no complete seal at the address given."""

    exit_code = 2


class SealRefused(SealError):
    """At least one rule is broken, so nothing of the seal was published.

    Parameters
    ----------
    message
        One line naming the seal and the number of broken rules.
    violations
        The broken rules in the order checked, each as a JSON-ready mapping.
    """

    exit_code = 1

    def __init__(self, message: str, violations: Sequence[Mapping[str, Any]] = ()) -> None:
        super().__init__(message)
        self.violations = tuple(violations)


class BuildCrashed(AlphaResultsError):
    """The process of one build of a batch ended without an answer: killed, or a fault of the program."""

    exit_code = 7


class InternalFailure(AlphaResultsError):
    """A check or a build failed by a fault of the program; the message says where, so that it can be reported."""

    exit_code = 7


class SnapshotError(AlphaResultsError):
    """Published files cannot be used."""


class AlphaNotPublished(SnapshotError):
    """The root holds no pointer for that alpha."""


class SnapshotNotKept(SnapshotError):
    """The alpha is served, but no snapshot of that id: there was none, or it was removed after it was replaced.

    Parameters
    ----------
    message
        One line.
    current
        The snapshot that is served.
    """

    def __init__(self, message: str, current: str) -> None:
        super().__init__(message)
        self.current = current


class KindNotPublished(SnapshotError):
    """The snapshot holds no such dataset, book or column."""


class SnapshotCorrupt(SnapshotError):
    """A published file does not match what its manifest or pointer says of it."""

    exit_code = 4


class SnapshotUnreadable(SnapshotCorrupt):
    """A published file cannot be decoded, although its bytes may be those that its manifest names."""


class PublicationRefused(SnapshotError):
    """The pointer was left where it was: the seal is older, or another build won the race."""

    exit_code = 3


class StorageUnavailable(AlphaResultsError):
    """The store did not answer. What was published is unharmed and trying again may work."""

    exit_code = 5


class DiskUnavailable(StorageUnavailable):
    """A disk of this machine is full, read-only, failing or gone."""


class SettingsError(AlphaResultsError):
    """A flag or an environment variable has a value that makes no sense."""

    exit_code = 2


class AccessError(AlphaResultsError):
    """An administrative act on accounts or keys was refused; the message says what to do instead."""

    exit_code = 2


class DemoFailed(AlphaResultsError):
    """One of the demo's steps did not work; the message is that step's own."""


class ApiError(AlphaResultsError):
    """A request that is answered with the error envelope.

    Parameters
    ----------
    code
        A name of the vocabulary in :mod:`schemas.error_codes`; anything else is a programming error.
    message
        One sentence for the reader of the response; never holds a secret or an internal path.
    details
        The machine-readable part of the envelope; null when there is nothing to add.
    headers
        Extra response headers, such as ``Retry-After``.
    """

    def __init__(
        self,
        code: str,
        message: str,
        details: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = ERROR_CODES[code].code
        self.status = ERROR_CODES[code].status
        self.message = message
        self.details = dict(details) if details is not None else None
        self.headers = dict(headers) if headers is not None else {}
