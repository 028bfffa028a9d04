"""Rate limits in answers: headers, usage, refusals."""

from __future__ import annotations

import pytest

from schemas.endpoint import Endpoint
from schemas.endpoints import ENDPOINTS
from tests.contract.cases import CASES, arguments_of, every
from tests.support.contract_app import FULL, ContractApp

WINDOWS = ("Second", "Minute", "Day", "Month")
ENVELOPE = dict(zip(WINDOWS, (900, 9000, 90000, 900000), strict=True))
"""Of the key called `counted`."""


def remaining_day(api: ContractApp, *, path: str = "/v1/me") -> int:
    response = api.client.send("GET", path, api.headers("counted"))
    return int(response.headers["x-ratelimit-remaining-day"])


@every(e for e in ENDPOINTS.values() if not e.public and not e.admin)
def test_every_counted_answer_has_rate_limit_headers(api: ContractApp, endpoint: Endpoint) -> None:
    arguments = {**arguments_of(api, endpoint), "key": "counted"}
    query = CASES[endpoint.id].query
    # An answer that a shared cache may store has no headers about the call; a refusal of it does.
    answered = [] if endpoint.shared else [query]
    for changed in (*answered, {**query, "limit": "0", "from": "x", "symbol": ""}):
        headers = api.get(endpoint, changed, **arguments).headers
        for window in WINDOWS:
            assert headers[f"x-ratelimit-limit-{window}"] == str(ENVELOPE[window])
            assert 0 <= int(headers[f"x-ratelimit-remaining-{window}"]) < ENVELOPE[window]
            assert int(headers[f"x-ratelimit-reset-{window}"]) >= 0


def test_a_key_without_monthly_quota_has_no_header_for_it(api: ContractApp) -> None:
    response = api.get("meta.me", key="reader")
    assert "x-ratelimit-limit-day" in response.headers
    assert not [name for name in response.headers if name.endswith("-month")]
    data = response.json()["data"]
    assert data["rate_limit"]["monthly_requests"] is None
    assert data["usage"]["remaining_month"] is None


def test_every_call_of_a_recognised_key_counts_once(api: ContractApp) -> None:
    tag = api.get("signals.scores", alpha=FULL, key="counted").headers["etag"]
    before = remaining_day(api)
    calls = [
        api.get("signals.scores", alpha=FULL, key="counted", headers={"if-none-match": tag}),
        api.get("signals.scores", {"limit": "0"}, alpha=FULL, key="counted"),
        api.get("signals.scores", alpha="Test_nowhere", key="counted"),
        api.get("admin.alphas.list", key="counted"),
        api.get("meta.keys", key="counted"),
    ]
    assert [call.status_code for call in calls] == [304, 400, 404, 403, 200]
    left = [int(call.headers["x-ratelimit-remaining-day"]) for call in calls]
    assert left == [before - n for n in range(1, 6)]


def test_usage_matches_the_headers(api: ContractApp) -> None:
    response = api.get("meta.me", key="counted")
    usage = response.json()["data"]["usage"]
    for window in WINDOWS:
        assert usage[f"remaining_{window.lower()}"] == int(
            response.headers[f"x-ratelimit-remaining-{window}"]
        )
        assert usage[window.lower()] + usage[f"remaining_{window.lower()}"] == ENVELOPE[window]
    page = api.ok("meta.keys", {"limit": 5000}, key="counted")
    own = next(row for row in page["data"] if row["key_id"] == api.keys.ids["counted"])
    assert own["usage"]["day"] == usage["day"] + 1
    seen = api.ok("admin.keys.usage", key="administrator", key_id=api.keys.ids["counted"])
    assert seen["data"]["usage"]["day"] == usage["day"] + 1, "looking at a key charges it nothing"


@pytest.mark.parametrize(
    ("key", "window", "code"),
    [
        # A key of its own: another test's call might leave the minute in the middle of this one.
        ("another minute", "minute", "rate_limit_minute"),
        ("day", "day", "rate_limit_day"),
        ("month", "month", "quota_exceeded"),
    ],
)
def test_a_call_beyond_the_limit_is_refused_and_not_counted(
    api: ContractApp, key: str, window: str, code: str
) -> None:
    for _ in range(2):  # the limit allows one call, whoever makes it
        response = api.get("meta.me", key=key)
    for _ in range(3):
        response = api.get("meta.me", key=key)
        error = response.json()["error"]
        assert error["code"] == code
        assert error["details"] == {"window": window, "limit": 1}
        assert int(response.headers["retry-after"]) >= 1
        assert response.headers[f"x-ratelimit-remaining-{window}"] == "0"
        used = api.ok("admin.keys.usage", key="administrator", key_id=api.keys.ids[key])["data"]["usage"]
        assert used[window] == 1


def test_concurrent_calls_are_all_counted(api: ContractApp) -> None:
    before = remaining_day(api)
    together = [("/v1/me", api.headers("counted"))] * 25
    left = sorted(int(r.headers["x-ratelimit-remaining-day"]) for r in api.client.send_together(together))
    assert left == sorted(before - n for n in range(1, 26))
