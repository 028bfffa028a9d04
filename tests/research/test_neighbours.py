"""Neighbours over HTTP, compared with a loop."""

from __future__ import annotations

import errno
import pwd
import shutil
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from datasets.analysis.comparison import read_returns
from datasets.figures.daily_returns import DailyReturns
from datasets.snapshot import Snapshot
from datasets.storage.file_digests import FileDigests
from schemas.errors import DiskUnavailable
from serve.research import returns_matrix, store
from serve.research.effective_number import EffectiveNumbers
from serve.research.returns_matrix import ReturnsMatrix, Searchable, load
from tests.research import catalogue
from tests.research.catalogue import Curve
from tests.research.conftest import Published
from tests.support import published
from tests.support.application import running
from tests.support.client import ApiClient
from tests.support.waiting import PATIENCE, eventually


def body(api: ApiClient, token: str, alpha: str, rest: str = "") -> dict[str, Any]:
    """Request neighbours, and retry while returns are being read."""
    path = f"/v1/alphas/{alpha}/neighbours?{rest}"
    eventually(lambda: api.get(path, token).status_code != 503)
    result: dict[str, Any] = api.json(path, token)
    return result


def expected(
    returns: dict[str, Curve], alpha: str, first: str = "", last: str = "9999", *, order: str = "nearest"
) -> list[tuple[str, float, int]]:
    rows = []
    for other, curve in returns.items():
        days = sorted(d for d in returns[alpha].keys() & curve.keys() if first <= d.isoformat() <= last)
        x, y = ([side[day] for day in days] for side in (returns[alpha], curve))
        if other != alpha and len(days) >= 10 and len(set(x)) > 1 and len(set(y)) > 1:
            rows.append((other, float(np.corrcoef(x, y)[0, 1]), len(days)))
    sign = {"nearest": -1, "farthest": 1, "strongest": -1}[order]

    def place(row: tuple[str, float, int]) -> tuple[float, str]:
        figure = round(row[1], 12)
        return sign * (abs(figure) if order == "strongest" else figure), row[0]

    return sorted(rows, key=place)


def shown(rows: list[dict[str, Any]]) -> Any:
    return [(x["alpha_id"], pytest.approx(x["correlation"], abs=1e-12), x["observations"]) for x in rows]


@pytest.mark.parametrize("order", ["nearest", "farthest", "strongest"])
@pytest.mark.parametrize("span", [("", "9999"), ("2021-02-01", "2021-04-16"), ("2021-03-01", "9999")])
def test_neighbours_match_a_loop_over_any_window(
    api: ApiClient, token: str, market: Published, order: str, span: tuple[str, str]
) -> None:
    window = f"from={span[0]}&to={span[1]}" if span[1] != "9999" else f"from={span[0]}" if span[0] else ""
    for alpha in ("Test_like_0", "Test_weekends", "Test_holes", "Test_late"):
        actual = body(api, token, alpha, f"order={order}&{window}")
        rows = expected(market.returns, alpha, *span, order=order)
        assert shown(actual["data"]) == rows
        assert actual["pagination"]["total"] == actual["meta"]["compared"] == len(rows)
        excluded = actual["meta"]["excluded"]
        assert sum(excluded.values()) + len(rows) == len(
            market.returns
        )  # one of them has no data, and one is itself
        assert excluded["no_data"] == 1
        assert excluded["not_read"] == excluded["unreadable"] == 0
        assert {row["name"] for row in actual["data"]} == {row[0] for row in rows}


def test_a_window_of_fewer_than_ten_sessions_has_no_neighbours(api: ApiClient, token: str) -> None:
    result = body(api, token, "Test_like_0", "from=2021-03-01&to=2021-03-11")
    assert result["data"] == []
    assert result["meta"]["compared"] == 0
    assert result["meta"]["excluded"]["too_few"] == 13
    assert (result["meta"]["first_date"], result["meta"]["last_date"]) == ("2021-03-01", "2021-03-11")


def test_a_constant_alpha_has_no_neighbours(api: ApiClient, token: str) -> None:
    result = body(api, token, "Test_flat")
    assert result["data"] == []
    assert result["meta"]["excluded"]["no_variation"] == 12


@pytest.mark.parametrize("by", ["returns", "scores", "holdings"])
def test_a_short_list_is_compared_like_the_matrix(api: ApiClient, token: str, by: str) -> None:
    others = [f"Test_like_{n}" for n in range(1, 5)]
    listed = ",".join(["Test_like_0", *others])
    matrix = api.json(f"/v1/correlations?alphas={listed}&by={by}&to=2021-05-01", token)["data"]
    actual = body(api, token, "Test_like_0", f"by={by}&to=2021-05-01&among={listed},Test_nothing")
    figure = "overlap" if by == "holdings" else "correlation"
    result = {row["alpha_id"]: (row[figure], row["observations"]) for row in actual["data"]}
    pairs = zip(matrix["matrix"][0][1:], matrix["observations"][0][1:], strict=True)
    assert result == dict(zip(others, pairs, strict=True))
    values = [row[figure] for row in actual["data"]]
    assert values == sorted(values, reverse=True)
    assert actual["meta"]["excluded"]["no_data"] == 1
    assert actual["meta"]["book"] == (None if by == "scores" else catalogue.BOOK)


