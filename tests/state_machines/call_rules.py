"""Rules: calls with every kind of key, each answer compared with the model."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import httpx
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from tests.state_machines.answers import Expected, find, slice_of
from tests.state_machines.key_model import CALLED, GET, LIST, ME, SCORES, SNAPSHOTS, WEEKS, Key
from tests.state_machines.runs import ABSENT, ALPHAS
from tests.state_machines.store import PATHS, PICK, Store

_WINDOWS: Final = ("Second", "Minute", "Day", "Month")
_PINNED: Final = frozenset({GET, SCORES, WEEKS})
_PAGES: Final = frozenset({SCORES, WEEKS, SNAPSHOTS, LIST})


class Call(NamedTuple):
    """A call: request, key, snapshot, and whether repeated with an entity tag."""

    key: int
    endpoint: str
    alpha: str
    pin: int | None
    limit: int
    offset: int
    again: int | None


_CALL: Final = st.builds(
    Call,
    key=PICK,
    endpoint=st.sampled_from((*CALLED, SCORES)),
    alpha=st.sampled_from((*ALPHAS, *ALPHAS, ABSENT)),
    pin=st.none() | PICK,
    limit=st.sampled_from((1, 7, 100, 1000)),
    offset=st.sampled_from((0, 0, 3, 250)),
    again=st.none() | PICK,
)


@dataclass
class Walk:
    """Consecutive pages of scores, pinned to the first page's snapshot."""

    key: Key
    alpha: str
    limit: int
    snapshot: str | None = None
    rows: list[Any] = field(default_factory=list)
    ended: bool = False


