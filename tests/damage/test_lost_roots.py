"""Roots whose catalogue or snapshots are gone."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.damage.damaged import health
from tests.support import published
from tests.support.application import running
from tests.support.waiting import eventually


def test_a_root_or_catalogue_that_is_lost_is_not_followed(tmp_path: Path) -> None:
    root = tmp_path / "published"
    published.publish(root, published.full())
    with running(root, memory_bytes=1, rows_bytes=0) as api:
        token = api.key()
        target = "/v1/alphas/Test_hand/scores"
        assert api.get(target, token).status_code == 200
        assert health(api) == ("ok", 0)
        for lost, emptied in (("catalog", False), (".", True), (".", False)):
            away = tmp_path / "away"
            (root / lost).rename(away)
            if emptied:
                root.mkdir()
            eventually(lambda: health(api)[0] == "degraded")
            answer = api.get(target, token)
            if lost == "catalog":
                assert answer.status_code == 200
            else:
                assert (answer.status_code, answer.json()["error"]["code"]) == (503, "upstream_unavailable")
            assert [row["alpha_id"] for row in api.json("/v1/alphas", token)["data"]] == ["Test_hand"]
            shutil.rmtree(root / lost, ignore_errors=True)
            away.rename(root / lost)
            eventually(lambda: health(api) == ("ok", 0))
            assert api.get(target, token).status_code == 200


def test_a_root_with_snapshots_but_no_catalogue_is_refused_at_start(tmp_path: Path) -> None:
    published.publish(tmp_path, published.full())
    (tmp_path / "catalog").rename(tmp_path / "elsewhere")
    with running(tmp_path) as api:
        token = api.key()
        assert health(api)[0] == "degraded"
        assert api.get("/v1/alphas/Test_hand/scores", token).status_code == 503
        assert api.get("/v1/alphas", token).status_code == 503
        (tmp_path / "elsewhere").rename(tmp_path / "catalog")
        eventually(lambda: health(api) == ("ok", 0))
        assert api.get("/v1/alphas/Test_hand/scores", token).status_code == 200


def test_an_empty_root_is_valid(tmp_path: Path) -> None:
    with running(tmp_path) as api:
        token = api.key()
        assert health(api) == ("ok", 0)
        assert api.json("/v1/alphas", token)["data"] == []
        assert api.get("/v1/alphas/Test_hand/scores", token).status_code == 404
