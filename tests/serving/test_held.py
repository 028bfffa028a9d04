"""What is cut from memory is, byte for byte, what the engine answers from the file."""

from __future__ import annotations

import contextlib
import datetime as dt
import itertools
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from datasets.catalogue import Catalogue
from datasets.storage import open_storage
from schemas.endpoints import ENDPOINTS
from schemas.errors import ApiError
from schemas.rows import ROWS
from serve.app import ROUTES
from serve.auth.allow_list import ALL
from serve.auth.caller import Caller
from serve.auth.limits.policy import LimitStatus, RateLimit
from serve.cache import tables
from serve.cache.bodies import AdmissionFilter, Body
from serve.cache.ledgers import LedgerCache
from serve.cache.lru import SizedLRUCache, snapshot_key
from serve.cache.miss import CacheMiss
from serve.cache.symbols import RunSymbols
from serve.cache.tables import TableCache
from serve.http.answer import Page
from serve.http.context import Context
from serve.http.params import parse
from serve.http.responses import page_body
from serve.query import rendered_table
from serve.query.duckdb import Reader
from serve.query.engine import Pages
from serve.query.json import to_json
from serve.query.rebalances import RebalanceIndexes
from serve.query.rendered_rows import render
from serve.query.rendered_table import Stored
from serve.query.rendered_table import held as read_and_render
from serve.query.sql import Statement
from tests.support import published
from tests.support.client import ApiClient

HELD = {
    "signals.rebalances.list": (),
    "signals.rebalances.get": ("date",),
    "signals.scores": (),
    "portfolio.ledger": (),
    "portfolio.positions": (),
    "portfolio.pnl": (),
    "portfolio.trades": (),
    "portfolio.equity_curve": (),
}
DAYS = sorted({*published.WEEKS, *published.SESSIONS, dt.date(2019, 1, 1), dt.date(2021, 1, 1)})


