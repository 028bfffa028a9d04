"""Neighbours over a root in a bucket."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.research import catalogue
from tests.research.catalogue import Curve
from tests.research.test_neighbours import expected, shown
from tests.s3.node import Node, node
from tests.support.bucket import Bucket
from tests.support.waiting import eventually

ASKED = "alphas/Test_like_0/neighbours"


def neighbours(api: Node) -> Any:
    """Request neighbours, and retry while returns are being read."""
    eventually(lambda: api.get(ASKED).status_code != 503)
    return shown(api.get(ASKED).json()["data"])


def test_neighbours_in_a_bucket_follow_publications(bucket: Bucket, tmp_path: Path) -> None:
    root, returns = bucket.url("root"), dict[str, Curve]()
    curves = catalogue.draw_returns()
    for name in ("Test_like_0", "Test_like_1", "Test_like_2"):
        returns[name] = catalogue.returns_of(catalogue.publish_alpha(root, name, curves[name], 9))
    with node(tmp_path, root, neighbours=str(tmp_path / "returns")) as api:
        assert neighbours(api) == expected(returns, "Test_like_0")
        new = catalogue.publish_alpha(root, "Test_new", curves["Test_late"], 9)
        again = catalogue.publish_alpha(
            root, "Test_like_1", curves["Test_like_4"], 9, sealed_at="2026-01-06T07:30:00Z"
        )
        returns |= {"Test_new": catalogue.returns_of(new), "Test_like_1": catalogue.returns_of(again)}
        wanted = expected(returns, "Test_like_0")
        eventually(lambda: neighbours(api) == wanted)
        with bucket.server.away():
            assert neighbours(api) == wanted, "what was read is in a file of this machine"