@pytest.mark.parametrize("by", ["scores", "holdings"])
def test_without_a_list_a_small_catalogue_is_compared_completely(api: ApiClient, token: str, by: str) -> None:
    result = body(api, token, "Test_like_0", f"by={by}")
    assert {row["alpha_id"] for row in result["data"]} == {f"Test_like_{n}" for n in range(1, 5)}
    assert result["meta"]["excluded"]["no_data"] == 10


def test_with_more_than_fifty_others_a_list_is_required(tmp_path: Path) -> None:
    published.publish(tmp_path, published.full(), alpha_id="Test_one")
    for n in range(51):
        published.publish(tmp_path, {}, alpha_id=f"Test_{n}")
    with running(tmp_path) as api:
        token = api.key()
        for by in ("scores", "holdings"):
            answer = api.get(f"/v1/alphas/Test_one/neighbours?by={by}", token)
            error = answer.json()["error"]
            assert (answer.status_code, error["code"]) == (400, "bad_request")
            (entry,) = error["details"]["parameters"]
            assert entry["name"] == "among"
            assert "50" in entry["constraint"]
            body(api, token, "Test_one", f"by={by}&among=Test_0,Test_50")
        assert body(api, token, "Test_one")["meta"]["excluded"]["no_data"] == 51
        few = api.key(runs="list:Test_one,Test_3")
        assert body(api, few, "Test_one", "by=scores")["data"] == []


def test_forbidden_alphas_are_neither_named_nor_counted(
    api: ApiClient, token: str, market: Published
) -> None:
    limited = api.key(alphas="prefix:Test_like", runs="prefix:Test_")
    everything, actual = (body(api, key, "Test_like_0") for key in (token, limited))
    assert everything["data"][0]["alpha_id"] == "Prod_secret", "it is the nearest of all"
    rest = {alpha: curve for alpha, curve in market.returns.items() if alpha != "Prod_secret"}
    assert shown(actual["data"]) == expected(rest, "Test_like_0")
    counts = [x["meta"]["compared"] + sum(x["meta"]["excluded"].values()) for x in (everything, actual)]
    assert counts[0] == counts[1] + 1
    assert "Prod_secret" not in str(actual)
    for row in actual["data"]:
        assert (row["name"] is None) == (not row["alpha_id"].startswith("Test_like"))
    answer = api.get("/v1/alphas/Test_like_0/neighbours?among=Test_like_1,Prod_secret", limited)
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "run_not_allowed")


@pytest.fixture
def small(tmp_path: Path) -> tuple[Path, dict[str, Curve]]:
    """Return a separate root with three alphas."""
    root = tmp_path / "published"
    curves = {name: curve for name, curve in catalogue.draw_returns().items() if name.startswith("Test_like")}
    results = {}
    for name in ("Test_like_0", "Test_like_1", "Test_like_2"):
        results[name] = catalogue.returns_of(catalogue.publish_alpha(root, name, curves[name], 9))
    return root, results


def test_new_alphas_are_compared_soon(small: tuple[Path, dict[str, Curve]], tmp_path: Path) -> None:
    root, returns = small
    curves = catalogue.draw_returns()
    with running(root, neighbours=tmp_path / "returns") as api:
        token = api.key()
        assert shown(body(api, token, "Test_like_0")["data"]) == expected(returns, "Test_like_0")
        # A new alpha, and another build of an existing one.
        new = catalogue.publish_alpha(root, "Test_new", curves["Test_late"], 9)
        again = catalogue.publish_alpha(
            root, "Test_like_1", curves["Test_like_4"], 9, sealed_at="2026-01-06T07:30:00Z"
        )
        returns |= {"Test_new": catalogue.returns_of(new), "Test_like_1": catalogue.returns_of(again)}
        wanted = expected(returns, "Test_like_0")
        eventually(lambda: shown(body(api, token, "Test_like_0")["data"]) == wanted)
        assert shown(body(api, token, "Test_like_1")["data"]) == expected(returns, "Test_like_1")
        assert body(api, token, "Test_like_0")["meta"]["excluded"]["not_read"] == 0


