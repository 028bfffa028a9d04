"""Errors of the seal writer."""

from __future__ import annotations

from collections.abc import Sequence


class SealError(ValueError):
    """An argument is invalid; the message names it and the fix. No file was written."""


class SealRefused(SealError):
    """The tables break rules of the format. No file was written.

    Attributes
    ----------
    problems
        One text per broken rule: place, fault and fix.
    """

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("the seal would be refused:\n" + "\n".join(f"- {text}" for text in self.problems))
