from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from schemas.limits import LIMIT_WINDOWS
from serve.auth.authenticator import rate_headers
from serve.auth.limits.counts import LimitStatus, RateLimit, Usage

RATE = RateLimit()


def test_headers_state_limit_remaining_and_reset_of_each_window() -> None:
    headers = rate_headers(RATE, LimitStatus((1, 2, 3, 4), (1, 1_000_001, 60_000_000, 0)))
    assert headers == {
        "X-RateLimit-Limit-Second": "5",
        "X-RateLimit-Remaining-Second": "4",
        "X-RateLimit-Reset-Second": "1",
        "X-RateLimit-Limit-Minute": "60",
        "X-RateLimit-Remaining-Minute": "58",
        "X-RateLimit-Reset-Minute": "2",
        "X-RateLimit-Limit-Day": "5000",
        "X-RateLimit-Remaining-Day": "4997",
        "X-RateLimit-Reset-Day": "60",
        "X-RateLimit-Limit-Month": "100000",
        "X-RateLimit-Remaining-Month": "99996",
        "X-RateLimit-Reset-Month": "0",
    }


def test_remaining_is_never_negative() -> None:
    usage = Usage((9, 90, 9000, 200_000), RATE)
    assert usage.to_json() == {
        "second": 9,
        "minute": 90,
        "day": 9000,
        "month": 200_000,
        "remaining_second": 0,
        "remaining_minute": 0,
        "remaining_day": 0,
        "remaining_month": 0,
    }


@given(st.integers(1, 10**15))
def test_waits_in_headers_are_rounded_up_to_full_seconds(wait_us: int) -> None:
    refused = LimitStatus((5, 5, 5, 5), (wait_us, 1, 1, 1), LIMIT_WINDOWS[0], wait_us)
    headers = rate_headers(RATE, refused)
    for seconds in (headers["Retry-After"], headers["X-RateLimit-Reset-Second"]):
        assert 0 <= int(seconds) * 1_000_000 - wait_us < 1_000_000
