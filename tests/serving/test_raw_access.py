from __future__ import annotations

from tests.support.client import ApiClient

RUN = "/v1/alphas/Test_hand"


def test_access_can_be_widened_and_narrowed_between_two_calls(api: ApiClient) -> None:
    from tests.support.administration import open_administration  # noqa: PLC0415 - one test needs it

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