class Parts:
    """The parts of a service that pages need, over a root of its own; nothing in it is made up."""

    def __init__(self, root: Path, limit: int) -> None:
        self.reader = Reader()
        self.weeks = RebalanceIndexes(self.reader)
        self.datasets = TableCache(limit)
        self.pages = Pages(self.reader, self.datasets)
        self.ledgers = LedgerCache(self.reader, limit)
        self.symbols = RunSymbols(self.reader, limit)
        catalogue = Catalogue(open_storage(str(root)))
        catalogue.refresh()
        snapshot = catalogue.resolve(published.ALPHA)
        assert snapshot is not None
        self.snapshot = snapshot

    def page(self, name: str, asked: dict[str, str], *, raw: bool, hurried: bool = False) -> Page:
        endpoint = ENDPOINTS[name]
        path = {"alpha": published.ALPHA, **{x: asked[x] for x in HELD[name]}}
        query = [(key, value) for key, value in asked.items() if key not in path]
        values = parse(endpoint, path, query)
        caller = Caller(
            "k", "k", "u", "u@example.org", "user", False, ALL, ALL, ALL, raw,
            RateLimit(), LimitStatus((0, 0, 0, 0), (0, 0, 0, 0)),
        )  # fmt: skip
        context = Context(cast(Any, self), endpoint, values, "r", caller, self.snapshot, hurried)
        return cast(Page, ROUTES[name](context))

    def body(self, name: str, asked: dict[str, str], *, raw: bool, hurried: bool = False) -> bytes:
        page = self.page(name, asked, raw=raw, hurried=hurried)
        endpoint = ENDPOINTS[name]
        path = {"alpha": published.ALPHA, **{x: asked[x] for x in HELD[name]}}
        values = parse(endpoint, path, [(k, v) for k, v in asked.items() if k not in path])
        context = Context(cast(Any, self), endpoint, values, "r", None, self.snapshot)
        return b"".join(page_body(context, page))

    def until_held(self, ask: Callable[[], object]) -> None:
        """Ask until the answer comes from memory, which it does a moment after the first direct one."""
        for _ in range(500):
            try:
                ask()
            except CacheMiss:
                time.sleep(0.01)
            else:
                return
        raise AssertionError("the dataset was never held")

    def close(self) -> None:
        self.datasets.close()
        self.reader.close()


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with ties, nulls, both zeros and names in every order of bytes."""
    folder = tmp_path_factory.mktemp("held") / "published"
    folder.mkdir()
    decisions = published.decisions()
    n = pl.int_range(pl.len())
    zeros = pl.when(n % 11 == 4).then(0.0).when(n % 11 == 7).then(-0.0).otherwise(pl.col("score"))
    odd = {"C": "a.b", "E": "BRK-B", "K": "é", "L": "\U0001f600", "M": "~"}
    decisions = decisions.with_columns(
        score=zeros,
        long_only_target_weight=n % 3 * 0.1,
        symbol=pl.col("symbol").replace(odd),
    )
    kinds = published.full() | {"decisions": decisions.sort("date", "symbol")}
    published.publish(folder, kinds, description={"name": "By hand"})
    return folder


@pytest.fixture(scope="module")
def direct(root: Path) -> Iterator[Parts]:
    """A service that may keep nothing, and so asks the engine each time."""
    parts = Parts(root, 1)
    yield parts
    parts.close()


@pytest.fixture(scope="module")
def held(root: Path) -> Iterator[Parts]:
    """A service that renders a dataset after its first direct answer, some rows at a time."""
    with pytest.MonkeyPatch.context() as patch:  # the only knobs, and no settings
        patch.setattr(tables, "_SHARE_WHEN_FREE", 0.0)
        patch.setattr(rendered_table, "_ROWS", 7)
        parts = Parts(root, 2**30)
        yield parts
        parts.close()


def maybe(strategy: st.SearchStrategy[str]) -> st.SearchStrategy[str | None]:
    return st.none() | strategy


@st.composite
def requests(draw: st.DrawFn) -> tuple[str, dict[str, str], bool]:
    name = draw(st.sampled_from(sorted(HELD)))
    known = {parameter.name for parameter in ENDPOINTS[name].parameters}
    days = st.sampled_from([day.isoformat() for day in DAYS])
    symbols = st.lists(
        st.sampled_from([*"ABCDEM", "BRK-B", "a.b", "é", "\U0001f600", "~", "NONE"]), min_size=1, max_size=6
    )
    book = st.sampled_from(["long_short", "long_only"])
    choices: dict[str, st.SearchStrategy[str | None]] = {
        "from": maybe(days),
        "to": maybe(days),
        "symbol": maybe(symbols.map(",".join)),
        "book": book if name == "portfolio.trades" else maybe(book),
        "limit": st.integers(1, 30).map(str),
        "offset": maybe(st.integers(0, 50).map(str)),
        "fields": maybe(st.sampled_from(["core", "all"])),
        "sort": maybe(st.sampled_from(["score", "rank", "weight", "symbol"])),
        "order": maybe(st.sampled_from(["asc", "desc"])),
        "direction": maybe(st.sampled_from(["-1", "0", "1"])),
        "min_abs_weight": maybe(st.sampled_from(["0", "0.1", "0.125", "0.2", "1"])),
    }
    asked = {key: draw(values) for key, values in choices.items() if key in known}
    if "date" in HELD[name]:
        asked["date"] = draw(st.sampled_from([day.isoformat() for day in published.WEEKS]))
    return name, {key: value for key, value in asked.items() if value is not None}, draw(st.booleans())


@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(requests())
def test_memory_and_file_answer_the_same_bytes(
    direct: Parts, held: Parts, request_: tuple[str, dict[str, str], bool]
) -> None:
    name, asked, raw = request_
    try:
        expected = direct.body(name, asked, raw=raw)
    except ApiError as error:  # an empty window the wrong way round, a filter on a column the run lacks
        with pytest.raises(ApiError, match=str(error)):
            held.body(name, asked, raw=raw)
        return
    assert held.body(name, asked, raw=raw) == expected
    if asked.get("date") != "2020-01-10":  # the skipped week has no rows to be held
        held.until_held(lambda: held.page(name, asked, raw=raw, hurried=True))
    assert held.body(name, asked, raw=raw) == expected


def test_what_is_not_held_is_not_answered_in_a_hurry(direct: Parts) -> None:
    for name, places in HELD.items():
        asked = dict.fromkeys(places, "2020-01-03")
        with pytest.raises(CacheMiss):
            direct.page(
                name, asked | ({"book": "long_short"} if "trades" in name else {}), raw=False, hurried=True
            )


def test_a_long_window_of_a_curve_is_not_measured_in_a_hurry(tmp_path: Path) -> None:
    first = dt.date(2000, 1, 1)
    sessions = 5_001
    ledger = pl.concat([published.ledger("long_short")] * (sessions // len(published.SESSIONS) + 1))
    days = pl.Series([first + dt.timedelta(n) for n in range(sessions)])
    ledger = ledger[:sessions].with_columns(date=days, timestamp=days.cast(pl.Datetime("us", "UTC")))
    published.publish(tmp_path, {"portfolio": {"long_short": ledger}})
    parts = Parts(tmp_path, 2**30)
    try:
        name, whole, part = "portfolio.equity_curve", {"limit": "1"}, {"limit": "1", "from": "2000-01-02"}
        direct = parts.page(name, whole, raw=False)
        assert direct.total == sessions
        with pytest.raises(CacheMiss):
            parts.page(name, whole, raw=False, hurried=True)
        assert parts.page(name, part, raw=False, hurried=True) == parts.page(name, part, raw=False)
    finally:
        parts.close()


def test_rows_are_written_alike_one_by_one_and_all_at_once() -> None:
    noon = dt.datetime(2020, 1, 3, 12, tzinfo=dt.UTC)
    frame = pl.DataFrame(
        {
            "text": ["a\nb", 'quo"te', "", None, "\U0001f600,\\"] * 3000,
            "number": [1.0, -0.0, 1e-300, None, 0.1 + 0.2] * 3000,
            "at": [noon, None, noon.replace(microsecond=5), noon, noon] * 3000,
            "day": [dt.date(2020, 1, 3)] * 15_000,
        }
    )
    cuts = [0, 1, 7_500, 7_500, 12_501, 15_000]
    parts = [frame[first:end] for first, end in itertools.pairwise(cuts)]
    assert b"".join(render(parts, frame.height).between(0, frame.height)) == to_json(frame)
    rows = render([frame], frame.height)
    assert len(rows) == frame.height
    assert b"".join(rows.between(0, frame.height)) == to_json(frame)
    assert b"".join(rows.between(4_999, 5_003)) == to_json(frame[4_999:5_003])
    some = np.array([14_999, 0, 7_000, 7_000], np.int64)
    assert b"".join(rows.chosen(some)) == to_json(frame[some])
    assert rows.between(5, 5) == rows.chosen(some[:0]) == (b"[]",)
    assert b"".join(render([frame[:0]], 0).between(0, 0)) == b"[]"


def test_rows_far_longer_than_those_before_them_are_written_whole() -> None:
    frame = pl.DataFrame({"text": ["a"] * 20_000 + ["b" * 300] * 20_000})
    rows = render([frame], frame.height)
    assert b"".join(rows.between(0, frame.height)) == to_json(frame)
    assert rows.bytes == len(to_json(frame)) - 1 + 8 * (frame.height + 1), "and no more is kept than that"


class Backwards(Reader):
    """A reader whose engine keeps the order of a file only when it is told to."""

    def __init__(self, parts: str) -> None:
        super().__init__()
        self._order = parts

    def frame(self, statement: Statement) -> pl.DataFrame:
        return super().frame(statement)[::-1]

    @contextlib.contextmanager
    def parts(self, statement: Statement, rows: int) -> Iterator[Iterator[pl.DataFrame]]:
        if "ORDER BY" not in statement.sql:
            statement = Statement(f"{statement.sql} {self._order}", statement.binds)
        with super().parts(statement, min(rows, 5)) as found:
            yield found


@pytest.mark.parametrize("parts", ['ORDER BY "#row" DESC', 'WHERE "#row" < 20', 'WHERE "#row" <> 7'])
@pytest.mark.parametrize("laid_by", [None, "score"])
def test_rows_are_held_as_the_file_has_them_in_whatever_order_they_come(
    root: Path, parts: str, laid_by: str | None
) -> None:
    snapshot = Parts(root, 1).snapshot
    stored = Stored(
        ROWS["decision"],
        snapshot.file("decisions", None),
        snapshot.columns("decisions"),
        raw=False,
        figures=("score",),
        laid_by=laid_by,
    )
    usual, other = Reader(), Backwards(parts.replace('"#row"', "file_row_number"))
    expected, found = read_and_render(usual, stored), read_and_render(other, stored)
    assert expected is not None
    assert found is not None
    everything = expected.rows.between(0, len(expected.rows))
    assert len(expected.rows) > 30
    assert found.rows.between(0, len(found.rows)) == everything
    assert found.index.days == expected.index.days
    usual.close()
    other.close()


@pytest.mark.parametrize("size", [10, 2_000_000])
def test_a_kept_body_is_of_its_own_memory(size: int) -> None:
    text = bytes(range(250)) * 20_000
    for pieces in ((memoryview(text)[:size],), (b"[", memoryview(text)[1:size], b"]")):
        kept = Body(pieces, "identity").to_keep()
        assert b"".join(kept.pieces) == b"".join(pieces)
        assert all(type(piece) is bytes for piece in kept.pieces)


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 9), st.integers(1, 40)), max_size=60))
def test_the_bound_holds_and_the_least_used_goes_first(acts: list[tuple[str, int, int]]) -> None:
    kept: SizedLRUCache[int] = SizedLRUCache(100)
    order: list[tuple[str, int]] = []
    sizes: dict[tuple[str, int], int] = {}
    for owner, name, size in acts:
        key = (owner, name)
        assert kept.get((owner, "s"), name) == sizes.get(key)
        assert kept.put((owner, "s"), name, size, size)
        order = [x for x in order if x != key] + [key]
        sizes[key] = size
        while sum(sizes.values()) > 100:
            del sizes[order.pop(0)]
        assert kept.bytes == sum(sizes.values()) <= 100
        assert set(kept.owners) == {(x, "s") for x, _ in sizes}
    assert not kept.put(("a", "s"), 1, 1, 101), "larger than everything together"
    kept.drop(("a", "s"))
    assert kept.bytes == sum(size for (owner, _), size in sizes.items() if owner != "a")


def test_what_was_replaced_is_let_go(held: Parts) -> None:
    held.until_held(lambda: _first(held))
    assert snapshot_key(held.snapshot) in held.datasets.kept.owners
    held.datasets.kept.drop(snapshot_key(held.snapshot))
    assert held.datasets.kept.owners == ()
    assert held.datasets.kept.bytes == 0


def _first(parts: Parts) -> None:
    try:
        parts.page("signals.scores", {}, raw=False, hurried=True)
    except CacheMiss:
        parts.page("signals.scores", {}, raw=False)
        raise


def test_what_was_asked_is_remembered_for_a_while() -> None:
    asked = AdmissionFilter(10)
    assert [asked.note(n) for n in (1, 2, 1, 2)] == [False, False, True, True]
    assert not any(asked.note(n) for n in range(10, 18))
    assert asked.note(1), "ten names back at least"
    for n in range(100, 130):
        asked.note(n)
    assert not asked.note(2), "and not for ever"


def test_a_page_asked_again_and_again_has_the_same_bytes(api: ApiClient, plain: str) -> None:
    week = f"/v1/alphas/{published.ALPHA}/rebalances/{next(iter(published.WEEKS))}?limit=5&sort=symbol"
    bodies = {api.get(week, plain).content for _ in range(8)}
    assert len(bodies) == 1