class CallRules(Store):
    """Calls."""

    def __init__(self) -> None:
        super().__init__()
        self._contents: dict[str, dict[str, str]] = {}
        """Path -> entity tag -> what was answered under it."""
        self._walks: list[Walk] = []

    @rule(calls=st.lists(_CALL, min_size=1, max_size=6))
    def call(self, calls: list[Call]) -> None:
        for one in calls:
            self._call(one)

    def _call(self, call: Call) -> None:
        key, endpoint, alpha = self.picked(call.key), call.endpoint, call.alpha
        ever = sorted({snapshot for one in self.root.values() for snapshot in one.built})
        pinned = ever[call.pin % len(ever)] if call.pin is not None and endpoint in _PINNED else None
        path, expected = self._expect(endpoint, alpha, pinned, call.limit, call.offset, key)
        answer = self._send(key, endpoint, alpha, path, expected)
        if call.again is not None and answer is not None and "etag" in answer.headers:
            tags = sorted(self._contents[path])
            self._revalidate(key, endpoint, alpha, path, answer, tags[call.again % len(tags)])

    def _expect(
        self, endpoint: str, alpha: str, pinned: str | None, limit: int, offset: int, key: Key
    ) -> tuple[str, list[Expected]]:
        """Return the path and the permitted answers of an admitted call."""
        query = [f"limit={limit}&offset={offset}"] if endpoint in _PAGES else []
        query += [f"snapshot={pinned}"] if pinned else []
        path = PATHS[endpoint].format(alpha) + ("?" + "&".join(query) if query else "")
        if endpoint == ME:
            return path, [Expected(200)]
        if endpoint == LIST:
            rows = slice_of(self.listed(key.may_list), limit, offset)
            return path, [Expected(200, rows=rows[0], pagination=rows[1])]
        seen, root = self.seen.get(alpha), self.root.get(alpha)
        actual = find(endpoint, seen, root, pinned, limit, offset)
        return path, actual

    def _send(
        self, key: Key, endpoint: str, alpha: str, path: str, admitted: list[Expected]
    ) -> httpx.Response | None:
        """Call and compare the answer with the model; return it if 200."""
        expected = self._refusal(key, endpoint, alpha) or admitted
        answer = self.system.send(path, key.token)
        self._compare(key, answer, expected)
        if answer.status_code != 200:
            return None
        body = answer.json()
        one = next(each for each in expected if each.status == 200)
        if endpoint == ME:
            self._compare_me(key, body["data"])
        elif endpoint == GET:
            assert body["data"]["name"] == one.name
        else:
            assert one.rows is not None
            assert [_like(row, one.rows) for row in body["data"]] == one.rows, path
            assert body["pagination"] == one.pagination
            self._remember(path, answer)
        if one.snapshot is not None:
            assert (body["meta"]["snapshot"], body["meta"]["published_at"]) == (
                one.snapshot,
                one.published_at,
            )
        return answer

    def _refusal(self, key: Key, endpoint: str, alpha: str) -> list[Expected] | None:
        """Return the refusal before any look-up; count the call in order."""
        refused = key.unusable(self.now) or key.count(self.now)
        if refused is not None:
            return [Expected(*refused)]
        if endpoint not in key.may_call:
            return [Expected(403, "endpoint_not_allowed")]
        if endpoint == GET and alpha not in key.may_list:
            return [Expected(403, "alpha_not_allowed")]
        if endpoint in {SCORES, WEEKS, SNAPSHOTS} and alpha not in key.may_read:
            return [Expected(403, "run_not_allowed")]
        return None

    def _compare(self, key: Key, answer: httpx.Response, expected: list[Expected]) -> None:
        code = answer.json()["error"]["code"] if answer.status_code >= 400 else None
        self.tally[f"answer {answer.status_code} {code or ''}".strip()] += 1
        self.tally["calls"] += 1
        assert (answer.status_code, code) in [(one.status, one.code) for one in expected], answer.text
        reported = tuple(answer.headers.get(f"x-ratelimit-remaining-{name.lower()}") for name in _WINDOWS)
        if answer.status_code == 401:
            assert reported == (None,) * 4, reported
        else:
            left = key.remaining(self.now)
            assert reported == tuple(None if one is None else str(one) for one in left), (reported, left)
        if code == "snapshot_not_found":
            current = [one.current for one in expected if one.code == code]
            assert answer.json()["error"]["details"] == {"current": current[0]}

    def _compare_me(self, key: Key, data: dict[str, Any]) -> None:
        assert data["key_id"] == key.id
        assert set(data["callable_endpoints"]) & set(CALLED) == key.may_call
        used = [data["usage"][name.lower()] for name in _WINDOWS]
        assert used == list(key.used(self.now))

    def _remember(self, path: str, answer: httpx.Response) -> None:
        """Compare an entity tag with earlier ones of the path: equal exactly for equal answers."""
        body = answer.json()
        content = json.dumps([body["data"], body["pagination"], body["meta"]])
        known = self._contents.setdefault(path, {})
        tag = answer.headers["etag"]
        assert known.setdefault(tag, content) == content, path
        assert [other for other, reported in known.items() if reported == content] == [tag], path

    def _revalidate(
        self, key: Key, endpoint: str, alpha: str, path: str, before: httpx.Response, tag: str
    ) -> None:
        """Request with an earlier entity tag: 304 exactly if the answer is unchanged."""
        expected = self._refusal(key, endpoint, alpha)
        answer = self.system.send(path, key.token, tag)
        same = tag == before.headers["etag"]
        self._compare(key, answer, expected or [Expected(304 if same else 200)])
        if expected is None:
            assert answer.content == (b"" if same else before.content)
            assert answer.headers["etag"] == before.headers["etag"]

    @rule(pick=PICK, alpha=st.sampled_from(ALPHAS), limit=st.sampled_from((60, 100, 150)))
    def begin_a_walk(self, pick: int, alpha: str, limit: int) -> None:
        key = self.keys[0] if pick % 2 else self.picked(pick)
        self._walks.append(Walk(key, alpha, limit))
        self.walk_on()

    @rule()
    def walk_on(self) -> None:
        """Request the next page of each walk; all its pages come from one snapshot."""
        for walk in self._walks:
            self._walk(walk)
        self._walks = [walk for walk in self._walks if not walk.ended]

    def _walk(self, walk: Walk) -> None:
        key, alpha = walk.key, walk.alpha
        path, expected = self._expect(SCORES, alpha, walk.snapshot, walk.limit, len(walk.rows), key)
        answer = self._send(key, SCORES, alpha, path, expected)
        if answer is None:
            return
        body = answer.json()
        walk.snapshot = body["meta"]["snapshot"]
        walk.rows += [(row["date"], row["symbol"], row["score"]) for row in body["data"]]
        if not body["pagination"]["has_more"]:
            walk.ended = True
            self.tally["walks ended"] += 1
            assert tuple(walk.rows) == self.root[alpha].run_of(walk.snapshot or "").scores

    @rule()
    def follow_the_changes(self) -> None:
        """Continue reading the changes; applied in order they give what is served."""
        while True:
            since = "" if self._cursor is None else f"&since={self._cursor}"
            answer = self.system.send(f"/v1/changes?limit=3{since}", self.observer)
            assert answer.status_code == 200, answer.text
            body = answer.json()
            for row in body["data"]:
                self._reported[row["alpha_id"]] = row["snapshot"]
                self.tally["changes told"] += 1
            self._cursor = body["meta"]["next"]
            if not body["pagination"]["has_more"]:
                break
        served = {alpha: one.current for alpha, one in self.seen.items() if one.moved_at is not None}
        assert self._reported == served, (self._reported, served)

    @precondition(lambda self: any(one.moved_at is not None for one in self.root.values()))
    @rule(pick=PICK)
    def call_a_removed_snapshot(self, pick: int) -> None:
        """Request every snapshot an alpha ever had with a key with full access."""
        known = [alpha for alpha in ALPHAS if self.root[alpha].built]
        alpha = known[pick % len(known)]
        for snapshot in sorted(self.root[alpha].built):
            expected = find(WEEKS, self.seen[alpha], self.root[alpha], snapshot, 100, 0)
            path = f"{PATHS[WEEKS].format(alpha)}?snapshot={snapshot}"
            answer = self.system.send(path, self.observer)
            code = answer.json()["error"]["code"] if answer.status_code >= 400 else None
            assert (answer.status_code, code) in [(one.status, one.code) for one in expected], answer.text
            if code is None:
                (one,) = [one for one in expected if one.status == 200]
                assert [_like(row, one.rows) for row in answer.json()["data"]] == one.rows
                assert answer.json()["meta"]["published_at"] == one.published_at
            self.tally["calls"] += 1


def _like(row: dict[str, Any], rows: list[dict[str, Any]] | None) -> dict[str, Any]:
    """Return a row's fields that the model knows."""
    return {name: row[name] for name in (rows[0] if rows else row)}
