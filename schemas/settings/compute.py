"""The declarations about compute threads, and about answers that wait for one."""

from __future__ import annotations

from typing import Final

from schemas.settings.readers import seconds, whole
from schemas.settings.setting import Setting

COMPUTE: Final = (
    Setting(
        name="threads",
        read=whole(0, 1024),
        type="integer",
        meaning="Answers of one key that a process computes at a time; 0 takes one a core. One thread more is for "
        "those of other keys.",
        default=0,
    ),
    Setting(
        name="max_waiting_answers",
        read=whole(1, 1_000_000),
        type="integer",
        meaning="Answers that wait for a compute thread of a process; one more is refused with 503 `overloaded`. A key has "
        "half of them at most.",
        default=256,
    ),
    Setting(
        name="max_wait_seconds",
        read=seconds(0.05, 3600.0),
        type="seconds",
        meaning="How long an answer waits for a compute thread before it is refused with 503 `overloaded`.",
        default=10.0,
    ),
)
