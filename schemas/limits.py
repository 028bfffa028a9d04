"""The windows in which calls of a key are limited.

Stored limits, `--rate`, limiters, headers, error codes, key views and documents all derive from `LIMIT_WINDOWS`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class LimitWindow:
    """One window in which calls are counted.

    Attributes
    ----------
    name
        Name in `usage`, in header names, in `details.window` and as a label of metrics.
    option
        Name in `--rate` and in a key's stored limits.
    code
        Error code of calls beyond the limit.
    span
        Length of the window in words that follow "in".
    seconds
        Length of a rolling window; None for the calendar month in UTC.
    default
        Limit of a key that was issued without one; None for no limit.
    optional
        Whether keys may have no limit in it. Required for windows added later, since existing keys have none.
    field
        Name in the `rate_limit` object, if it is not `option`.
    """

    name: str
    option: str
    code: str
    span: str
    seconds: int | None
    default: int | None
    optional: bool = False
    field: str = ""

    @property
    def json_name(self) -> str:
        """The name in the `rate_limit` object."""
        return self.field or self.option

    @property
    def headers(self) -> tuple[str, ...]:
        """Header names for limit, remaining calls, and seconds until the count falls."""
        return tuple(f"X-RateLimit-{part}-{self.name.title()}" for part in ("Limit", "Remaining", "Reset"))

    @property
    def refusal(self) -> str:
        """Meaning of the error code."""
        if self.seconds is None:
            return f"The quota of the calendar {self.name} is used up; `Retry-After` gives the start of the next {self.name}."
        return f"The limit of the key in the rolling {self.name} is used up; see `Retry-After`."


LIMIT_WINDOWS: Final = (
    LimitWindow("second", "per_second", "rate_limit_second", "any second", 1, 5),
    LimitWindow("minute", "per_minute", "rate_limit_minute", "any minute", 60, 60),
    LimitWindow("day", "per_day", "rate_limit_day", "any 24 hours", 86_400, 5_000),
    LimitWindow(
        "month",
        "monthly",
        "quota_exceeded",
        "a calendar month in UTC",
        None,
        100_000,
        optional=True,
        field="monthly_requests",
    ),
)
"""In the order of the checks: rolling windows by length, then the calendar month."""

RATE_EXAMPLE: Final = ",".join(
    f"{window.option}={'null' if window.default is None else window.default}" for window in LIMIT_WINDOWS
)
"""The default limits of a key, as text."""
WITHOUT_LIMIT: Final = " and ".join(f"{window.option}=null" for window in LIMIT_WINDOWS if window.optional)
"""Text that stands for "no limit", for each optional window."""
