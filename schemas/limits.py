"""The windows in which a key's calls are limited, each declared once.

The stored limits of a key, `--rate`, the limiters, the headers, the error codes, the key views and the documents all derive
from `LIMIT_WINDOWS`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class LimitWindow:
    """One window: a number of calls in a length of time.

    Attributes
    ----------
    name
        What callers read: in `usage`, at the end of the headers' names, in `details.window`, as the label of the metric.
    option
        What operators write in `--rate`, and the name in a key's stored limits.
    code
        Error code of a call that the window refuses.
    span
        The length of time in words, after "in".
    seconds
        Length of a rolling window; None for the calendar month in UTC.
    default
        Calls of a key that was issued without a number; None for no limit.
    optional
        Whether a key may have no limit in it. A window added to stores that exist has to be: their keys have none.
    field
        Name in the `rate_limit` object, where it is not `option`.
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
    def title(self) -> str:
        """The last word of the headers' names."""
        return self.name.title()

    @property
    def headers(self) -> tuple[str, str, str]:
        """The headers of the limit, of the calls left, and of the seconds until the count falls."""
        return (
            f"X-RateLimit-Limit-{self.title}",
            f"X-RateLimit-Remaining-{self.title}",
            f"X-RateLimit-Reset-{self.title}",
        )

    @property
    def refusal(self) -> str:
        """What the error code means."""
        if self.seconds is None:
            return (
                f"The calendar {self.name}'s quota is used up; `Retry-After` points at the next {self.name}."
            )
        return f"More calls in the rolling {self.name} than the key's envelope; see `Retry-After`."


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
"""In the order they are checked: rolling windows from the shortest to the longest, then the calendar month."""

RATE_EXAMPLE: Final = ",".join(
    f"{window.option}={'null' if window.default is None else window.default}" for window in LIMIT_WINDOWS
)
"""An envelope as text: the default of a key."""
WITHOUT_LIMIT: Final = " and ".join(f"{window.option}=null" for window in LIMIT_WINDOWS if window.optional)
"""How to write that there is no limit, for each window that may have none."""
