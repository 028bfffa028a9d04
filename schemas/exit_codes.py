"""What the exit code of every command means: one meaning each, the same for all commands.

The tree of errors, ``--help`` and docs/batches.md derive from here.
"""

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
        What it says, in one line.
    retry
        Whether the same command may succeed later without anything being changed; None where that does not arise.
    """

    meaning: str
    retry: bool | None

    def __new__(cls, value: int, meaning: str, retry: bool | None = None) -> Self:
        """Make a member of a code, its meaning, and whether it is worth trying again."""
        member = int.__new__(cls, value)
        member._value_ = value
        member.meaning, member.retry = meaning, retry
        return member

    DONE = 0, "done; everything is as it was asked for"
    REFUSED = 1, "a seal breaks a rule, or what is published does not pass a check of `reconcile`", False
    UNUSABLE = 2, "a seal, an address, a setting or an argument cannot be used", False
    NOT_MOVED = (
        3,
        "the pointer was left: the seal is older or was rolled back, its alpha is withdrawn, or another command is at it",
        None,
    )
    DAMAGED = 4, "a pointer, a manifest or a published file is damaged or of another format", False
    STORE_AWAY = 5, "a store, a cluster or a disk does not answer, is full or is read-only", True
    NOT_DELIVERED = 6, "published, but a source archive or an event was not delivered", True
    PROGRAM_FAILED = 7, "a process crashed, or the program is at fault", None
    STILL_REFUSED = (
        8,
        "nothing is wrong but seals that an earlier command refused already: nothing new",
        False,
    )
    NOT_PUBLISHED = 9, "no such alpha, snapshot or table is published", False
    INTERRUPTED = 130, "ended by Ctrl-C, or a batch by a signal before every seal was built", True
    TERMINATED = 143, "ended by SIGTERM", True


def exit_code_lines() -> list[tuple[str, str]]:
    """Return each code and its meaning, as a list in ``--help`` has them."""
    return [(str(code.value), code.meaning) for code in ExitCode]
