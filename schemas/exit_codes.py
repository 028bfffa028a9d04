"""Exit codes, with the same meaning for all commands; the tree of errors, ``--help`` and docs/batches.md use them."""

from __future__ import annotations

from enum import IntEnum
from typing import Self


class ExitCode(IntEnum):
    """Exit code of a command.

    Parameters
    ----------
    value
        The code.
    meaning
        Its meaning in one line.
    retry
        Whether the same command may succeed later without a change; None if that does not apply.
    """

    meaning: str
    retry: bool | None

    def __new__(cls, value: int, meaning: str, retry: bool | None = None) -> Self:
        """Create a member from a code, its meaning, and whether a retry may help."""
        member = int.__new__(cls, value)
        member._value_ = value
        member.meaning, member.retry = meaning, retry
        return member

    DONE = 0, "success"
    REFUSED = 1, "a seal breaks a rule", False
    UNUSABLE = 2, "a seal, an address, a setting or an argument cannot be used", False
    NOT_MOVED = (
        3,
        "the pointer was not moved: the seal is older or was rolled back, its alpha is withdrawn, or another command holds it",
    )
    DAMAGED = 4, "a pointer, a manifest or a published file is damaged or of another format", False
    STORE_AWAY = 5, "a store, a cluster or a disk does not answer, is full or is read-only", True
    NOT_DELIVERED = 6, "published, but a source archive or an event was not delivered", True
    PROGRAM_FAILED = 7, "a process crashed, or the program has a bug", None
    STILL_REFUSED = 8, "no new failure: only seals that an earlier command already refused", False
    NOT_PUBLISHED = 9, "no such alpha, snapshot or table is published", False
    INTERRUPTED = 130, "stopped by Ctrl-C, or a batch by a signal before every seal was built", True
    OUTPUT_CLOSED = 141, "the reader of the output closed it, as head does"
    TERMINATED = 143, "stopped by SIGTERM", True
