"""Every exception the project raises on purpose, as one tree.

::

    AlphaResultsError
    ├── SealError                    a seal cannot be used
    │   ├── SealUnreadable           there is no complete seal at that address
    │   └── SealRefused              a rule is broken; carries the report
    ├── BuildCrashed                 the process of a build ended without an answer; trying again may work
    ├── BuildNotStarted              the batch was ended before that seal was built
    ├── ArchiveNotDelivered          the run is published, its source archive was not delivered; trying again may work
    ├── EventNotDelivered            a receiver did not take an event; trying again may work
    ├── InternalFailure              a fault of the program, not of what it was given
    ├── SnapshotError                published files cannot be used
    │   ├── AlphaNotPublished        no pointer for that alpha
    │   ├── SnapshotNotKept          the alpha is served, that snapshot of it is not kept
    │   ├── KindNotPublished         the snapshot holds no such dataset, book or column
    │   ├── SnapshotCorrupt          a published file is not what its manifest says
    │   │   ├── OtherFormat          a manifest or pointer is of a format that this program does not read
    │   │   └── SnapshotUnreadable   a published file cannot be decoded
    │   └── PublicationRefused       the pointer was not moved: the seal is older, rolled back or its alpha withdrawn
    │       └── PublicationContended another command was at the pointer; trying again later may work
    ├── StorageUnavailable           the store did not answer; trying again later may work
    │   └── DiskUnavailable          a disk of this machine takes no more, or was lost
    ├── SettingsError                a flag or environment variable makes no sense
    ├── AccessError                  an administrative act on accounts or keys was refused
    ├── DemoFailed                   one of the demo's steps did not work
    ├── PrintingFailed               the browser that was to print a tear sheet did not
    └── ApiError                     a request is answered with the error envelope

The command lines turn any of them into one readable line and the exit code of its class, and ``retryable`` tells
programs whether the same may succeed later without anything being changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from schemas.error_codes import ERROR_CODES
from schemas.exit_codes import ExitCode


def causes(error: BaseException | None) -> list[BaseException]:
    """Return an exception and those it was raised from, or while they were handled, the outermost first."""
    chain: list[BaseException] = []
    while error is not None and error not in chain:
        chain.append(error)
        error = error.__cause__ or error.__context__
    return chain


class AlphaResultsError(Exception):
    """Root of the tree: catching it catches every refusal the project makes knowingly.

    Attributes
    ----------
    exit_code
        What a command line exits with when the error reaches it.
    retryable
        Whether the same may succeed later without anything being changed: a store was away, or a process was killed.
        Anything else stays as it is until somebody changes what was given.
    """

    exit_code: ClassVar[ExitCode] = ExitCode.PROGRAM_FAILED
    retryable: ClassVar[bool] = False


class SealError(AlphaResultsError):
    """A seal cannot be used."""

    exit_code = ExitCode.UNUSABLE


class SealUnreadable(SealError):
    """There is no complete seal at the address given."""


class SealRefused(SealError):
    """At least one rule is broken, so the seal was not published.

    Parameters
    ----------
    message
        One line naming the seal and the number of broken rules.
    violations
        The broken rules in the order checked, each as a JSON-ready mapping.
    """

    exit_code = ExitCode.REFUSED

    def __init__(self, message: str, violations: Sequence[Mapping[str, Any]] = ()) -> None:
        super().__init__(message)
        self.violations = tuple(violations)


class BuildCrashed(AlphaResultsError):
    """The process of one build of a batch ended without an answer: killed, or a fault of the program."""

    retryable = True


class BuildNotStarted(AlphaResultsError):
    """A batch was ended, or lost its cluster, before the seal was built."""

    exit_code = ExitCode.INTERRUPTED
    retryable = True


class ArchiveNotDelivered(AlphaResultsError):
    """The run is published and served; its source archive could not be packaged or stored."""

    exit_code = ExitCode.NOT_DELIVERED
    retryable = True


class EventNotDelivered(AlphaResultsError):
    """A receiver did not take an event; it and later ones are sent by the next run."""

    exit_code = ExitCode.NOT_DELIVERED
    retryable = True


class InternalFailure(AlphaResultsError):
    """A check or a build failed by a fault of the program; the message says where, so that it can be reported."""


class SnapshotError(AlphaResultsError):
    """Published files cannot be used."""

    exit_code = ExitCode.NOT_PUBLISHED


class AlphaNotPublished(SnapshotError):
    """The root holds no pointer for that alpha."""


class SnapshotNotKept(SnapshotError):
    """The alpha is served but keeps no snapshot of that id: there never was one, or gc removed it after it was replaced.

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

    exit_code = ExitCode.DAMAGED


class OtherFormat(SnapshotCorrupt):
    """A manifest or a pointer is of a format that this program does not read; the message names both and the rebuild."""


class SnapshotUnreadable(SnapshotCorrupt):
    """A published file cannot be decoded, although its bytes may be those that its manifest names."""


class PublicationRefused(SnapshotError):
    """The pointer was left where it was: the seal is older or was rolled back, or its alpha is withdrawn."""

    exit_code = ExitCode.NOT_MOVED


class PublicationContended(PublicationRefused):
    """The pointer was left where it was because another command was at it; trying again later may work."""

    retryable = True


class StorageUnavailable(AlphaResultsError):
    """The store did not answer. What was published is unharmed and trying again may work."""

    exit_code = ExitCode.STORE_AWAY
    retryable = True


class DiskUnavailable(StorageUnavailable):
    """A disk of this machine is full, read-only, failing or gone."""


class SettingsError(AlphaResultsError):
    """A flag or an environment variable has a value that makes no sense."""

    exit_code = ExitCode.UNUSABLE


class AccessError(AlphaResultsError):
    """An administrative act on accounts or keys was refused; the message says what to do instead."""

    exit_code = ExitCode.UNUSABLE


class DemoFailed(AlphaResultsError):
    """One of the demo's steps did not work; the message is that step's own."""


class PrintingFailed(AlphaResultsError):
    """The browser that was to print a tear sheet ended without having done so; the message holds its last line."""


class ApiError(AlphaResultsError):
    """A request that is answered with the error envelope.

    Parameters
    ----------
    code
        A name of the vocabulary in :mod:`schemas.error_codes`; anything else is a programming error.
    message
        One sentence for the reader of the response; never holds a secret or an internal path.
    details
        The machine-readable part of the envelope; null when there is no more to say.
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
