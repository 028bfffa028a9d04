"""Neighbours served by two worker processes that share a folder of returns."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.research import catalogue
from tests.research.catalogue import Curve
from tests.research.test_neighbours import expected, shown
from tests.support import plain_http
from tests.support.redis import redis_running
from tests.support.server import served, token_for
from tests.support.waiting import eventually

NAMES = ("Test_like_0", "Test_like_1", "Test_like_2", "Test_weekends")


def test_two_workers_agree_and_follow_publications(
    tmp_path: Path,
) -> None:
    root, folder, returns = tmp_path / "published", tmp_path / "returns", dict[str, Curve]()
    curves = catalogue.draw_returns()
    for name in NAMES:
        returns[name] = catalogue.returns_of(catalogue.publish_alpha(root, name, curves[name], 9))
    # Every poll takes 24 calls, and a publication may take many polls; the rate limit is not under test here.
    token = token_for(root, "per_second=100000,per_minute=1000000")
    headers = {"authorization": f"Bearer {token}"}
    flags = ("--workers", "2", "--refresh-seconds", "0.2", "--neighbours", str(folder))
    with (
        redis_running() as redis,
        served(root, *flags, variables={"ALPHA_RESULTS_REDIS": redis.url}) as (_, base),
    ):

        def send(_: int) -> Any:
            return plain_http.get(f"{base}/v1/alphas/Test_like_0/neighbours", headers=headers)

        def all_answer(wanted: Any) -> bool:
            # A connection per request, so that both workers get some.
            with ThreadPoolExecutor(8) as pool:
                answers = list(pool.map(send, range(24)))
            assert {answer.status_code for answer in answers} <= {200, 503}
            return all(x.status_code == 200 and shown(x.json()["data"]) == wanted for x in answers)

        eventually(lambda: all_answer(expected(returns, "Test_like_0")))
        new = catalogue.publish_alpha(root, "Test_new", curves["Test_late"], 9)
        returns["Test_new"] = catalogue.returns_of(new)
        eventually(lambda: all_answer(expected(returns, "Test_like_0")))
