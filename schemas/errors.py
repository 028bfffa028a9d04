"""Every exception that the project raises deliberately, as one tree.

::

    AlphaResultsError
    ├── SealError                    a seal cannot be used
    │   ├── SealUnreadable           there is no complete seal at that address
    │   └── SealRefused              a rule is broken; carries the report
    ├── BuildCrashed                 the process of a build ended without a result; a retry may succeed
    ├── BuildNotStarted              the batch ended before the seal was built
    ├── ArchiveNotDelivered          the run is published, its source archive was not delivered; a retry may succeed
    │   └── ArchiveLeftOut           the exclusion patterns leave no source file to package
    ├── EventNotDelivered            a receiver did not accept an event; a retry may succeed
    ├── InternalFailure              a bug of the program, not an error in its input
    ├── SnapshotError                published files cannot be used
    │   ├── AlphaNotPublished        no pointer for that alpha
    │   ├── SnapshotNotKept          the alpha is served, but that snapshot is not kept
    │   ├── KindNotPublished         the snapshot holds no such dataset, book or column
    │   ├── SnapshotCorrupt          a published file does not match its manifest
    │   │   ├── OtherFormat          a manifest or pointer has a format that this program does not read
    │   │   └── SnapshotUnreadable   a published file cannot be decoded
    │   └── PublicationRefused       the pointer was not moved: the seal is older, rolled back or its alpha withdrawn
    │       └── PublicationContended another command held the pointer; a retry may succeed
    ├── StorageUnavailable           the store did not answer; a retry may succeed
    │   └── DiskUnavailable          a disk of this machine is read-only or failing
    │       └── DiskFull             no space is left on it
    ├── SettingsError                a flag or environment variable is invalid
    │   └── StoreRefused             a server refuses the setting; also a StorageUnavailable
    ├── AccessError                  an administrative operation on accounts or keys was refused
    ├── DemoFailed                   a step of the demo failed
    ├── PrintingFailed               the browser did not print a tear sheet
    └── ApiError                     a request is answered with the error envelope

Command lines print each as one line and exit with the exit code of its class. ``retryable`` tells programs whether the same call
may succeed later without a change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from schemas.error_codes import ERROR_CODES
from schemas.exit_codes import ExitCode


def causes(error: BaseException | None) -> list[BaseException]:
    """Return an exception and the chain of its causes and contexts, outermost first."""
    chain: list[BaseException] = []
    while error is not None and error not in chain:
        chain.append(error)
        error = error.__cause__ or error.__context__
    return chain


class AlphaResultsError(Exception):
    """Root of the tree.

    Attributes
    ----------
    exit_code
        Exit code of a command that ends with the error.
    retryable
        Whether the same call may succeed later without a change, for instance once a store is available again.
    snapshot_key
        Alpha and id of the snapshot that could not be read; None for other errors, and if the reader does not know it.
    """

    exit_code: ClassVar[ExitCode] = ExitCode.PROGRAM_FAILED
    retryable: ClassVar[bool] = False
    snapshot_key: tuple[str, str] | None = None


class SealError(AlphaResultsError):
    """A seal cannot be used."""

    exit_code = ExitCode.UNUSABLE


class SealUnreadable(SealError):
    """There is no complete seal at the given address."""


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
    """The process of one build of a batch ended without a result: it was killed, or crashed by a bug."""

    retryable = True


class BuildNotStarted(AlphaResultsError):
    """A batch ended, lost its cluster or met a full disk, before the seal was built."""

    exit_code = ExitCode.INTERRUPTED
    retryable = True


class ArchiveNotDelivered(AlphaResultsError):
    """The run is published and served; its source archive could not be packaged or stored."""

    exit_code = ExitCode.NOT_DELIVERED
    retryable = True


class ArchiveLeftOut(ArchiveNotDelivered):
    """The exclusion patterns leave no source file to package, so only other patterns help."""

    exit_code = ExitCode.UNUSABLE
    retryable = False


class EventNotDelivered(AlphaResultsError):
    """A receiver did not accept an event; the next run sends it and later ones."""

    exit_code = ExitCode.NOT_DELIVERED
    retryable = True


class InternalFailure(AlphaResultsError):
    """A check or a build failed because of a bug; the message says where, for a report."""


class SnapshotError(AlphaResultsError):
    """Published files cannot be used."""

    exit_code = ExitCode.NOT_PUBLISHED


class AlphaNotPublished(SnapshotError):
    """The root holds no pointer for that alpha."""


class SnapshotNotKept(SnapshotError):
    """The alpha is served, but has no snapshot with that id: there never was one, or gc removed it after it was replaced.

    Parameters
    ----------
    message
        One line.
    current
        The served snapshot.
    """

    def __init__(self, message: str, current: str) -> None:
        super().__init__(message)
        self.current = current


class KindNotPublished(SnapshotError):
    """The snapshot holds no such dataset, book or column."""


class SnapshotCorrupt(SnapshotError):
    """A published file does not match its manifest or pointer."""

    exit_code = ExitCode.DAMAGED


class OtherFormat(SnapshotCorrupt):
    """A manifest or pointer has a format that this program does not read; the message names both formats and the rebuild."""


class SnapshotUnreadable(SnapshotCorrupt):
    """A published file cannot be decoded, although its digest may match its manifest."""


class PublicationRefused(SnapshotError):
    """The pointer was not moved: the seal is older or was rolled back, or its alpha is withdrawn."""

    exit_code = ExitCode.NOT_MOVED


class PublicationContended(PublicationRefused):
    """The pointer was not moved because another command held it; a retry may succeed."""

    retryable = True


class StorageUnavailable(AlphaResultsError):
    """The store did not answer. Published data are unharmed, and a retry may succeed."""

    exit_code = ExitCode.STORE_AWAY
    retryable = True


class DiskUnavailable(StorageUnavailable):
    """A disk of this machine is full, read-only, failing or missing."""


class DiskFull(DiskUnavailable):
    """No space is left on a disk of this machine, or a quota is used up."""


class SettingsError(AlphaResultsError):
    """A flag or environment variable is invalid."""

    exit_code = ExitCode.UNUSABLE


class StoreRefused(SettingsError, StorageUnavailable):
    """A server was reached and refuses the user, database or options that its setting names; a retry is pointless."""

    retryable = False


class AccessError(AlphaResultsError):
    """An administrative operation on accounts or keys was refused; the message says what to do instead."""

    exit_code = ExitCode.UNUSABLE


class DemoFailed(AlphaResultsError):
    """A step of the demo failed; the message is that of the step."""


class PrintingFailed(AlphaResultsError):
    """The browser ended without printing a tear sheet; the message contains its last line."""


class ApiError(AlphaResultsError):
    """A request that is answered with the error envelope.

    Parameters
    ----------
    code
        A code of :mod:`schemas.error_codes`; any other is a programming error.
    message
        One sentence for people, without secrets or internal paths.
    details
        Machine-readable details; null without any.
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