def test_a_search_while_an_alpha_is_read_does_not_hide_it(
    small: tuple[Path, dict[str, Curve]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, returns = small
    searching, replaced = threading.Event(), threading.Event()
    update = EffectiveNumbers.update

    def read_later(run: Snapshot, book: str) -> DailyReturns:
        if run.alpha_id == "Test_new":
            assert searching.wait(PATIENCE)
        return read_returns(run, book)

    def slow_searchable(*parts: Any) -> Searchable:
        result = Searchable(*parts)
        reads = threading.current_thread().name == "daily returns"
        if not reads and "Test_new" in result.listing.places and not searching.is_set():
            searching.set()
            replaced.wait(1.0)  # this search began before the alpha was read
        return result

    def updated(numbers: EffectiveNumbers, searchable: Searchable, *rest: Any, **named: Any) -> None:
        if "Test_new" in searchable.listing.places:
            replaced.set()
        update(numbers, searchable, *rest, **named)

    monkeypatch.setattr(store, "read_returns", read_later)
    monkeypatch.setattr(store, "Searchable", slow_searchable)
    monkeypatch.setattr(EffectiveNumbers, "update", updated)
    with running(root, neighbours=tmp_path / "returns") as api:
        token = api.key()
        body(api, token, "Test_like_0")
        new = catalogue.publish_alpha(root, "Test_new", catalogue.draw_returns()["Test_late"], 9)
        returns["Test_new"] = catalogue.returns_of(new)
        wanted = expected(returns, "Test_like_0")
        eventually(lambda: shown(body(api, token, "Test_like_0")["data"]) == wanted)


@pytest.fixture
def written_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Save the matrix after every few alphas instead of dozens."""
    monkeypatch.setattr(store, "PENDING_ROWS", 1)


@pytest.mark.usefixtures("written_at_once")
@pytest.mark.parametrize("harm", ["none", "flip", "cut", "gone"])
def test_a_restart_reuses_saved_returns_and_rereads_damaged_ones(
    small: tuple[Path, dict[str, Curve]], tmp_path: Path, harm: str
) -> None:
    root, returns = small
    folder = tmp_path / "returns"
    rows = expected(returns, "Test_like_0")

    def send() -> Any:
        with running(root, neighbours=folder) as api:
            return shown(body(api, api.key(), "Test_like_0")["data"])

    assert send() == rows
    (file,) = folder.rglob("values.npy")
    written = file.stat().st_mtime_ns
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    if harm in {"flip", "cut"}:
        file.write_bytes(bytes(data) if harm == "flip" else bytes(data)[:200])
    if harm == "gone":
        shutil.rmtree(folder)
    assert send() == rows
    (again,) = folder.rglob("values.npy")
    assert (again.stat().st_mtime_ns == written) == (harm == "none")


@pytest.mark.parametrize(("by", "table"), [("scores", "decisions"), ("holdings", "positions")])
def test_an_alpha_whose_intact_file_cannot_be_decoded_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str, table: str
) -> None:
    root = tmp_path / "published"
    for number, (alpha, curve) in enumerate(list(catalogue.draw_returns().items())[:4]):
        catalogue.publish_alpha(root, alpha, curve, number)
    own, *others = sorted(path.name.removeprefix("alpha_id=") for path in (root / "alphas").iterdir())
    (file,) = (root / "alphas" / f"alpha_id={others[0]}").rglob(f"{table}/**/*.parquet")
    file.write_bytes(b"PAR1" + file.read_bytes()[4:40])
    monkeypatch.setattr(FileDigests, "intact", lambda *_: True)
    with running(root, neighbours=tmp_path / "returns") as api:
        token = api.key()
        actual = api.json(f"/v1/alphas/{own}/neighbours?by={by}", token)
        assert {row["alpha_id"] for row in actual["data"]} == set(others[1:])
        assert actual["meta"]["excluded"]["unreadable"] == 1
        assert api.get("/v1/health").json()["affected_alphas"] == 1
        assert api.get(f"/v1/alphas/{others[0]}/neighbours?by={by}", token).status_code == 503


def test_a_file_that_this_user_may_not_read_leaves_the_other_alphas_searchable(
    small: tuple[Path, dict[str, Curve]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, returns = small
    del returns["Test_like_2"]

    def refuse(run: Snapshot, book: str) -> DailyReturns:
        if run.alpha_id == "Test_like_2":
            raise DiskUnavailable("portfolio cannot be read: this user may not read it; permit it")
        return read_returns(run, book)

    monkeypatch.setattr(store, "read_returns", refuse)
    with running(root, neighbours=tmp_path / "returns") as api:
        actual = body(api, api.key(), "Test_like_0")
    assert shown(actual["data"]) == expected(returns, "Test_like_0")
    assert actual["meta"]["excluded"]["unreadable"] == 1


@pytest.mark.usefixtures("written_at_once")
def test_two_processes_share_one_folder(small: tuple[Path, dict[str, Curve]], tmp_path: Path) -> None:
    root, returns = small
    folder = tmp_path / "returns"
    copy = tmp_path / "counts"
    with (
        running(root, neighbours=folder) as one,
        running(root, neighbours=folder, counts=copy) as other,
    ):
        for api in (one, other):
            assert shown(body(api, api.key(), "Test_like_0")["data"]) == expected(returns, "Test_like_0")
        curve = catalogue.draw_returns()["Test_like_5"]
        returns["Test_like_5"] = catalogue.returns_of(catalogue.publish_alpha(root, "Test_like_5", curve, 9))
        for api in (one, other):
            token = api.key()
            eventually(lambda api=api, token=token: body(api, token, "Test_like_0")["meta"]["compared"] == 3)  # type: ignore[misc]
            assert shown(body(api, token, "Test_like_0")["data"]) == expected(returns, "Test_like_0")
    written = [key for path in folder.rglob("index.json") for key in load(path.parent).keys]
    assert sorted(alpha for alpha, _ in written) == sorted(returns), "each alpha is written once"


def test_without_a_usable_folder_neighbours_are_found(
    small: tuple[Path, dict[str, Curve]], tmp_path: Path
) -> None:
    root, returns = small
    place = tmp_path / "a file"
    place.write_text("where a folder should be")
    with running(root, neighbours=place) as api:
        assert shown(body(api, api.key(), "Test_like_0")["data"]) == expected(returns, "Test_like_0")


def test_a_user_without_a_home_directory_is_served_and_finds_neighbours(
    small: tuple[Path, dict[str, Curve]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, returns = small

    def unknown(_: int) -> None:
        raise KeyError("uid not found")

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    for variable in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.chdir(tmp_path)
    with running(root) as api:
        assert shown(body(api, api.key(), "Test_like_0")["data"]) == expected(returns, "Test_like_0")
    assert not (tmp_path / "~").exists()


@pytest.mark.usefixtures("written_at_once")
def test_on_a_full_disk_neighbours_are_found(
    small: tuple[Path, dict[str, Curve]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, returns = small
    shared = tmp_path / "returns"
    save = ReturnsMatrix.save

    def refuse(matrix: ReturnsMatrix, parent: Path) -> Path:
        if not parent.is_relative_to(shared):
            return save(matrix, parent)
        with monkeypatch.context() as patch:
            patch.setattr(returns_matrix, "file_digest", no_space)
            return save(matrix, parent)

    def no_space(_: Path) -> str:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(ReturnsMatrix, "save", refuse)
    with running(root, neighbours=shared) as api:
        assert shown(body(api, api.key(), "Test_like_0")["data"]) == expected(returns, "Test_like_0")
    assert not list(shared.rglob("*.npy")), "nothing half-written is left"


@pytest.mark.usefixtures("written_at_once")
def test_replaced_snapshots_leave_the_folder(small: tuple[Path, dict[str, Curve]], tmp_path: Path) -> None:
    root, returns = small
    folder, curves = tmp_path / "returns", catalogue.draw_returns()
    with running(root, neighbours=folder) as api:
        token = api.key()
        body(api, token, "Test_like_0")
        for day in range(1, 13):
            again = catalogue.publish_alpha(
                root,
                "Test_like_1",
                curves[f"Test_like_{2 + day % 3}"],
                9,
                sealed_at=f"2026-02-{day:02d}T07:30:00Z",
            )
            returns["Test_like_1"] = catalogue.returns_of(again)
            rows = expected(returns, "Test_like_0")
            eventually(lambda rows=rows: shown(body(api, token, "Test_like_0")["data"]) == rows)  # type: ignore[misc]
    written = [key for path in folder.rglob("index.json") for key in load(path.parent).keys]
    assert len(written) < 10


@pytest.mark.usefixtures("written_at_once")
def test_a_restart_after_a_rebuild_of_every_alpha_keeps_the_shared_folder(
    small: tuple[Path, dict[str, Curve]], tmp_path: Path
) -> None:
    root, returns = small
    folder, curves = tmp_path / "returns", catalogue.draw_returns()
    with running(root, neighbours=folder) as api:
        body(api, api.key(), "Test_like_0")
    for n, alpha in enumerate(sorted(returns)):
        again = catalogue.publish_alpha(
            root, alpha, curves[f"Test_like_{5 - n}"], 9, sealed_at="2026-01-06T07:30:00Z"
        )
        returns[alpha] = catalogue.returns_of(again)
    with running(root, neighbours=folder) as api:
        assert shown(body(api, api.key(), "Test_like_0")["data"]) == expected(returns, "Test_like_0")
    written = [key for path in folder.rglob("index.json") for key in load(path.parent).keys]
    assert sorted(alpha for alpha, _ in written) == sorted(returns), "only the new builds are kept"
