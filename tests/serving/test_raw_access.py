from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.client import ApiClient

RUN = "/v1/alphas/Test_hand"
PATHS = [
    "/v1/me",
    "/v1/alphas",
    RUN,
    f"{RUN}/rebalances",
    f"{RUN}/rebalances/2020-01-03",
    f"{RUN}/scores",
    f"{RUN}/scores?fields=all",
    f"{RUN}/books",
    *(f"{RUN}/{kind}?book={book}" for kind in ("portfolio", "positions", "pnl", "trades", "equity-curve")
      for book in ("long_short", "raw_long_short", "nothing")),
    f"{RUN}/trades",
]  # fmt: skip


def words(value: Any) -> Iterator[str]:
    """Every key and every text anywhere in a JSON value."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield name
            yield from words(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from words(inner)
    elif isinstance(value, str):
        yield value


@pytest.mark.parametrize("path", PATHS)
def test_no_answer_has_a_raw_field_without_raw_access(api: ApiClient, plain: str, path: str) -> None:
    assert not [word for word in words(api.get(path, plain).json()) if word.startswith("raw_")]


def test_raw_fields_are_served_with_raw_access(api: ApiClient, raw: str) -> None:
    for path in (f"{RUN}/rebalances/2020-01-03", f"{RUN}/scores", f"{RUN}/books", f"{RUN}/trades"):
        assert [word for word in words(api.get(path, raw).json()) if word.startswith("raw_")]


def test_access_can_be_widened_and_narrowed_between_two_calls(api: ApiClient) -> None:
    from serve.auth.admin import open_administration  # noqa: PLC0415 - one test needs it

    token = api.key()
    key_id = token.split("_")[2].split(".")[0]

    async def change(raw: bool) -> None:
        async with open_administration(api.access, "tests") as acts:
            await acts.keys.change(key_id, raw=raw)

    def seen() -> bool:
        return "raw_score" in api.json(f"{RUN}/scores?limit=1", token)["data"][0]

    assert not seen()
    api.wait(change(True))
    assert seen()
    api.wait(change(False))
    assert not seen()
